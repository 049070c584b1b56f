"""What the page of a system shows of its probes."""

from typing import Any

from specvi_benchmark.probes.moves import ALL_TASKS, Move, Shift
from specvi_benchmark.probes.probe import PLAIN
from specvi_benchmark.probes.report import Asked, ProbeReport, sentences
from specvi_leaderboard.entry import vetter_name
from specvi_leaderboard.site.payload import units


def probe_data(report: ProbeReport) -> dict[str, Any]:
    """Return probes in the order they were asked, each as: what was changed, and how the answers moved.

    A move is task, truth, candidates, YES before and after, and the change of the share of YES with its interval; it
    is compared with the questions as they are, or with the probe that ``against`` names.
    """
    asked = {one.name: one for one in report.asked}
    words = {name: one.summary for name, one in asked.items()}
    return {
        "vetter": vetter_name(report.vetter),  # what stands after it may be a path of somebody's machine
        "part": report.split.part,
        "track": report.split.track,
        "task": report.split.task,
        "candidates": report.candidates,
        "version": report.probe_version,
        "seed": report.seed,
        "sentences": list(sentences(report)),
        "left": [[one.name, one.reason] for one in report.not_asked],
        "probes": [
            {
                "name": name,
                "summary": words.get(name, name),
                "against": None if against == PLAIN else words.get(against, against),
                "honest": _honest(asked.get(name), against),
                "moves": [_move(m) for m in report.moves if (m.probe, m.against) == (name, against)],
            }
            for name, against in dict.fromkeys((m.probe, m.against) for m in report.moves)
        ],
    }


def _honest(asked: Asked | None, against: str) -> str | None:
    """Return what a system does that looks at the right thing: with other features hidden it has more left."""
    if against == "control":
        return "fewer YES"
    return asked.honest if asked else None


def _move(move: Move) -> list[Any]:
    task = None if move.task == ALL_TASKS else move.task
    return [task, move.truth, move.candidates, move.yes_before, move.yes_after, _shift(move.yes)]


def _shift(shift: Shift | None) -> list[int | None] | None:
    return None if shift is None else [units(value) for value in (shift.value, shift.low, shift.high)]
