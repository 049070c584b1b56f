"""YAML without what makes it dangerous: no aliases, tags, types, depth or doubled keys; every value is text."""

from typing import Any

import yaml

from specvi_benchmark.errors import UserError
from specvi_leaderboard.submissions.text import shown

DEEPEST = 6
MOST_VALUES = 2000
_FIX = "write plain keys and values, as in docs/submit.md"


def parse_plain_yaml(content: bytes, where: object) -> Any:
    """Return dicts, lists, text and None. Numbers, dates and yes or no stay the text they were written as.

    The events are looked at before anything is built, so that neither depth nor aliases cost memory.

    Raises
    ------
    UserError
        Not such a file.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError("not a text file", where=where, got=f"byte {error.start} is not UTF-8") from None
    try:
        _look_through(text, where)
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise UserError("not valid YAML", where=where, got=shown(" ".join(str(error).split()), 200)) from None
    return _value(node, where)


def _look_through(text: str, where: object) -> None:
    depth = 0
    for number, event in enumerate(yaml.parse(text, Loader=yaml.SafeLoader)):
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise UserError("YAML aliases and anchors are not allowed", where=where, fix=_FIX)
        if tag := getattr(event, "tag", None):
            raise UserError("YAML tags are not allowed", where=where, got=shown(tag), fix=_FIX)
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise UserError(f"YAML deeper than {DEEPEST} levels is not allowed", where=where, fix=_FIX)
        if number > MOST_VALUES:
            raise UserError(f"YAML of more than {MOST_VALUES} values is not allowed", where=where, fix=_FIX)


def _value(node: Any, where: object) -> Any:
    if isinstance(node, yaml.MappingNode):
        found: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise UserError("a YAML key must be a word", where=where, fix=_FIX)
            if key.value in found:
                raise UserError(
                    "a key stands there twice", where=where, got=shown(key.value), fix="remove one"
                )
            found[key.value] = _value(value, where)
        return found
    if isinstance(node, yaml.SequenceNode):
        return [_value(item, where) for item in node.value]
    if node is None or node.tag == "tag:yaml.org,2002:null":
        return None
    return node.value
