"""The official columns, our one more, and candidates as rows of them.

A row holds the published columns (`OFFICIAL`) and, in files of the suite, the column ``specvi``
(`SPECVI`) with what the published ones have no place for: errors, mask, identity, label evidence.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pyarrow as pa

AGENT_NAME = "tool_agent"
REWARD_TYPE = "rule"

_NUMBERS = pa.list_(pa.float64())

_TOOL = pa.struct([("flux", _NUMBERS), ("wavelength", _NUMBERS), ("redshift", pa.float64())])
_TOOLS = pa.struct([("spectral_visualization_tool", pa.struct([("create_kwargs", _TOOL)]))])

OFFICIAL = pa.schema(
    [
        ("images", pa.list_(pa.struct([("bytes", pa.binary()), ("path", pa.string())]))),
        ("data_source", pa.string()),
        ("prompt", pa.list_(pa.struct([("content", pa.string()), ("role", pa.string())]))),
        ("reward_model", pa.struct([("ground_truth", pa.string()), ("type", pa.string())])),
        ("agent_name", pa.string()),
        ("extra_info", pa.struct([("index", pa.string()), ("name", pa.string()), ("tools_kwargs", _TOOLS)])),
    ]
)
"""The published schema. Flux and wavelength (vacuum Å for LAMOST) have no errors and no mask beside them."""

_SNR = pa.struct([("band", pa.string()), ("snr", pa.float64())])
_CLAIMS = pa.struct(
    [
        ("object_class", pa.string()),
        ("subclass", pa.string()),
        ("redshift", pa.float64()),
        ("redshift_warning", pa.int64()),
    ]
)

SPECVI = pa.struct(
    [
        ("part", pa.string()),
        ("track", pa.string()),
        ("survey", pa.string()),
        ("release", pa.string()),
        ("survey_id", pa.string()),
        ("format", pa.string()),
        ("object_id", pa.string()),
        ("object_id_source", pa.string()),
        ("ra_deg", pa.float64()),
        ("dec_deg", pa.float64()),
        ("gaia_id", pa.int64()),
        ("mjd", pa.int64()),
        ("snr", pa.float64()),
        ("header_snr", pa.list_(_SNR)),
        ("claims", _CLAIMS),
        ("label_source", pa.string()),
        ("label_evidence", pa.string()),
        ("decidable", pa.bool_()),
        ("as_published", pa.bool_()),
        ("ivar", _NUMBERS),
        ("mask", pa.list_(pa.bool_())),
    ]
)
"""Our column. ``label_evidence`` is JSON text. ``as_published`` tells whether prompt and pictures of the
row were published with it (kept as they are) or made by the suite (left out on reading and made anew)."""

SCHEMA = OFFICIAL.append(pa.field("specvi", SPECVI))

_EMPTY_LIST = pa.list_(pa.null())
_LIST = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
_TEXT = (pa.types.is_string, pa.types.is_large_string)
_BYTES = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
_KINDS: tuple[tuple[Callable[[pa.DataType], bool], tuple[Callable[[pa.DataType], bool], ...]], ...] = (
    (pa.types.is_string, _TEXT),
    (pa.types.is_binary, _BYTES),
    (pa.types.is_boolean, (pa.types.is_boolean,)),
    (pa.types.is_integer, (pa.types.is_integer,)),
    (pa.types.is_floating, (pa.types.is_floating, pa.types.is_integer)),
)
"""For each kind of value in the schema, the kinds a file may hold in its place."""

_SUFFIXES = {"cs": "cc", "mg": "gm"}


def official_suffix(task_key: str) -> str:
    """Return the task's spelling in the published file names: ``cc`` for carbon stars, ``gm`` for M giants."""
    return _SUFFIXES.get(task_key, task_key)


def leaves(schema: pa.Schema) -> dict[str, pa.DataType]:
    """Return every value in a schema by its dotted path: ``extra_info.index``, ``images.bytes``.

    The type is that of the value; a list of numbers is ``list<double>``, whatever the kind of list and
    the numbers' precision. A list that is empty in every row has no fields: its type is ``list<null>``.
    """
    return {path: kind for column in schema for path, kind in _leaves(column.name, column.type)}


def missing_paths(schema: pa.Schema, wanted: pa.Schema) -> list[str]:
    """Return the paths that are in ``wanted`` and not in ``schema``, sorted."""
    found = leaves(schema)
    return sorted(path for path in leaves(wanted) if path not in found and not _in_empty_list(path, found))


def surplus_paths(schema: pa.Schema, wanted: pa.Schema) -> list[str]:
    """Return the paths that are in ``schema`` and not in ``wanted``, sorted; a data frame's index is none."""
    known = leaves(wanted)
    return sorted(
        path
        for path, kind in leaves(schema).items()
        if path not in known
        and not path.startswith("__index_level_")
        and not (kind == _EMPTY_LIST and any(name.startswith(f"{path}.") for name in known))
    )


def wrong_types(schema: pa.Schema, wanted: pa.Schema) -> list[str]:
    """Return the paths of both schemas whose types differ in kind, sorted, each with both types.

    Precision and encoding make no difference (float32, large strings, dictionaries); a column without
    any value has no type, and whether it may be empty is asked row by row.
    """
    found, known = leaves(schema), leaves(wanted)
    return sorted(
        f"{path} is {found[path]}, not {known[path]}"
        for path in found.keys() & known.keys()
        if not _fits(found[path], known[path])
    )


def nested_list(arrays: Sequence[Any], value_type: pa.DataType) -> pa.ListArray:
    """Return numpy arrays as one Arrow list array, without a detour over Python numbers."""
    lengths = [0, *(len(array) for array in arrays)]
    offsets = pa.array(_running_sum(lengths), type=pa.int32())
    values = pa.concat_arrays([pa.array(array, type=value_type) for array in arrays])
    return pa.ListArray.from_arrays(offsets, values)


def _running_sum(lengths: Iterable[int]) -> list[int]:
    total, sums = 0, []
    for length in lengths:
        total += length
        sums.append(total)
    return sums


def _leaves(path: str, kind: pa.DataType) -> list[tuple[str, pa.DataType]]:
    if _is_list(kind):
        inner = _leaves(path, kind.value_type)
        return [(path, pa.list_(kind)) for path, kind in inner] if inner[0][0] == path else inner
    if pa.types.is_struct(kind):
        return [leaf for field in kind for leaf in _leaves(f"{path}.{field.name}", field.type)]
    return [(path, kind)]


def _is_list(kind: pa.DataType) -> bool:
    return any(test(kind) for test in _LIST)


def _in_empty_list(path: str, found: dict[str, pa.DataType]) -> bool:
    return any(path.startswith(f"{name}.") for name, kind in found.items() if kind == _EMPTY_LIST)


def _fits(kind: pa.DataType, wanted: pa.DataType) -> bool:
    if pa.types.is_null(kind):
        return True
    if pa.types.is_list(wanted):
        return _is_list(kind) and _fits(kind.value_type, wanted.value_type)
    if pa.types.is_dictionary(kind):
        return _fits(kind.value_type, wanted)
    allowed = next(tests for is_wanted, tests in _KINDS if is_wanted(wanted))
    return any(test(kind) for test in allowed)
