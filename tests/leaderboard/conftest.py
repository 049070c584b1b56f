"""Small splits and scripted runs over them: real files, written and read by the suite itself."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from specvi_benchmark.files import write_json
from specvi_benchmark.probes import choose_probes
from specvi_benchmark.probes.report import REPORT_FILE, make_report
from specvi_benchmark.probes.series import AS_IS, Step
from specvi_benchmark.runs.predictions import prediction_of
from specvi_benchmark.runs.record import SplitReference, choose_split
from specvi_benchmark.runs.runner import run
from specvi_benchmark.spectrum import Spectrum
from specvi_benchmark.splits import Split, question_id
from specvi_benchmark.splits.io import write_split
from specvi_benchmark.splits.split import Candidate
from specvi_benchmark.tasks import get_task
from specvi_benchmark.vetting import Outcome, Question, Verdict, answered

TASKS = ("cv", "cs", "ss", "mg", "wd")
POSITIVES, CANDIDATES = 12, 72


@dataclass(frozen=True)
class Scripted:
    """A vetter that says what it is told: id → YES, NO or the outcome of a non-answer."""

    calls: Mapping[str, str]
    config: Mapping[str, Any] = field(default_factory=dict)
    cost_usd: float = 0.0
    seconds: float = 0.25

    def vet(self, questions: Sequence[Question]) -> Iterator[Verdict]:
        for question in questions:
            call = self.calls[question.id]
            more = {"cost_usd": self.cost_usd, "seconds": self.seconds}
            if call in {"YES", "NO"}:
                yield answered(question, call, **more)
            else:
                yield Verdict(question.id, question.task.key, Outcome(call), **more)


def split_of(
    name: str = "Toy", source: str = "simulated", tasks: Sequence[str] = TASKS, positives: int = POSITIVES
) -> Split:
    """Return a test split of flat spectra; 72 candidates a task, by default 12 of them positive."""
    candidates = []
    for key in tasks:
        task = get_task(key)
        for number in range(CANDIDATES):
            wavelength_AA = np.linspace(4000.0, 9000.0, 20)
            survey_id = f"{name}-{key}-{number}"
            candidates.append(
                Candidate(
                    id=question_id(
                        track=task.track, task=key, survey="toy", release=None, survey_id=survey_id
                    ),
                    task=task,
                    track=task.track,
                    part="test",
                    spectrum=Spectrum(wavelength_AA, np.ones(20), np.ones(20), np.zeros(20, bool)),
                    redshift=None,
                    truth="YES" if number < positives else "NO",
                    object_id=survey_id,
                    object_id_source=source,
                    label_source="made",
                )
            )
    return Split(name, "1", tuple(candidates), {"made": "for tests"})


def script(split: Split, found: int, false_alarms: int, other: Sequence[str] = ()) -> dict[str, str]:
    """Return calls: in every task the first ``found`` positives and ``false_alarms`` negatives are YES.

    ``other`` are non-answers, given to the last negatives of every task.
    """
    calls: dict[str, str] = {}
    for task in split.tasks:
        chosen = split.select(task=task).candidates
        positives = [c.id for c in chosen if c.truth == "YES"]
        negatives = [c.id for c in chosen if c.truth == "NO"]
        calls |= {name: "YES" if place < found else "NO" for place, name in enumerate(positives)}
        calls |= {name: "YES" if place < false_alarms else "NO" for place, name in enumerate(negatives)}
        calls |= dict(zip(reversed(negatives), other, strict=False))
    return calls


MakeRun = Callable[..., Path]


@pytest.fixture(scope="session")
def make_split() -> Callable[..., Split]:
    """Return `split_of`."""
    return split_of


def runs_in(root: Path) -> MakeRun:
    """Write the toy split to ``root/toy``; return a function that runs a scripted vetter over it or another."""
    toy = root / "toy"
    write_split(split_of(), toy)

    def make(
        name: str, found: int, false_alarms: int, *, at: Path = toy, folder: str | None = None, **more: Any
    ) -> Path:
        split, reference = choose_split(str(at), track="all")
        calls = script(split, found, false_alarms, more.pop("other", ()))
        out = root / "runs" / (folder or name)
        run(Scripted(calls, **more), name, split, reference, out)
        return out

    return make


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    """Return a function that runs a scripted vetter and gives the run folder."""
    return runs_in(tmp_path)


@pytest.fixture
def toy(tmp_path: Path, make_run: MakeRun) -> Path:
    """Return the folder of the split that `make_run` uses."""
    return tmp_path / "toy"


@pytest.fixture(scope="module")
def make_run_once(tmp_path_factory: pytest.TempPathFactory) -> MakeRun:
    """Return `make_run` for runs that a whole module shares."""
    return runs_in(tmp_path_factory.mktemp("shared"))


@pytest.fixture(scope="session")
def make_probe() -> Callable[..., Path]:
    """Return a function that writes a probe: with the deciding lines hidden, one YES to members of each task is left."""

    def make(split: Split, reference: SplitReference, vetter: str, folder: Path) -> Path:
        truth = {c.id: answered(c.question, c.truth) for c in split.candidates}
        as_is = {one: prediction_of(verdict) for one, verdict in truth.items()}
        members = [c for c in split.candidates if c.truth == "YES"]
        first = {c.task.key: c.id for c in reversed(members)}
        hidden = {
            c.id: prediction_of(answered(c.question, "NO")) for c in members if c.id != first[c.task.key]
        }
        answers = {"plain": as_is, "masked": as_is | hidden, "control": as_is}
        steps = [Step(one, split) for one in (AS_IS, *choose_probes(["masked"]))]
        report = make_report(vetter, {}, reference, split, steps, [], answers, 7)
        write_json(folder / REPORT_FILE, report.model_dump(mode="json"))
        return folder

    return make
