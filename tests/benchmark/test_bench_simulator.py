"""`specvi bench simulator`: it times what it says and prints rates by kind, overall, and memory."""

import json

import pytest

from specvi_benchmark.cli.main import main
from specvi_benchmark.simulator import KINDS, cost


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    return int(caught.value.code or 0)


def test_rates_follow_from_the_times(monkeypatch):
    # A clock that a source of wd-dc moves by 1 ms and one of wd-da by 3 ms, each observation by 1 ms.
    now = 0.0

    def make_source(kind, rng):
        nonlocal now
        now += 0.001 if kind == "wd-dc" else 0.003
        return kind

    def observe(source, snr, rng, instrument):
        nonlocal now
        now += 0.001
        assert instrument == "sdss"

    monkeypatch.setattr(cost, "make_source", make_source)
    monkeypatch.setattr(cost, "observe", observe)
    monkeypatch.setattr(cost.time, "process_time", lambda: now)
    found = cost.measure(["wd-dc", "wd-da"], rounds=3, per_round=5, instrument="sdss")
    assert [kind.kind for kind in found.kinds] == ["wd-da", "wd-dc"]  # slowest first
    assert found.kinds[0].source_ms == pytest.approx(3)
    assert found.kinds[0].observe_ms == pytest.approx(1)
    assert [kind.per_second for kind in found.kinds] == pytest.approx([250, 500])
    assert found.per_second == pytest.approx(2 / 0.006)
    assert found.spectra == 30


def test_json_has_every_kind_and_the_total(capsys):
    assert run("bench", "simulator", "--rounds", "1", "--per-round", "1", "--json") == 0
    printed = json.loads(capsys.readouterr().out)
    assert {kind["kind"] for kind in printed["kinds"]} == set(KINDS)
    assert printed["spectra"] == len(KINDS)
    assert printed["per_second"] > 0
    assert printed["resident_mb"] > 20


def test_the_table_names_what_was_asked_for(capsys):
    assert (
        run("bench", "simulator", "wd-dc", "--instrument", "desi", "--rounds", "1", "--per-round", "2") == 0
    )
    printed = capsys.readouterr().out
    assert "desi" in printed
    assert "wd-dc" in printed
    assert "wd-da" not in printed


@pytest.mark.parametrize("wrong", [("ufo",), ("wd-dc", "--instrument", "hubble")])
def test_a_wrong_name_is_a_message(wrong, capsys):
    assert run("bench", "simulator", *wrong, "--rounds", "1", "--per-round", "1") == 2
    assert wrong[-1] in capsys.readouterr().err
