"""Candidates to rows of the parquet schema and back, without loss."""

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from specvi_benchmark.errors import UserError
from specvi_benchmark.files import StrictModel, canonical_json, parse_json, validate
from specvi_benchmark.spectrum import BoolArray, Claims, FloatArray, Spectrum
from specvi_benchmark.splits.prompt import task_prompt
from specvi_benchmark.splits.schema import AGENT_NAME, REWARD_TYPE, SCHEMA, SPECVI, nested_list
from specvi_benchmark.splits.split import Candidate, Message, ObjectIdSource, Part, is_sound_id
from specvi_benchmark.tasks import get_task
from specvi_benchmark.tasks.task import Track
from specvi_benchmark.vetting import ANSWERS

Picture = Callable[[Candidate], bytes]
"""Makes the PNG of a candidate whose picture was not published."""

_TOOL = "extra_info.tools_kwargs.spectral_visualization_tool.create_kwargs"
_LAMOST_NAME = re.compile(r"spec-(?P<mjd>\d{5})-.+_sp\d{2}-\d{3}\.fits(\.gz)?")


class _BandSnr(StrictModel):
    band: str
    snr: float


class _Claims(StrictModel):
    object_class: str | None
    subclass: str | None
    redshift: float | None
    redshift_warning: int | None


class _Record(StrictModel):
    """The values of the column ``specvi``, without its two arrays."""

    part: Part
    track: Track
    survey: str
    release: str | None
    survey_id: str
    format: str
    object_id: str
    object_id_source: ObjectIdSource
    ra_deg: float | None
    dec_deg: float | None
    gaia_id: int | None
    mjd: int | None
    snr: float | None
    header_snr: tuple[_BandSnr, ...]
    claims: _Claims
    label_source: str
    label_evidence: str
    decidable: bool
    as_published: bool


def to_table(candidates: Sequence[Candidate], picture: Picture | None = None) -> pa.Table:
    """Return candidates as a table of `schema.SCHEMA`, a row each, in their order.

    Published prompts and pictures are written as they are. Others get the prompt of their task, and a
    picture where ``picture`` is given.
    """
    rows = [_row(candidate, picture) for candidate in candidates]
    spectra = [candidate.spectrum for candidate in candidates]
    flux = nested_list([s.flux for s in spectra], pa.float64())
    wavelength = nested_list([s.wavelength_AA for s in spectra], pa.float64())
    redshift = pa.array([c.redshift for c in candidates], type=pa.float64())
    tool = pa.StructArray.from_arrays([flux, wavelength, redshift], ["flux", "wavelength", "redshift"])
    extra = pa.StructArray.from_arrays(
        [
            pa.array([c.id for c in candidates], type=pa.string()),
            pa.array([s.name for s in spectra], type=pa.string()),
            _wrap(_wrap(tool, "create_kwargs"), "spectral_visualization_tool"),
        ],
        ["index", "name", "tools_kwargs"],
    )
    ours = {
        "ivar": nested_list([s.ivar for s in spectra], pa.float64()),
        "mask": nested_list([s.mask for s in spectra], pa.bool_()),
    }
    records = [_record(candidate) for candidate in candidates]
    fields = [
        ours[field.name]
        if field.name in ours
        else pa.array([record[field.name] for record in records], type=field.type)
        for field in SPECVI
    ]
    columns = {
        **{name: pa.array([row[name] for row in rows], SCHEMA.field(name).type) for name in rows[0]},
        "extra_info": extra,
        "specvi": pa.StructArray.from_arrays(fields, fields=list(SPECVI)),
    }
    return pa.table([columns[name] for name in SCHEMA.names], schema=SCHEMA)


def to_candidates(table: pa.Table, where: str, part: Part | None, first_row: int = 0) -> list[Candidate]:
    """Return the candidates of a table that has at least the official columns.

    Without the column ``specvi`` a row is an official one: track from its task, the part from the
    caller, the object known by file name only, no errors, and a mask where flux is not finite.

    Parameters
    ----------
    table
        Rows in the official schema, with or without ``specvi``.
    where
        Name of the file, for messages.
    part
        Part of the rows that don't say; None when the file's name doesn't say either.
    first_row
        Number of the first row within the file, for messages.

    Raises
    ------
    UserError
        A value is missing or not one of those allowed; the message names the row.
    """
    plain = table.drop_columns([name for name in ("extra_info", "specvi") if name in table.column_names])
    identity = zip(
        _values(table, "extra_info.index").to_pylist(),
        _values(table, "extra_info.name").to_pylist(),
        _values(table, f"{_TOOL}.redshift").cast(pa.float64()).to_pylist(),
        strict=True,
    )
    wavelength = _numbers(table, f"{_TOOL}.wavelength", where)
    flux = _numbers(table, f"{_TOOL}.flux", where)
    ours = _ours(table, where) if "specvi" in table.column_names else None
    candidates = []
    for number, (row, (index, name, redshift)) in enumerate(zip(plain.to_pylist(), identity, strict=True)):
        place = f"{where}, row {first_row + number}"
        arrays = (wavelength[number], flux[number])
        row |= {"index": index, "name": name, "redshift": redshift}
        try:
            _check_official(row, place)
            if ours is None:
                candidate = _official_candidate(row, arrays, part, place)
            else:
                record, ivar, mask = ours[0][number], ours[1][number], ours[2][number]
                candidate = _our_candidate(row, (*arrays, ivar, mask), record, place)
        except UserError as error:
            raise _placed(error, place) from None
        candidates.append(candidate)
    return candidates


