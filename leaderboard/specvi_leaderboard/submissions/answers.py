"""The answers of a submission: bounded before they are parsed, and held against the split."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from specvi_benchmark.errors import UserError
from specvi_benchmark.runs.foreign import PredictionFile, parse_foreign_predictions
from specvi_benchmark.runs.matching import MatchedPredictions, match
from specvi_benchmark.splits import Split
from specvi_leaderboard.submissions.text import shown

BYTES_A_CANDIDATE = 2_000
LEAST_BYTES = 1_000_000
LONGEST_LINE = 16_000
LONGEST_ID = 200
LONGEST_TOLD = 300
LARGEST = {"tool_calls": 1e6, "tokens_in": 1e12, "tokens_out": 1e12, "cost_usd": 1e6, "seconds": 1e8}
"""What one candidate can cost at most; above, a mean over candidates says nothing any more."""

_NOT_A_NUMBER = re.compile(r"\b(?:NaN|Infinity)\b")


def match_answers(content: bytes, where: Path, split: Split) -> MatchedPredictions:
    """Return exactly one prediction for each candidate of the split.

    Raises
    ------
    UserError
        Too large for the split, not JSON lines or CSV, or answers that do not fit: a missing, unknown or doubled
        candidate, an answer or number that can't be.
    """
    _refuse_size(content, where, len(split.candidates))
    try:
        file = parse_foreign_predictions(content, where)
        _refuse_ids(file)
        _refuse_numbers(file)
        return match(file, split)
    except UserError as error:
        raise _harmless(error) from None


def _harmless(error: UserError) -> UserError:
    """Return the same message with every character of the file that a terminal would obey escaped."""

    def told(text: str | None) -> str | None:
        if text is None:
            return None
        lines = ["".join(c if c.isprintable() else ascii(c)[1:-1] for c in line) for line in text.split("\n")]
        return "\n".join(
            line if len(line) <= LONGEST_TOLD else f"{line[:LONGEST_TOLD]}…" for line in lines[:20]
        )

    return UserError(
        error.what, where=told(error.where), expected=error.expected, got=told(error.got), fix=error.fix
    )


def _refuse_ids(file: PredictionFile) -> None:
    for row in file.rows:
        name = row.prediction.id
        if len(name) > LONGEST_ID or not name.isprintable():
            raise UserError("an id that no split has", where=f"{file.where}, {row.place}", got=shown(name))


def _refuse_size(content: bytes, where: Path, candidates: int) -> None:
    limit = max(LEAST_BYTES, BYTES_A_CANDIDATE * candidates)
    if len(content) > limit:
        raise UserError(
            "far more bytes than so many candidates need",
            where=where,
            expected=f"up to {limit:,} for {candidates:,} candidates",
            got=f"{len(content):,}",
            fix="leave out columns that are not read, such as raw replies",
        )
    if content.startswith((b"PAR1", b"PK\x03\x04", b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")):
        raise UserError("a packed or binary file", where=where, expected="JSON lines or CSV as plain text")
    lines = content.count(b"\n") + content.count(b"\r") - content.count(b"\r\n")  # as a text file is read
    most = 2 * candidates + 100
    if lines > most:
        raise UserError(
            "far more rows than candidates", where=where, expected=f"up to {most:,} lines", got=f"{lines:,}"
        )
    if content.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{":
        for number, line in enumerate(content.split(b"\n"), start=1):
            _refuse_line(line, f"{where}, line {number}")


def _refuse_line(line: bytes, where: str) -> None:
    if len(line) > LONGEST_LINE:
        raise UserError(
            "the line is too long",
            where=where,
            expected=f"up to {LONGEST_LINE:,} bytes",
            got=f"{len(line):,}",
        )
    if (b"NaN" in line or b"Infinity" in line) and _NOT_A_NUMBER.search(line.decode("utf-8", "replace")):
        try:
            json.loads(line, parse_constant=_refuse_constant)
        except _NotJSONError as error:
            raise UserError(
                "not a number of JSON", where=where, got=error, fix="leave the value out, or write null"
            ) from None
        except (ValueError, RecursionError):
            return  # the reader says what is wrong with it


class _NotJSONError(Exception):
    pass


def _refuse_constant(name: str) -> Any:
    raise _NotJSONError(name)


def _refuse_numbers(file: PredictionFile) -> None:
    for row in file.rows:
        for name, value in _numbers(row.prediction):
            if value > LARGEST[name]:
                raise UserError(
                    f"{name} of one candidate can't be so large",
                    where=f"{file.where}, {row.place}",
                    expected=f"up to {LARGEST[name]:g}",
                    got=shown(value),
                )


def _numbers(prediction: Any) -> Iterator[tuple[str, float]]:
    for name in LARGEST:
        value = getattr(prediction, name)
        if value is not None:
            yield name, value
