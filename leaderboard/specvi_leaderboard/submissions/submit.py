"""Makes a submission's folder of a finished run, or of a file of answers made elsewhere."""

import tempfile
from pathlib import Path

import yaml

from specvi_benchmark.errors import UserError
from specvi_benchmark.files import json_line, write_bytes, write_text
from specvi_benchmark.runs.evaluate import match_file, match_log
from specvi_benchmark.runs.matching import MatchedPredictions
from specvi_benchmark.runs.record import RunRecord, SplitReference, choose_split, load_split, read_run_record
from specvi_benchmark.splits.io import check_free
from specvi_benchmark.vetting import Outcome
from specvi_leaderboard.submissions.folder import METADATA, PREDICTIONS, read_folder
from specvi_leaderboard.submissions.plain_yaml import parse_plain_yaml
from specvi_leaderboard.submissions.schema import (
    SCHEMA_VERSION,
    Description,
    Provenance,
    Submission,
    SubmittedSplit,
    check,
)
from specvi_leaderboard.submissions.validate import Checked, validate_submission


def read_description(path: Path) -> Description:
    """Read the metadata that a submitter wrote."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError("the metadata can't be read", where=path, got=error.strerror) from None
    return check(Description, parse_plain_yaml(content, path), path)


def make_submission(
    target: Path,
    description: Description,
    out: Path,
    reference: SplitReference | None = None,
    place: str | None = None,
) -> Checked:
    """Write a submission and check it as a maintainer will; nothing is left behind where it would be refused.

    Parameters
    ----------
    target
        A finished run folder, or a file with id, task and answer.
    out
        The folder to write; its name becomes the submission's id.
    reference
        Which candidates a file of answers is about; a run says it itself.
    place
        Name or path of the split, where a run's has moved.

    Raises
    ------
    UserError
        The folder is not free, the run is not finished, or anything that `validate_submission` refuses.
    """
    check_free(out)
    record = read_run_record(target) if target.is_dir() else None
    if record is not None:
        reference = record.split
        matched = match_log(target, load_split(record.split, place))
    elif reference is not None:
        matched = match_file(
            target, choose_split(reference.path, "test", reference.task, reference.track or "all")[0]
        )
    else:
        raise UserError("answers of a file are about a split", where=target, fix="name it with --split")
    if reference.part not in {None, "test"}:
        raise UserError(
            "only answers to the test part can be submitted",
            where=target,
            got=f"part {reference.part}",
            fix="specvi run --part test",
        )
    submission = Submission(
        **dict(description),
        schema_version=SCHEMA_VERSION,
        split=SubmittedSplit(
            name=reference.name,
            version=reference.version,
            task=reference.task,
            track=reference.track,
            fingerprint=reference.fingerprint,
        ),
        run=None if record is None else _provenance(record),
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".submission-") as made:
        folder = Path(made) / out.resolve().name
        folder.mkdir()
        write_text(folder / METADATA, metadata_yaml(submission))
        write_bytes(folder / PREDICTIONS[0], _lines(matched))
        read_folder(folder)
        checked = validate_submission(folder, [place or reference.path])
        if out.exists():
            out.rmdir()
        folder.rename(out)
    return checked


def metadata_yaml(submission: Submission) -> str:
    """Return the text of ``submission.yaml``."""
    content = submission.model_dump(mode="json", exclude_none=True, exclude_defaults=False)
    first = {name: content.pop(name) for name in ("schema_version", "name")}
    return yaml.safe_dump(first | content, sort_keys=False, allow_unicode=True, width=110)


def _provenance(record: RunRecord) -> Provenance:
    return Provenance(
        vetter=record.vetter.partition(":")[0],
        suite=record.environment.get("specvi-bench", "unknown"),
        seed=str(record.seed),
        started=record.started,
        ended=record.ended or "unfinished",
    )


def _lines(matched: MatchedPredictions) -> bytes:
    """Return one JSON line a candidate; outcomes that nobody declared are left out again."""
    lines = []
    for prediction in matched.predictions:
        line = prediction.model_dump(mode="json", exclude_none=True)
        if matched.outcomes_undeclared and prediction.outcome in {Outcome.ANSWERED, Outcome.UNPARSED}:
            del line["outcome"]
        lines.append(json_line({"answer": None} | line))
    return b"".join(lines)
