"""The examples of docs/simulator.md, written to files as the page says, are found and work; the page is complete."""

import re
from pathlib import Path

import numpy as np
import pytest

from specvi_benchmark.errors import UserError
from specvi_benchmark.simulator import (
    KINDS,
    Rates,
    artefacts,
    kinds,
    make_source,
    observe,
    simulate,
    wavelengths,
)
from specvi_benchmark.simulator.artefacts import rates
from specvi_benchmark.simulator.instrument import instruments

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "simulator.md").read_text(encoding="utf-8")


def write_example(name: str, folder: Path) -> None:
    code = re.search(
        rf"`simulator/[a-z]+/{name}\.py`:\n\n```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL
    )
    assert code is not None
    (folder / f"{name}.py").write_text(code[1], encoding="utf-8")


@pytest.fixture
def nova(tmp_path, monkeypatch):
    write_example("nova", tmp_path)
    monkeypatch.setattr(kinds, "__path__", [*kinds.__path__, str(tmp_path)])
    found = kinds.find_kinds()
    monkeypatch.setattr(simulate, "KINDS", found)
    return found


def test_a_kind_is_one_file(nova):
    assert set(nova) == set(KINDS) | {"nova"}
    made = make_source("nova", np.random.default_rng(0))
    assert made.truth["halpha_ew_AA"] >= 100
    for instrument in instruments():
        seen = observe(made, 50.0, np.random.default_rng(1), Rates.none(), instrument)
        grid = wavelengths(instrument)
        line = grid[np.abs(grid - 6564.6) < 60][np.argmax(seen.flux[np.abs(grid - 6564.6) < 60])]
        assert line == pytest.approx(6564.6, abs=15)


@pytest.fixture
def second_order(tmp_path, monkeypatch):
    write_example("second_order", tmp_path)
    monkeypatch.setattr(artefacts, "__path__", [*artefacts.__path__, str(tmp_path)])
    known = len(rates.all_artefacts())
    rates.all_artefacts.cache_clear()
    yield known
    monkeypatch.undo()
    rates.all_artefacts.cache_clear()


def test_an_artefact_is_one_file(second_order):
    assert len(rates.all_artefacts()) == second_order + 1
    made = make_source("wd-dc", np.random.default_rng(0))
    clean = observe(made, 1e5, np.random.default_rng(1), Rates.none())
    leaked = observe(made, 1e5, np.random.default_rng(1), Rates.none(second_order=0.3))
    share = leaked.truth["second_order"]
    # At 8000 Å appears what there is at 4000 Å.
    at = {wave: int(np.argmin(np.abs(wavelengths() - wave))) for wave in (4000, 7000, 8000)}
    added = leaked.flux[at[8000]] - clean.flux[at[8000]]
    assert added == pytest.approx(share * clean.flux[at[4000]], rel=0.02)
    assert leaked.flux[at[7000]] == pytest.approx(clean.flux[at[7000]], rel=1e-3)


def test_the_page_names_every_kind_and_artefact_with_its_usual_setting():
    assert [kind for kind in KINDS if f"`{kind}`" not in PAGE] == []
    for artefact in rates.all_artefacts().values():
        row = re.search(rf"^\| `{artefact.name}` \| ([\d.]+) \|", PAGE, re.MULTILINE)
        assert row is not None, artefact.name
        assert float(row[1]) == artefact.default


def test_the_page_names_no_kind_that_is_not_there():
    table = PAGE[PAGE.index("## Kinds of object") : PAGE.index("`Kind.decidable")]
    assert set(re.findall(r"`([a-z0-9-]+)`", table)) <= set(KINDS)


def test_two_kinds_of_one_name_are_refused(tmp_path, monkeypatch):
    (tmp_path / "again.py").write_text(
        "from specvi_benchmark.simulator.kinds import wd\nKINDS = (wd.KINDS[0],)\n", encoding="utf-8"
    )
    monkeypatch.setattr(kinds, "__path__", [*kinds.__path__, str(tmp_path)])
    with pytest.raises(UserError, match="two kinds of object have one name"):
        kinds.find_kinds()


def test_redshifts_beyond_the_lattice_are_refused():
    for wrong in ((0.1, 6.0), (-0.1, 0.3), (2.0, 1.0)):
        with pytest.raises(UserError, match="cannot be simulated"):
            kinds.Kind("far", KINDS["quasar"].make, redshifts=wrong)
