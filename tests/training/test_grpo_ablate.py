"""An ablation: its commands and their order, nothing done twice, and a table that SciPy and scikit-learn agree with."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("trl", reason="trl is not installed")

import grpo_kit as kit
from sklearn.metrics import f1_score

from specvi_benchmark.errors import UserError
from specvi_benchmark.files import validate
from specvi_benchmark.runs.record import SplitReference
from specvi_benchmark.runs.runner import run
from specvi_benchmark.splits import Split
from specvi_benchmark.splits.named import find_split
from specvi_benchmark.vetting import Outcome, Question, Verdict
from specvi_training.ablate.config import AblateConfig
from specvi_training.ablate.jobs import Job, run_all, seconds
from specvi_training.ablate.plan import Scored, plan
from specvi_training.ablate.run import ablate
from specvi_training.ablate.table import lines, markdown
from specvi_training.config import config_names, find_config, load_config


def config(**parts: Any) -> AblateConfig:
    content = {
        "sft": "sft_mini",
        "grpo": "grpo_mini",
        "test": {"split": "mini", "part": "cal", "tasks": ["cv"]},
        "draft": {"teacher": "brief", "split": "mini"},
        **parts,
    }
    return validate(AblateConfig, content, "test")


def test_every_command_comes_after_those_whose_files_it_reads(tmp_path: Path) -> None:
    todo = plan(load_config("ablate_mini", AblateConfig), tmp_path)
    seen: set[str] = set()
    made: set[str] = set()
    for job in todo.jobs:
        assert set(job.needs) <= seen
        seen.add(job.name)
        words = job.command
        read = [w for w in words if w.startswith(("model.base=", "transformers:", "data.trajectories="))]
        made.add(words[words.index("--out") + 1])
        for word in read:
            places = json.loads(word.split("=", 1)[1]) if "=" in word else word.removeprefix("transformers:")
            for place in [places] if isinstance(places, str) else places:
                folder = place.removesuffix("/model").removesuffix("/base")
                assert folder in made, word
                maker = next(j for j in todo.jobs if str(folder) in j.command[j.command.index("--out") + 1])
                assert maker.name in job.needs or "few" in job.name or "rl" in job.name
    assert len(seen) == len(todo.jobs)
    assert len(todo.runs) == 10 * 3 * 2  # arms, seeds, tasks
    assert len({scored.run for scored in todo.runs}) == 60


def test_arms_differ_in_what_they_say_and_in_nothing_else(tmp_path: Path) -> None:
    arms = [{"stage": "rl"}, {"stage": "sft+rl"}, {"stage": "sft+rl", "tool": False}, {"stage": "few sft"}]
    jobs = {job.name: job.command for job in plan(config(arms=arms, few=7, seeds=[3]), tmp_path).jobs}
    assert sum("/sft" in name and not name.startswith("runs") for name in jobs) == 4  # two sft, two sft-rl

    def told(name: str) -> set[str]:
        words = jobs[name]
        return {words[n + 1] for n, word in enumerate(words) if word == "--set"}

    base = "model.base=" + json.dumps(str(tmp_path / "trainings/tool/seed-3/sft/base"))
    start = "model.base=" + json.dumps(str(tmp_path / "trainings/tool/seed-3/sft/model"))
    assert told("tool/seed-3/rl") ^ told("tool/seed-3/sft-rl") == {base, start}
    extra = told("tool/seed-3/few-sft") - told("tool/seed-3/sft")
    assert extra == {"data.limit=7", "model.tiny=null", base}
    off = told("no-tool/seed-3/sft-rl") - told("tool/seed-3/sft-rl")
    assert off == {'inspection.tool="off"', start.replace("/tool/", "/no-tool/")}
    assert "tool=off" in jobs["lessons/no-tool/cv"]
    assert "tool=off" in jobs["runs/no-tool/seed-3/sft-rl/cv"]
    assert "tool=off" not in jobs["runs/tool/seed-3/sft-rl/cv"]


@pytest.mark.parametrize("name", [name for name in config_names() if name.startswith("ablate")])
def test_shipped_ablations_are_plans(name: str, tmp_path: Path) -> None:
    assert find_config(name).read_text(encoding="utf-8").startswith("# ")
    assert plan(load_config(name, AblateConfig), tmp_path).jobs


def job(name: str, code: str, *needs: str) -> Job:
    return Job(name, (sys.executable, "-c", code), needs)


def test_jobs_run_in_order_once_and_go_on_after_a_failure(tmp_path: Path) -> None:
    trail = tmp_path / "trail"
    note = f"open({str(trail)!r}, 'a').write('%s')"
    broken = f"import os; assert os.environ['OMP_NUM_THREADS'] == '1'; print('boom'); {note % 'x'}; exit(3)"
    jobs = [job("a/one", note % "a"), job("two", broken, "a/one"), job("three", note % "c", "two")]
    with pytest.raises(UserError, match="boom"):
        run_all(jobs, tmp_path, workers=2, threads=1, tell=lambda _: None)
    assert trail.read_text() == "ax"
    mended = [jobs[0], job("two", note % "b", "a/one"), jobs[2]]
    run_all(mended, tmp_path, workers=2, threads=1, tell=lambda _: None)
    assert trail.read_text() == "axbc"
    run_all(mended, tmp_path, workers=2, threads=1, tell=lambda _: None)
    assert trail.read_text() == "axbc"
    assert set(seconds(mended, tmp_path)) == {"a/one", "two", "three"}


class Chance:
    """Answers by lot, sometimes not at all."""

    def __init__(self, seed: int, split: Split) -> None:
        self.config = {"seed": seed}
        self._rng = np.random.default_rng(seed)
        self._truth = {candidate.id: candidate.truth for candidate in split.candidates}

    def vet(self, questions: list[Question]) -> Any:
        for question in questions:
            lot = self._rng.random()
            wrong = {"YES": "NO", "NO": "YES"}[self._truth[question.id]]
            answer = self._truth[question.id] if lot < 0.7 else wrong if lot < 0.9 else None
            outcome = Outcome.UNPARSED if answer is None else Outcome.ANSWERED
            yield Verdict(question.id, "cv", outcome, answer, tool_calls=2)  # type: ignore[arg-type]


def test_the_table_is_scikit_learns_f1_with_an_interval_of_its_size(tmp_path: Path) -> None:
    folder = kit.write_asked(tmp_path / "asked", 120, "test")
    split = find_split(str(folder))
    runs = []
    expected: dict[int, float] = {}
    for seed in (0, 1):
        out = tmp_path / f"run-{seed}"
        reference = SplitReference(
            name=split.name,
            version="1",
            path=str(folder),
            part=None,
            task=None,
            fingerprint=split.fingerprint,
        )
        run(Chance(seed, split), "chance", split, reference, out)  # type: ignore[arg-type]
        runs.append(Scored("arm", seed, "cv", out))
        rows = [json.loads(line) for line in (out / "predictions.jsonl").read_text().splitlines()]
        said = {row["id"]: row["answer"] for row in rows}
        truth = [candidate.truth == "YES" for candidate in split.candidates]
        answers = [said[c.id] == "YES" if said[c.id] else c.truth == "NO" for c in split.candidates]
        expected[seed] = float(f1_score(truth, answers))
    (line,) = lines(runs)
    assert dict(line.by_seed) == pytest.approx(expected)
    assert line.f1 == pytest.approx(np.mean(list(expected.values())))
    assert line.low < line.f1 < line.high
    # F1 of 120 candidates, 40 of them YES, right in 70 %: the spread of one seed by an independent simulation.
    rng = np.random.default_rng(0)
    positive = np.arange(120) % 3 == 0
    right = rng.random((4000, 120)) < 0.7
    tp = (positive & right).sum(1)
    spread = np.std(2 * tp / (2 * tp + (~right).sum(1)))
    width = (line.high - line.low) / (2 * 1.96)
    assert 0.5 * spread < width < 1.5 * spread
    assert line.calls == 2
    assert f"{line.f1:.3f} [{line.low:.3f}, {line.high:.3f}]" in markdown([line])


def test_another_ablation_in_the_same_folder_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("specvi_training.ablate.run.run_all", lambda *_, **__: None)
    monkeypatch.setattr("specvi_training.ablate.run.lines", lambda _: [])
    monkeypatch.setattr("specvi_training.ablate.run.markdown", lambda _: "")
    ablate(config(), tmp_path)
    ablate(config(workers=2, threads=1), tmp_path)
    with pytest.raises(UserError, match="holds another ablation"):
        ablate(config(seeds=[1]), tmp_path)
