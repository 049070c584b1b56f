"""The card of a trained system, written from its folder; and what is not published."""

import pytest
from typer.testing import CliRunner

from specvi_benchmark.cli import push_model
from specvi_benchmark.errors import UserError
from specvi_benchmark.hub.system_card import write_system_card
from specvi_benchmark.runs.fitting import fit, read_fit_record
from specvi_benchmark.splits.io import write_split


@pytest.fixture
def folder(make_planted, tmp_path):
    write_split(make_planted(40, tasks=("cv", "wd")), tmp_path / "split")
    fit("gaianet-style", str(tmp_path / "split"), tmp_path / "model", options={"setting": "test"}, seed=5)
    return tmp_path / "model"


def test_the_card_says_what_was_trained_on_and_how(folder):
    done = CliRunner().invoke(push_model.app, [str(folder), "--repo", "someone/gaia", "--dry-run"])
    assert done.exit_code == 0, done.output
    assert "Nothing was uploaded. 5 files" in done.output
    card = (folder / "README.md").read_text()
    record = read_fit_record(folder)
    assert "license: apache-2.0" in card.split("---")[1]
    assert "**Trained on SIMULATED spectra.**" in card
    assert record.train_fingerprint in card
    assert record.calibration_fingerprint in card
    assert "specvi fit gaianet-style --train SPLIT --out FOLDER --seed 5 --option setting=test" in card
    assert "| Cataclysmic Variables (CV) | 20 | 20 |" in card
    assert card.count("| White Dwarf (WD) |") == 1
    assert "gaianet-style:gaia" in card


def test_pickles_and_other_folders_are_not_published(folder, tmp_path):
    with pytest.raises(UserError, match="not a trained vetter"):
        write_system_card(tmp_path / "split", "a/b")
    (folder / "checkpoint.pt").write_bytes(b"")
    with pytest.raises(UserError, match="can run code"):
        write_system_card(folder, "a/b")


def test_without_a_token_nothing_is_uploaded(folder, monkeypatch):
    monkeypatch.delenv("HF_TOKEN", raising=False)
    done = CliRunner().invoke(push_model.app, [str(folder), "--repo", "someone/gaia"])
    assert isinstance(done.exception, UserError)
    assert "no token" in str(done.exception)
