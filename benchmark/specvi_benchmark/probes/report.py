"""``probe.json``: what a series of probes found, and the sentences that follow from it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from specvi_benchmark.files import StrictModel
from specvi_benchmark.probes.moves import ALL_TASKS, Move, move
from specvi_benchmark.probes.probe import PROBE_VERSION, Honest
from specvi_benchmark.probes.series import Answers, LeftOut, Step
from specvi_benchmark.runs.record import SplitReference
from specvi_benchmark.splits import Split
from specvi_benchmark.vetting import ANSWERS

SCHEMA_VERSION: Literal[1] = 1
REPORT_FILE = "probe.json"


class Asked(StrictModel):
    """A probe that was asked, in words, and of how many candidates."""

    name: str
    summary: str
    honest: Honest | None
    candidates: int


class NotAsked(StrictModel):
    """A probe that was not, and why."""

    name: str
    reason: str


class ProbeReport(StrictModel):
    """The content of ``probe.json``."""

    schema_version: Literal[1]
    probe_version: int
    vetter: str
    options: Mapping[str, str]
    split: SplitReference
    seed: int
    candidates: int
    asked: tuple[Asked, ...]
    not_asked: tuple[NotAsked, ...]
    moves: tuple[Move, ...]

    def of(self, probe: str, against: str, truth: str, task: str = ALL_TASKS) -> Move | None:
        """Return one comparison, None where there is none."""
        wanted = (probe, against, truth, task)
        return next((m for m in self.moves if (m.probe, m.against, m.truth, m.task) == wanted), None)


def make_report(
    vetter: str,
    options: Mapping[str, str],
    reference: SplitReference,
    split: Split,
    steps: Sequence[Step],
    left_out: Sequence[LeftOut],
    answers: Mapping[str, Answers],
    seed: int,
) -> ProbeReport:
    """Compare every probe with what it is compared with: all tasks together, then task by task.

    Parameters
    ----------
    answers
        Name of a probe, or `PLAIN` → what was said.
    """
    return ProbeReport(
        schema_version=SCHEMA_VERSION,
        probe_version=PROBE_VERSION,
        vetter=vetter,
        options=options,
        split=reference,
        seed=seed,
        candidates=len(split.candidates),
        asked=tuple(
            Asked(
                name=step.probe.name,
                summary=step.probe.summary,
                honest=step.probe.honest,
                candidates=len(step.split.candidates),
            )
            for step in steps
        ),
        not_asked=tuple(NotAsked(name=one.probe.name, reason=one.reason) for one in left_out),
        moves=tuple(_moves(split, steps, answers)),
    )


def _moves(split: Split, steps: Sequence[Step], answers: Mapping[str, Answers]) -> Iterator[Move]:
    pools = {ALL_TASKS: split.candidates}
    if len(split.tasks) > 1:
        pools |= {task: split.select(task=task).candidates for task in split.tasks}
    for step in steps:
        for against in step.probe.against:
            if against not in answers:
                continue
            for task, pool in pools.items():
                for truth in ANSWERS:
                    found = move(
                        pool,
                        answers[against],
                        answers[step.probe.name],
                        probe=step.probe.name,
                        against=against,
                        task=task,
                        truth=truth,
                    )
                    if found is not None:
                        yield found


def sentences(report: ProbeReport) -> Iterator[str]:
    """Yield what the decisive probe says, in words."""
    plain, control = report.of("masked", "plain", "YES"), report.of("masked", "control", "YES")
    if plain is None or control is None:
        return
    if not plain.yes_before:
        yield "No member was called YES to begin with, so nothing can be said of what a YES rests on."
        return
    kept = plain.yes_before - plain.lost
    yield (
        f"Of {plain.yes_before} YES to members, {kept} stay YES without the features that decide the task; "
        f"as much hidden elsewhere leaves {control.yes_before} YES among the same {control.candidates} members."
    )
    if control.direction == "down":
        yield "The decisive features matter to this system: hiding them costs more YES than hiding others."
    elif control.direction == "up":
        yield "Hiding other features costs this system more YES than hiding the decisive ones."
    else:
        yield (
            "No sign that the decisive features matter: hiding them moves the answers no more than hiding others. "
            "The interval says how large an effect may have been missed."
        )
