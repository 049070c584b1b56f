"""A sealed part: its hash is published first, its labels later, so that claims can be checked on labels nobody had.

The commitment is SHA-256 over a secret salt of 256 bits and the labels. Nobody can guess labels from it, since the salt
is not known; and the maintainer can't change them afterwards, since the hash is.
"""

import hashlib
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field

from specvi_benchmark.errors import UserError
from specvi_benchmark.files import (
    StrictModel,
    atomic_path,
    canonical_json,
    parse_json,
    read_text,
    refuse_newer,
    validate,
    write_json,
)
from specvi_benchmark.spectrum import Spectrum
from specvi_benchmark.splits.io import new_folder
from specvi_benchmark.splits.manifest import count
from specvi_benchmark.splits.rows import to_table
from specvi_benchmark.splits.split import Candidate, Split
from specvi_benchmark.tasks import get_task

SCHEMA_VERSION = 1
SALT_BYTES = 32
_ROWS_AT_ONCE = 50

_Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Commitment(StrictModel):
    """What is published first.

    ``questions`` is a hash of what is asked (ids, tasks, spectra), ``labels`` the salted hash of the answers.
    ``counts`` holds candidates by part and group, without the truth.
    """

    schema_version: Literal[1] = 1
    name: str
    version: str
    counts: dict[str, dict[str, int]]
    questions: _Digest
    labels: _Digest


class Secret(StrictModel):
    """What the maintainer keeps beside the split until it is opened, and then publishes with it."""

    schema_version: Literal[1] = 1
    salt: _Digest


def seal(split: Split, salt: bytes | None = None) -> tuple[Commitment, Secret]:
    """Return the commitment to a split's labels, and the secret that opens it; the salt is drawn if not given."""
    used = secrets.token_bytes(SALT_BYTES) if salt is None else salt
    if len(used) != SALT_BYTES:
        raise ValueError(f"a salt has {SALT_BYTES} bytes")
    commitment = Commitment(
        name=split.name,
        version=split.version,
        counts=_counts(split),
        questions=question_hash(split),
        labels=label_hash(split, used),
    )
    return commitment, Secret(salt=used.hex())


def _counts(split: Split) -> dict[str, dict[str, int]]:
    """Return how many candidates each part and group holds, whatever their truth."""
    counted = count(split.candidates)
    return {part: {group: sum(n.values()) for group, n in groups.items()} for part, groups in counted.items()}


def verify_seal(commitment: Commitment, split: Split, secret: Secret) -> None:
    """Raise unless a split is the one that was sealed, label by label and pixel by pixel.

    Raises
    ------
    UserError
        Counts, questions or labels are others, or the salt is.
    """
    if question_hash(split) != commitment.questions:
        raise UserError(
            "the questions are not those that were sealed",
            where=f"split {split.name} {split.version}",
            expected=commitment.questions,
            got=question_hash(split),
        )
    if _counts(split) != commitment.counts:
        raise UserError(
            "the commitment tells other counts than the split has",
            where=f"split {split.name} {split.version}",
            expected=commitment.counts,
            got=_counts(split),
        )
    found = label_hash(split, bytes.fromhex(secret.salt))
    if found != commitment.labels:
        raise UserError(
            "the labels are not those that were sealed, or the salt is another",
            where=f"split {split.name} {split.version}",
            expected=commitment.labels,
            got=found,
        )


def question_hash(split: Split) -> str:
    """Return the SHA-256 over what is asked: candidates by id, with task, track, part, redshift and every pixel."""
    return _hash_of((_asked(candidate), _arrays(candidate.spectrum)) for candidate in split.candidates)


def verify_questions(commitment: Commitment, folder: Path) -> None:
    """Raise unless published questions are those that were sealed; neither labels nor secret are needed.

    Raises
    ------
    UserError
        They are others, or the folder does not hold questions as `write_questions` writes them.
    """
    found = _hash_of(row for path in sorted(folder.glob("*.parquet")) for row in _read_questions(path))
    if found != commitment.questions:
        raise UserError(
            "the questions are not those that were sealed",
            where=folder,
            expected=commitment.questions,
            got=found,
        )


def _asked(candidate: Candidate) -> dict[str, Any]:
    return {
        "id": candidate.id,
        "task": candidate.task.key,
        "track": candidate.track,
        "part": candidate.part,
        "redshift": candidate.redshift,
    }


def _arrays(spectrum: Spectrum) -> bytes:
    floats = (spectrum.wavelength_AA, spectrum.flux, spectrum.ivar)
    return b"".join(_bytes(array) for array in floats) + spectrum.mask.astype("u1").tobytes()


def _bytes(array: Any) -> bytes:
    return np.ascontiguousarray(array, dtype="<f8").tobytes()


def _hash_of(rows: Iterable[tuple[Mapping[str, Any], bytes]]) -> str:
    """Return the SHA-256 over what is asked and its pixels, by id."""
    found = [(asked, hashlib.sha256(pixels).digest()) for asked, pixels in rows]
    digest = hashlib.sha256(b"specvi-seal-questions-2\n")
    for asked, pixels in sorted(found, key=lambda row: str(row[0]["id"])):
        digest.update(canonical_json(asked) + pixels)
    return digest.hexdigest()