def _row(candidate: Candidate, picture: Picture | None) -> dict[str, Any]:
    """Return the official columns, without ``extra_info``."""
    if _as_published(candidate):
        prompt: Sequence[Message] = candidate.prompt
        paths = candidate.image_paths or (None,) * len(candidate.images)
        images = [{"bytes": png, "path": path} for png, path in zip(candidate.images, paths, strict=True)]
    else:
        prompt = task_prompt(candidate.task)
        images = [{"bytes": picture(candidate), "path": None}] if picture else []
    return {
        "images": images,
        "data_source": candidate.task.data_source,
        "prompt": [{"content": message.content, "role": message.role} for message in prompt],
        "reward_model": {"ground_truth": candidate.truth, "type": REWARD_TYPE},
        "agent_name": AGENT_NAME,
    }


def _record(candidate: Candidate) -> dict[str, Any]:
    """Return the column ``specvi``, without its arrays."""
    spectrum = candidate.spectrum
    claims = spectrum.claims
    return _Record(
        part=candidate.part,
        track=candidate.track,
        survey=spectrum.survey,
        release=spectrum.release,
        survey_id=spectrum.survey_id,
        format=spectrum.format,
        object_id=candidate.object_id,
        object_id_source=candidate.object_id_source,
        ra_deg=spectrum.ra_deg,
        dec_deg=spectrum.dec_deg,
        gaia_id=spectrum.gaia_id,
        mjd=spectrum.mjd,
        snr=spectrum.snr,
        header_snr=tuple(_BandSnr(band=band, snr=snr) for band, snr in spectrum.header_snr.items()),
        claims=_Claims(
            object_class=claims.object_class,
            subclass=claims.subclass,
            redshift=claims.redshift,
            redshift_warning=claims.redshift_warning,
        ),
        label_source=candidate.label_source,
        label_evidence=canonical_json(dict(candidate.label_evidence)).decode(),
        decidable=candidate.decidable,
        as_published=_as_published(candidate),
    ).model_dump()


def _as_published(candidate: Candidate) -> bool:
    return bool(candidate.prompt or candidate.images)


def _check_official(row: Mapping[str, Any], place: str) -> None:
    reward = row["reward_model"] or {}
    expected = {
        "reward_model.ground_truth": (reward.get("ground_truth"), ANSWERS),
        "reward_model.type": (reward.get("type"), (REWARD_TYPE,)),
        "agent_name": (row["agent_name"], (AGENT_NAME,)),
    }
    for column, (value, allowed) in expected.items():
        if value not in allowed:
            raise UserError(
                f"{column} has a value that is not in the schema",
                where=place,
                expected=" or ".join(allowed),
                got=value,
            )
    if row["redshift"] is not None and np.isinf(row["redshift"]):
        raise UserError("a redshift is infinite", where=place, expected="a number or null")
    for column in ("index", "name", "data_source"):
        if row[column] is None:
            raise UserError("a row without identity", where=place, expected=f"a text in {column}", got="null")
    if not is_sound_id(row["index"]):
        raise UserError(
            "the id is empty or has blanks around it",
            where=place,
            expected="a text in extra_info.index without outer blanks",
            got=repr(row["index"]),
        )


def _official_candidate(
    row: Mapping[str, Any], arrays: tuple[FloatArray, FloatArray], part: Part | None, place: str
) -> Candidate:
    if part is None:
        raise UserError(
            "the part is not known",
            where=place,
            expected=f"a file name that begins with {', '.join(get_args(Part))}, as test_cv.parquet",
            fix="rename the file",
        )
    wavelength, flux = arrays
    task = get_task(row["data_source"])
    name = row["name"]
    night = _LAMOST_NAME.fullmatch(name)
    bad = ~np.isfinite(flux)
    spectrum = Spectrum(
        wavelength,
        flux,
        np.zeros_like(flux),
        bad,
        survey="lamost" if night else "",
        survey_id=name,
        name=name,
        format="official",
        mjd=int(night["mjd"]) if night else None,
        claims=Claims(redshift=_finite(row["redshift"])),
    )
    return Candidate(
        id=row["index"],
        task=task,
        track=task.track,
        part=part,
        spectrum=spectrum,
        redshift=_finite(row["redshift"]),
        truth=row["reward_model"]["ground_truth"],
        object_id=name,
        object_id_source="file-name",
        label_source="official",
        **_published(row, place),
    )


