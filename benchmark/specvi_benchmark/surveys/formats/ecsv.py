"""ECSV, the text tables of astropy: CSV under a YAML header with names, units and metadata.

Format after the Astropy Proposal for Enhancement 6 (https://github.com/astropy/astropy-APEs).
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from specvi_benchmark.spectrum import Spectrum
from specvi_benchmark.surveys.formats._columns import Column, find_roles, no_roles, read_columns
from specvi_benchmark.surveys.formats._medium import medium_word
from specvi_benchmark.surveys.formats._text import TextTable, split
from specvi_benchmark.surveys.registry import Format, Note
from specvi_benchmark.surveys.source import Medium, Source

MARK = "# %ECSV"
_HEADER = re.compile(r"(?:#[^\n]*(?:\n|$))+")
_MEDIUM_KEYS = ("medium", "airorvac", "air_or_vacuum", "wavelength_medium")


class _Loader(yaml.SafeLoader):
    """YAML without objects: what astropy tags (times, quantities) is read as nothing."""


_Loader.add_multi_constructor("!", lambda loader, suffix, node: None)  # noqa: ARG005  # the callback's form


def recognises(source: Source) -> bool:
    """Return whether the first line begins with ``# %ECSV``."""
    return source.text is not None and source.text.startswith(MARK)


def read(source: Source) -> Iterator[Spectrum | Note]:
    """Yield the spectrum, columns and units as the header declares them."""
    assert source.text is not None
    match = _HEADER.match(source.text)
    assert match is not None
    head = [line[1:].removeprefix(" ") for line in match[0].splitlines()]
    header = _header(source, "\n".join(head[1:]))
    declared = [one for one in header.get("datatype", []) if isinstance(one, Mapping)]
    delimiter = "," if header.get("delimiter") == "," else " "
    columns = [_column(one, index) for index, one in enumerate(declared)]
    titles = source.text[match.end() :].split("\n", 1)[0].strip()
    names = split(titles, delimiter) if titles else []
    if not columns or names != [column.name for column in columns]:
        raise source.fault(
            "the header of the ECSV table does not fit its rows",
            expected=f"a line of names ({', '.join(column.name for column in columns)[:120]}), then rows",
            got=", ".join(names)[:120] or "nothing",
        )
    roles = find_roles(columns)
    if roles is None:
        raise no_roles(source, columns)
    start = (len(head) + 2, match.end() + len(source.text[match.end() :].split("\n", 1)[0]) + 1)
    table = TextTable(source, tuple(names), (), start, len(names), delimiter, decimal_comma=False, remarks="")
    meta = header.get("meta")
    yield from read_columns(
        source,
        roles,
        lambda column: table.column(column.index),
        remarks=_remarks(meta),
        media=(_meta_medium(meta),),
        format=FORMAT.name,
    )


def _header(source: Source, text: str) -> Mapping[str, Any]:
    try:
        header = yaml.load(text, Loader=_Loader)  # noqa: S506  # a SafeLoader
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise source.fault(
            "the YAML header of the ECSV table can't be read", got=" ".join(str(error).split())[:200]
        ) from None
    if not isinstance(header, Mapping) or not isinstance(header.get("datatype"), list):
        raise source.fault("the ECSV table declares no columns", expected="datatype: a list of columns")
    return header


def _column(declared: Mapping[Any, Any], index: int) -> Column:
    name, unit, description = (str(declared.get(key) or "") for key in ("name", "unit", "description"))
    return Column(name, unit, description, index=index)


def _meta(meta: Any) -> Mapping[str, Any]:
    """Return metadata as a mapping; an ordered one is a list of pairs in YAML."""
    if isinstance(meta, list):
        meta = dict(pair for pair in meta if isinstance(pair, tuple) and len(pair) == 2)
    return {str(key).casefold(): value for key, value in meta.items()} if isinstance(meta, Mapping) else {}


def _meta_medium(meta: Any) -> Medium | None:
    known = _meta(meta)
    told = (medium_word(known[key]) for key in _MEDIUM_KEYS if isinstance(known.get(key), str))
    flag = known.get("vacuum")
    by_flag: Medium | None = None if not isinstance(flag, bool) else "vacuum" if flag else "air"
    return next((medium for medium in told if medium is not None), by_flag)


def _remarks(meta: Any) -> str:
    comments = _meta(meta).get("comments")
    listed = comments if isinstance(comments, list) else [comments]
    return "\n".join(line for line in listed if isinstance(line, str))


FORMAT = Format(
    name="ecsv",
    recognised_by="text that begins with `# %ECSV`",
    reads="columns by name as in text tables, with their units; air or vacuum from column names, descriptions, and "
    "metadata (medium, vacuum, comments)",
    leaves_out="other columns and metadata; columns that hold objects (times, coordinates)",
    recognises=recognises,
    read=read,
    medium="stated",
    range_AA=None,
)
