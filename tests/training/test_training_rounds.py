"""Inspecting in lockstep comes to what the vetter comes to; watching leaves a model and its draws as they were."""

from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("trl", reason="trl is not installed")

from acting_model import make_acting_model  # noqa: E402

from specvi_agents.environment import EnvironmentOptions  # noqa: E402
from specvi_agents.models.checkpoint import find_checkpoint  # noqa: E402
from specvi_agents.models.local.decoding import Decoding  # noqa: E402
from specvi_agents.models.local.model import LocalModel  # noqa: E402
from specvi_agents.models.transformers import create  # noqa: E402
from specvi_agents.options import AgentOptions  # noqa: E402
from specvi_benchmark.runs.ask import ask  # noqa: E402
from specvi_benchmark.splits.io import write_split  # noqa: E402
from specvi_benchmark.vetting import Outcome, Verdict  # noqa: E402
from specvi_training.config import DevPart  # noqa: E402
from specvi_training.dev import DevScorer, dev_candidates, score_verdicts  # noqa: E402
from specvi_training.rounds import inspect_in_rounds  # noqa: E402


@pytest.fixture(scope="module")
def acting(tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_acting_model(tiny_folder, tmp_path_factory.mktemp("acting") / "acting")


@pytest.mark.parametrize("dialect", ["api", "hermes"])
def test_the_same_verdicts_and_words_as_the_vetter(acting: Path, make_split, dialect: str) -> None:
    split = make_split(7)
    questions = [candidate.question for candidate in split.candidates]
    local = LocalModel.load(find_checkpoint(str(acting), "test"), device="cpu", dtype="auto")
    options = EnvironmentOptions(dialect=dialect)
    decoding = Decoding(40, temperature=1.0)
    mine = inspect_in_rounds(local, questions, options, decoding, batch_size=3, seed=5)
    entries: list = []
    given = {"temperature": "1", "seed": "5", "max_tokens": "40", "dialect": dialect, "device": "cpu"}
    ask(create(str(acting), given), questions, entries.append)
    theirs = {entry.verdict.id: entry.verdict for entry in entries}
    assert [verdict.id for verdict in mine] == [question.id for question in questions]
    assert max(verdict.tool_calls for verdict in mine) >= 2
    for verdict in mine:
        other = theirs[verdict.id]
        same = ("answer", "outcome", "answer_lenient", "tool_calls", "tokens_in", "tokens_out")
        assert [getattr(verdict, name) for name in same] == [getattr(other, name) for name in same]
        assert [turn.text for turn in verdict.traces[0].turns] == [t.text for t in other.traces[0].turns]


def test_watching_leaves_model_draws_and_settings_alone(acting: Path, make_split) -> None:
    split = make_split(3, part="dev")
    local = LocalModel.load(find_checkpoint(str(acting), "test"), device="cpu", dtype="auto")
    model = local._model.train()
    settings = model.generation_config
    scorer = DevScorer(split, local.chat, AgentOptions(), DevPart(split="x", max_tokens=8))
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    found = scorer.score(model)
    assert torch.equal(torch.rand(4), expected)
    assert model.training
    assert model.generation_config is settings
    assert found == scorer.score(model)


def test_scores_by_hand(make_split) -> None:
    """Truths YES NO NO YES NO NO; said YES YES NO – NO NO: TP 1, FP 1, FN 1 (a non-answer is wrong)."""
    split = make_split(6, part="dev")
    said = ["YES", "YES", "NO", None, "NO", "NO"]
    verdicts = [
        Verdict(c.id, "cv", Outcome.ANSWERED if a else Outcome.UNPARSED, a, a, tool_calls=2)
        for c, a in zip(split.candidates, said, strict=True)
    ]
    found = score_verdicts(verdicts, split)
    assert found["f1"] == found["f1_cv"] == pytest.approx(2 / (2 + 1 + 1))
    assert found["accuracy"] == pytest.approx(4 / 6)
    assert found["answered"] == pytest.approx(5 / 6)
    assert found["calls"] == 2


def test_a_limit_takes_yes_and_no_by_turns(make_split, tmp_path: Path) -> None:
    split = make_split(12, part="dev")  # every third is a YES
    write_split(replace(split, name="dev"), tmp_path / "dev")
    chosen = dev_candidates(DevPart(split=str(tmp_path / "dev"), limit=6))
    assert [c.truth for c in chosen.candidates] == ["YES", "NO"] * 3
