"""Mean and spread over seeds, against NumPy and the scores of the runs themselves."""

import json

import numpy as np
import pytest

from specvi_benchmark.cli.main import main
from specvi_benchmark.errors import UserError
from specvi_benchmark.runs.evaluate import match_run, score_matched
from specvi_benchmark.runs.record import choose_split
from specvi_benchmark.runs.runner import run
from specvi_benchmark.runs.seeds import over_seeds
from specvi_benchmark.splits.io import write_split
from specvi_benchmark.vetting import Outcome, Verdict, answered


class Guesser:
    """Answers by chance, from a seed; `error` for one task where that is named."""

    def __init__(self, seed, fails=None):
        self.config = {"seed": seed}
        self.rng, self.fails = np.random.default_rng(seed), fails

    def vet(self, questions):
        for question in questions:
            if question.task.key == self.fails:
                yield Verdict(question.id, question.task.key, Outcome.ERROR)
            else:
                yield answered(question, "YES" if self.rng.random() < 0.5 else "NO")


@pytest.fixture
def runs(make_split, tmp_path):
    write_split(make_split(60), tmp_path / "split")
    split, reference = choose_split(str(tmp_path / "split"))

    def make(seed, name="guesser", **more):
        folder = tmp_path / f"{name}-{seed}".replace(":", "-")
        run(Guesser(seed, **more), name, split, reference, folder, seed=seed)
        return folder

    return make


def test_mean_and_spread_are_those_of_the_scores(runs):
    folders = [runs(seed, f"guesser:model-{seed}") for seed in range(4)]
    scores = [score_matched(match_run(folder)).macro[0].ranked.f1 for folder in folders]
    row = next(row for row in over_seeds(folders) if row.task == "macro")
    values = np.array([score.value for score in scores])
    assert (row.vetter, row.seeds) == ("guesser", (0, 1, 2, 3))
    expected = {
        "mean": np.mean(values), "sd": np.std(values, ddof=1), "least": min(values), "most": max(values),
        "low": np.mean([score.low for score in scores]), "high": np.mean([score.high for score in scores]),
    }  # fmt: skip
    assert row.f1 == pytest.approx(expected)
    assert row.f1["sd"] > 0


def test_one_seed_has_no_spread_and_a_failed_task_no_line(runs):
    whole = over_seeds([runs(0)])
    assert {row.f1["sd"] for row in whole} == {None}
    task = next(row.task for row in whole if row.task != "macro")
    left = over_seeds([runs(0, "failing", fails=task)])
    assert {row.task for row in left} == {row.task for row in whole} - {task, "macro"}


def test_a_seed_counts_once(runs):
    with pytest.raises(UserError, match="one seed"):
        over_seeds([runs(1, "guesser:a"), runs(1, "guesser:b")])


def test_runs_over_other_candidates_are_refused(runs, make_split, tmp_path):
    write_split(make_split(24), tmp_path / "other")
    split, reference = choose_split(str(tmp_path / "other"))
    run(Guesser(5), "guesser", split, reference, tmp_path / "strange", seed=5)
    with pytest.raises(UserError, match="not over the same candidates"):
        over_seeds([runs(0), tmp_path / "strange"])


def test_the_command_prints_a_table_and_json(runs, capsys):
    folders = [str(runs(seed)) for seed in range(2)]
    for arguments in ((), ("--json",)):
        with pytest.raises(SystemExit) as ended:
            main(["bench", "seeds", *folders, *arguments])
        assert not ended.value.code
        said = capsys.readouterr().out
        if arguments:
            assert {row["vetter"] for row in json.loads(said)} == {"guesser"}
        else:
            assert "±" in said
            assert "guesser" in said
