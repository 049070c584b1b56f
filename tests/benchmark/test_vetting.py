"""Vetters are found by name, and what is wrong with one is told in one message."""

from collections.abc import Iterator
from importlib.metadata import EntryPoint
from types import SimpleNamespace

import pytest

from specvi_benchmark import vetting
from specvi_benchmark.errors import UserError
from specvi_benchmark.vetting import Outcome, Verdict, load_vetter


def raises(argument: object, options: object) -> None:
    raise ZeroDivisionError("no weights")


def without_vet(argument: object, options: object) -> SimpleNamespace:
    return SimpleNamespace(config={})


def config_not_json(argument: object, options: object) -> SimpleNamespace:
    return SimpleNamespace(config={"lines": {1, 2}}, vet=iter)


def good(argument: str | None, options: dict[str, str]) -> SimpleNamespace:
    return SimpleNamespace(config={"argument": argument, **options}, vet=iter)


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    class Point(EntryPoint):
        def load(self) -> object:
            if self.value == "missing:module":
                raise ModuleNotFoundError(name="torch")
            return globals()[self.value.split(":")[1]]

    makers = ("raises", "without_vet", "config_not_json", "good", "gone")
    points = [Point(name, f"here:{name}", "specvi.vetters") for name in makers]
    points.append(Point("needs", "missing:module", "specvi.vetters"))
    monkeypatch.setattr(vetting, "entry_points", lambda **_: points)
    return iter(())


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("raises", "ZeroDivisionError: no weights"),
        ("without_vet", "no method vet"),
        ("config_not_json", "not JSON serializable"),
        ("gone", "KeyError"),
        ("needs", "torch"),
        ("unheard-of", "no such vetter"),
    ],
)
def test_what_is_wrong_with_a_vetter_is_one_message(spec: str, said: str) -> None:
    with pytest.raises(UserError, match="vetter") as caught:
        load_vetter(spec)
    assert said in str(caught.value)


def test_argument_and_options_reach_the_factory() -> None:
    assert load_vetter("good:a:b", {"k": "v"}).config == {"argument": "a:b", "k": "v"}
    assert load_vetter("good").config == {"argument": None}


@pytest.mark.parametrize(
    "fields",
    [
        {"outcome": Outcome.ANSWERED},
        {"outcome": Outcome.REFUSED, "answer": "NO"},
        {"outcome": Outcome.ANSWERED, "answer": "NO", "p_yes": 1.2},
        {"outcome": Outcome.ANSWERED, "answer": "NO", "p_yes": float("nan")},
    ],
)
def test_a_verdict_cannot_contradict_itself(fields: dict) -> None:
    with pytest.raises(ValueError, match=r"verdict|p_yes"):
        Verdict("a", "cv", **fields)
