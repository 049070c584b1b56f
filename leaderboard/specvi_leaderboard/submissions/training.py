"""Declared training data against the candidates that are scored."""

from collections.abc import Iterator
from pathlib import Path

from specvi_benchmark.errors import UserError, examples
from specvi_benchmark.splits import Split
from specvi_leaderboard.submissions.schema import Submission
from specvi_leaderboard.submissions.text import shown


def check_training(
    submission: Submission, whole: Split, scored: Split, place: str, where: Path
) -> Iterator[str]:
    """Yield what a reviewer should know about the declared sources.

    ``whole`` is the split with all its parts, ``place`` its name or path.

    Raises
    ------
    UserError
        The scored candidates themselves are declared as training data, or their split without a part.
    """
    tested = {candidate.object_id for candidate in scored.candidates}
    names = {name.casefold() for name in (whole.name, f"{whole.name} {whole.version}", place)}
    for source in submission.training:
        here = source.name.casefold() in names or source.split == whole.fingerprint
        if source.split == scored.fingerprint or (here and source.part == submission.split.part):
            raise UserError(
                "the system was trained on the candidates it is scored on",
                where=where,
                got=shown(source.name),
            )
        if here and source.part is None:
            raise UserError(
                "the split that is scored is declared as training data, without saying which part",
                where=where,
                got=shown(source.name),
                fix="add part: train, or what it was",
            )
        if here:
            part = whole.select(part=source.part)
            shared = len(tested & {candidate.object_id for candidate in part.candidates})
            yield f"trained on part {source.part} of this split, which shares {shared} of {len(tested)} objects with the scored one"


def check_objects(listed: bytes | None, scored: Split, where: Path) -> Iterator[str]:
    """Hold a list of training objects, one a line, against the scored ones by object id, spectrum name and candidate id.

    Raises
    ------
    UserError
        Not text, or an object that is scored is among them.
    """
    if listed is None:
        return
    try:
        names = {line.strip() for line in listed.decode("utf-8-sig").splitlines()} - {""}
    except UnicodeDecodeError as error:
        raise UserError("not a text file", where=where, got=f"byte {error.start} is not UTF-8") from None
    tested = {name for c in scored.candidates for name in (c.id, c.object_id, c.spectrum.name) if name}
    if shared := sorted(names & tested):
        raise UserError(
            f"{len(shared)} of the scored objects are in the declared training data",
            where=where,
            got=examples(map(shown, shared)),
            fix="train without them",
        )
    yield f"{len(names)} training objects listed, none of them scored"
