"""`specvi run`: budgets, consent before a run that costs much, and how it ends."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from specvi_benchmark.cli import run as run_module
from specvi_benchmark.cli.run import app
from specvi_benchmark.errors import UserError
from specvi_benchmark.runs import record
from specvi_benchmark.traces import said
from specvi_benchmark.vetting import answered


class Paid:
    """An asynchronous vetter with a price."""

    config = {"name": "paid"}  # noqa: RUF012
    in_flight = 4

    def __init__(self, expected_usd: float | None, cost_usd: float | None) -> None:
        self.expected_usd, self.cost_usd = expected_usd, cost_usd

    async def vet_one(self, question):
        return answered(question, "YES", cost_usd=self.cost_usd, traces=(said("seen"),))


@pytest.fixture
def call(tmp_path: Path, make_split: Callable, monkeypatch: pytest.MonkeyPatch) -> Callable:
    """Return a function that runs a vetter over 120 questions: ``call(vetter, *arguments)``."""
    split = make_split(120)
    reference = record.SplitReference(
        name="small", version="1", path="here", part="test", task=None, fingerprint=split.fingerprint
    )
    monkeypatch.setattr(record, "choose_split", lambda *_: (split, reference))

    def invoke(vetter, *arguments):
        monkeypatch.setattr("specvi_benchmark.runs.fitting.load_vetter", lambda *_: vetter)
        return CliRunner().invoke(app, ["--vetter", "paid:m", "--out", str(tmp_path / "run"), *arguments])

    return invoke


def test_a_cheap_run_asks_nobody(call):
    result = call(Paid(0.008, 0.005))
    assert result.exit_code == 0, result.exception
    assert "120 answered, 0.60 USD" in result.stdout
    assert "Next: specvi score" in result.stdout


@pytest.mark.parametrize(("expected_usd", "told"), [(0.05, "about 6.00 USD"), (None, "price is not known")])
def test_where_nobody_can_be_asked_a_dear_run_needs_a_word(call, tmp_path, expected_usd, told):
    result = call(Paid(expected_usd, 0.05))
    assert isinstance(result.exception, UserError)
    assert told in str(result.exception)
    assert "--yes" in str(result.exception)
    assert not (tmp_path / "run").exists()
    assert call(Paid(expected_usd, 0.001), "--yes").exit_code == 0


def test_a_person_is_asked(call, monkeypatch):
    monkeypatch.setattr(run_module, "sys", SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True)))
    answers = []
    monkeypatch.setattr(run_module.typer, "confirm", lambda text, **_: answers.append(text))
    assert call(Paid(0.05, 0.05)).exit_code == 0
    assert answers == ["Go on?"]


def test_a_limit_is_consent_and_the_run_says_how_it_goes_on(call, tmp_path):
    result = call(Paid(0.05, 0.05), "--max-usd", "1")
    assert result.exit_code == run_module.EXIT_UNFINISHED
    assert "Stopped: one more question would exceed 1 dollars. 20 of 120 questions" in result.stdout
    assert "1.00 USD" in result.stdout
    assert "goes on" in result.stdout
    result = call(Paid(0.05, 0.05), "--max-usd", "10", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["counts"]["answered"] == 120


def test_json_of_a_stopped_run_is_json(call):
    result = call(Paid(0.05, 0.05), "--max-minutes", "0", "--yes", "--json")
    assert result.exit_code == run_module.EXIT_UNFINISHED
    assert json.loads(result.stdout)["ended"] is None
    assert "minutes are over" in result.stderr


def test_a_price_that_is_not_known_is_said(call):
    assert "120 answered, price not known" in call(Paid(None, None), "--yes").stdout
