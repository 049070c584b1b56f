"""Croissant metadata of a split: JSON-LD that dataset search and loaders read (MLCommons Croissant 1.0)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from specvi_benchmark.files import sha256_file
from specvi_benchmark.hub.card import PAPER, label_sources
from specvi_benchmark.hub.columns import columns
from specvi_benchmark.hub.surveys import licence_of, surveys_of
from specvi_benchmark.splits.manifest import Manifest
from specvi_benchmark.splits.schema import SCHEMA
from specvi_benchmark.splits.split import Split

FILE_NAME = "croissant.json"
CONFORMS_TO = "http://mlcommons.org/croissant/1.0"

_CONTEXT: Mapping[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
"""The context that the Croissant 1.0 specification gives."""

_LICENCES = {
    "apache-2.0": "https://www.apache.org/licenses/LICENSE-2.0",
    "cc-by-4.0": "https://creativecommons.org/licenses/by/4.0/",
}


def croissant(split: Split, manifest: Manifest, folder: Path, repo_id: str, date: str) -> dict[str, Any]:
    """Return the Croissant metadata of a split whose files lie in ``folder``.

    Every file is named with size and SHA-256; every column has a field in a record set for each file.

    Parameters
    ----------
    date
        Of publication, ``YYYY-MM-DD``.
    """
    url = f"https://huggingface.co/datasets/{repo_id}"
    licence, _ = licence_of(split)
    terms = [item.address for item in surveys_of(split).values()]
    return {
        "@context": dict(_CONTEXT),
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS_TO,
        "name": split.name,
        "description": f"{len(split.candidates)} single-object spectra, each with a YES/NO question and its truth; "
        f"split {split.name} {split.version} of the SpecVI-Bench suite, fingerprint {manifest.fingerprint}.",
        "url": url,
        "license": _LICENCES.get(licence) or terms,
        "version": split.version,
        "datePublished": date,
        "creator": {"@type": "sc:Organization", "name": repo_id.split("/", 1)[0], "url": url},
        "keywords": ["astronomy", "spectroscopy", "benchmark"],
        "citation": "; ".join([PAPER, *label_sources(split)]),
        "citeAs": f"{split.name} {split.version}, fingerprint {manifest.fingerprint}, {url}; {PAPER}",
        "isLiveDataset": False,
        "distribution": [_file(folder / name) for name in manifest.files],
        "recordSet": [_records(name) for name in manifest.files],
    }


def _file(path: Path) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": path.name,
        "name": path.name,
        "contentUrl": path.name,
        "contentSize": f"{path.stat().st_size} B",
        "encodingFormat": "application/x-parquet",
        "sha256": sha256_file(path),
    }


def _records(file: str) -> dict[str, Any]:
    """Return the record set of one file: a field for each column, sub-fields for what lies inside it."""
    own = file.removesuffix(".parquet")
    fields: dict[str, dict[str, Any]] = {}
    for path, kind, told in columns():
        column, _, inside = path.partition(".")
        leaf = _field(f"{own}/{path}", told, kind, file, column, inside)
        if not inside:
            fields[column] = leaf
            continue
        parent = fields.setdefault(
            column,
            {
                "@type": "cr:Field",
                "@id": f"{own}/{column}",
                "name": column,
                "description": f"the values of {column}",
                "subField": [],
            },
        )
        parent["subField"].append(leaf)
    return {
        "@type": "cr:RecordSet",
        "@id": own,
        "name": own,
        "description": f"the rows of {file}, one a candidate",
        "key": {"@id": f"{own}/extra_info.index"},
        "field": list(fields.values()),
    }


def _field(name: str, told: str, kind: pa.DataType, file: str, column: str, inside: str) -> dict[str, Any]:
    source: dict[str, Any] = {"fileObject": {"@id": file}, "extract": {"column": column}}
    if inside:
        source["transform"] = {"jsonPath": _json_path(column, inside)}
    repeated = pa.types.is_list(kind) or "[*]" in str(source)
    value = kind.value_type if pa.types.is_list(kind) else kind
    return {
        "@type": "cr:Field",
        "@id": name,
        "name": name.partition("/")[2],
        "description": told,
        "dataType": _type(value, name),
        "source": source,
        **({"repeated": True} if repeated else {}),
    }


def _json_path(column: str, inside: str) -> str:
    """Return where a value stands in its column: columns and fields that are lists of structs have each of them."""
    start = "$[*]" if pa.types.is_list(SCHEMA.field(column).type) else "$"
    kind, path = SCHEMA.field(column).type, start
    for name in inside.split("."):
        kind = (kind.value_type if pa.types.is_list(kind) else kind).field(name).type
        among = pa.types.is_list(kind) and pa.types.is_struct(kind.value_type)
        path += f".{name}[*]" if among else f".{name}"
    return path


def _type(kind: pa.DataType, name: str) -> str:
    if pa.types.is_binary(kind):
        return "sc:ImageObject"
    if pa.types.is_boolean(kind):
        return "sc:Boolean"
    if pa.types.is_integer(kind):
        return "sc:Integer"
    if pa.types.is_floating(kind):
        return "sc:Float"
    if pa.types.is_string(kind):
        return "sc:Text"
    raise TypeError(f"{name} has type {kind}, which Croissant metadata have no word for yet")