def _our_candidate(
    row: Mapping[str, Any],
    arrays: tuple[FloatArray, FloatArray, FloatArray, BoolArray],
    values: Mapping[str, Any],
    place: str,
) -> Candidate:
    record = validate(_Record, values, place)
    evidence = parse_json(record.label_evidence, f"{place}, label_evidence")
    if not isinstance(evidence, dict):
        raise UserError("label_evidence is not a JSON object", where=place, got=record.label_evidence[:60])
    spectrum = Spectrum(
        *arrays,
        survey=record.survey,
        release=record.release,
        survey_id=record.survey_id,
        name=row["name"],
        format=record.format,
        ra_deg=record.ra_deg,
        dec_deg=record.dec_deg,
        gaia_id=record.gaia_id,
        mjd=record.mjd,
        header_snr={item.band: item.snr for item in record.header_snr},
        claims=Claims(**record.claims.model_dump()),
    )
    return Candidate(
        id=row["index"],
        task=get_task(row["data_source"]),
        track=record.track,
        part=record.part,
        spectrum=spectrum,
        redshift=row["redshift"],
        truth=row["reward_model"]["ground_truth"],
        object_id=record.object_id,
        object_id_source=record.object_id_source,
        label_source=record.label_source,
        label_evidence=evidence,
        decidable=record.decidable,
        **(_published(row, place) if record.as_published else {}),
    )


def _published(row: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Return prompt and pictures as the fields of a Candidate."""
    images = row["images"] or []
    if any(image is None or image["bytes"] is None for image in images):
        raise UserError(
            "a picture is named but not contained",
            where=place,
            expected="PNG bytes in images.bytes",
            got="null",
            fix="export the dataset with its pictures embedded, or leave the list empty",
        )
    prompt = row["prompt"] or []
    if any(message is None or None in (message["role"], message["content"]) for message in prompt):
        raise UserError(
            "a message of the prompt is not whole",
            where=place,
            expected="a text in prompt.role and prompt.content",
            got="null",
        )
    return {
        "prompt": tuple(Message(message["role"], message["content"]) for message in prompt),
        "images": tuple(image["bytes"] for image in images),
        "image_paths": tuple(image["path"] for image in images),
    }


def _ours(table: pa.Table, where: str) -> tuple[list[dict[str, Any]], list[FloatArray], list[BoolArray]]:
    column = table.column("specvi").combine_chunks()
    if column.null_count:
        raise UserError(
            "rows with and without the column specvi are mixed", where=where, fix="import them apart"
        )
    small = [field.name for field in SPECVI if field.name not in {"ivar", "mask"}]
    lists = {name: pc.struct_field(column, name).to_pylist() for name in small}
    records = [dict(zip(small, values, strict=True)) for values in zip(*lists.values(), strict=True)]
    mask = [values.astype(np.bool_) for values in _numbers(table, "specvi.mask", where, pa.uint8())]
    return records, _numbers(table, "specvi.ivar", where), mask


def _values(table: pa.Table, path: str) -> pa.Array:
    """Return the column at a dotted path as one array; a value is null where any parent is."""
    name, *inner = path.split(".")
    column = table.column(name).combine_chunks()
    return pc.struct_field(column, inner) if inner else column


def _numbers(table: pa.Table, path: str, where: str, kind: pa.DataType | None = None) -> list[Any]:
    """Return a column of lists as numpy arrays; a null inside a list becomes NaN."""
    column = _values(table, path)
    if column.null_count:
        raise UserError(
            "a row has no numbers", where=f"{where}, column {path}", got=f"{column.null_count} nulls"
        )
    try:
        lists = column.cast(pa.list_(kind or pa.float64()))
    except pa.ArrowException as error:
        raise UserError(
            "a column does not hold lists of numbers",
            where=f"{where}, column {path}",
            got=f"{column.type}: {error}",
        ) from None
    values = lists.values.to_numpy(zero_copy_only=False)
    offsets = lists.offsets.to_numpy()
    return [values[first:last] for first, last in itertools.pairwise(offsets)]


def _finite(value: float | None) -> float | None:
    return value if value is not None and np.isfinite(value) else None


def _wrap(array: pa.Array, name: str) -> pa.StructArray:
    return pa.StructArray.from_arrays([array], [name])


def _placed(error: UserError, place: str) -> UserError:
    """Return the error with the file and row in front of what it already says about the place."""
    where = error.where or ""
    full = where if place in where else f"{place} ({where})" if where else place
    return UserError(error.what, where=full, expected=error.expected, got=error.got, fix=error.fix)
