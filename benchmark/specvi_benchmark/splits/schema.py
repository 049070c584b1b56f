"""The official columns, our one more, and candidates as rows of them.

A row holds the published columns (`OFFICIAL`) and, in files of the suite, the column ``specvi``
(`SPECVI`) with what the published ones have no place for: errors, mask, identity, label evidence.
"""

from collections.abc import Iterable, Sequence
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

_SUFFIXES = {"cs": "cc", "mg": "gm"}


def official_suffix(task_key: str) -> str:
    """Return the task's spelling in the published file names: ``cc`` for carbon stars, ``gm`` for M giants."""
    return _SUFFIXES.get(task_key, task_key)


def leaf_paths(schema: pa.Schema) -> set[str]:
    """Return the dotted path of every value in a schema: ``extra_info.index``, ``images.bytes``."""
    return {path for column in schema for path in _leaves(column.name, column.type)}


def missing_paths(schema: pa.Schema, wanted: pa.Schema) -> list[str]:
    """Return the paths that are in ``wanted`` and not in ``schema``, sorted."""
    return sorted(leaf_paths(wanted) - leaf_paths(schema))


def surplus_paths(schema: pa.Schema, wanted: pa.Schema) -> list[str]:
    """Return the paths that are in ``schema`` and not in ``wanted``, sorted; a data frame's index is none."""
    surplus = leaf_paths(schema) - leaf_paths(wanted)
    return sorted(path for path in surplus if not path.startswith("__index_level_"))


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


def _leaves(path: str, kind: pa.DataType) -> list[str]:
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _leaves(path, kind.value_type)
    if pa.types.is_struct(kind):
        return [leaf for field in kind for leaf in _leaves(f"{path}.{field.name}", field.type)]
    return [path]