def _read_questions(path: Path) -> Iterator[tuple[Mapping[str, Any], bytes]]:
    part, _, group = path.stem.partition("_")
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(
                batch_size=_ROWS_AT_ONCE, columns=["data_source", "extra_info", "errors"]
            ):
                for row in batch.to_pylist():
                    about = row["extra_info"]["tools_kwargs"]["spectral_visualization_tool"]["create_kwargs"]
                    task = get_task(row["data_source"])
                    asked = {
                        "id": row["extra_info"]["index"],
                        "task": task.key,
                        "track": task.track if group == task.key else group.removeprefix(f"{task.key}_"),
                        "part": part,
                        "redshift": about["redshift"],
                    }
                    floats = (about["wavelength"], about["flux"], row["errors"]["ivar"])
                    yield (
                        asked,
                        b"".join(map(_bytes, floats)) + np.array(row["errors"]["mask"], "u1").tobytes(),
                    )
    except (pa.ArrowException, OSError, KeyError, TypeError) as error:
        raise UserError(
            "no questions as `split seal` writes them", where=path, got=str(error).splitlines()[0][:200]
        ) from None


def label_hash(split: Split, salt: bytes) -> str:
    """Return the SHA-256 over the salt and every label: truth, object, source, evidence, and whether it is decidable."""
    digest = hashlib.sha256(b"specvi-seal-labels-1\n" + salt)
    for candidate in sorted(split.candidates, key=lambda c: c.id):
        digest.update(
            canonical_json(
                {
                    "id": candidate.id,
                    "truth": candidate.truth,
                    "object_id": candidate.object_id,
                    "label_source": candidate.label_source,
                    "label_evidence": dict(candidate.label_evidence),
                    "decidable": candidate.decidable,
                }
            )
        )
    return digest.hexdigest()


def write_sealed(
    split: Split, commitment_path: Path, secret_path: Path, questions: Path | None = None
) -> Commitment:
    """Seal a split: write the questions, if asked for, the secret, to keep, and last the commitment, to publish.

    Raises
    ------
    UserError
        A file is there: a seal is never overwritten, since its secret could be lost. Or the secret would be
        published: it is the same file as the commitment, or lies in the folder of the questions.
    """
    published = [commitment_path.resolve(), *([questions.resolve()] if questions is not None else [])]
    if any(secret_path.resolve().is_relative_to(path) for path in published):
        raise UserError(
            "the secret would be published",
            where=secret_path,
            expected="a place of its own, not the commitment's nor in the folder of the questions",
        )
    for path in (commitment_path, secret_path):
        if path.exists():
            raise UserError(
                "the file is there already, and a seal is never overwritten",
                where=path,
                fix="choose another name; or remove it, if no commitment that it belongs to was ever published",
            )
    commitment, secret = seal(split)
    if questions is not None:
        write_questions(split, questions)
    with atomic_path(
        secret_path, mode=0o600
    ) as temporary:  # first: a commitment without secret opens nothing
        temporary.write_text(secret.model_dump_json(indent=2) + "\n", encoding="utf-8")
    write_json(commitment_path, commitment.model_dump(mode="json"))
    return commitment


def write_questions(split: Split, folder: Path) -> tuple[Path, ...]:
    """Write what is asked without any label: the official columns with ``ground_truth`` null, errors and mask.

    One file for each part and group, rows by id; the folder appears whole. Object ids and file names are left out
    too: a catalogue would tell by them. (Whoever has the archive finds a spectrum in it by its pixels.)

    Raises
    ------
    UserError
        The folder holds something.
    """
    groups: dict[str, list[Candidate]] = {}
    for candidate in sorted(split.candidates, key=lambda c: c.id):
        bare = replace(candidate, spectrum=replace(candidate.spectrum, name=""))
        groups.setdefault(f"{candidate.part}_{candidate.group}", []).append(bare)
    with new_folder(folder) as made:
        for name, rows in groups.items():
            table = to_table(rows)
            nothing = pa.nulls(len(table), pa.string())
            reward = pa.StructArray.from_arrays([nothing, nothing], ["ground_truth", "type"])
            column = table.column("specvi").combine_chunks()
            errors = pa.StructArray.from_arrays(
                [column.field("ivar"), column.field("mask")], ["ivar", "mask"]
            )
            table = table.set_column(table.schema.get_field_index("reward_model"), "reward_model", reward)
            table = table.drop_columns(["specvi"]).append_column("errors", errors)
            pq.write_table(table, made / f"{name}.parquet", compression="zstd")
    return tuple(folder / f"{name}.parquet" for name in groups)


def read_commitment(path: Path) -> Commitment:
    """Read a published commitment."""
    value = parse_json(read_text(path), path)
    refuse_newer(value, SCHEMA_VERSION, path)
    return validate(Commitment, value, path)


def read_secret(path: Path) -> Secret:
    """Read the secret of a seal."""
    value = parse_json(read_text(path), path)
    refuse_newer(value, SCHEMA_VERSION, path)
    return validate(Secret, value, path)
