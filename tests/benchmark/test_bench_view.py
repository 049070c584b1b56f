"""`specvi bench view`: it measures what it says, and a view is a hundred times cheaper than a pyplot figure."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from specvi_benchmark.cli.main import main
from specvi_benchmark.surveys.sample_files import lamost_coadd
from specvi_benchmark.views.cost import first_calls, growth, measure, simulated_spectra, throughput


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    return int(caught.value.code or 0)


QUICK = ("--rounds", "1", "--renders", "20", "--seconds", "0", "--no-first-call")


def test_the_command_measures_styles_and_windows(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    lamost_coadd(tmp_path / "a.fits")
    (tmp_path / "notes.txt").write_text("no spectrum\n")
    assert run("bench", "view", str(tmp_path), *QUICK, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["spectra"] == 1
    assert [(v["style"], v["window"]) for v in found["views"]] == [
        ("clean", "full"), ("clean", "zoom"), ("spec-o3", "full"), ("spec-o3", "zoom"),
    ]  # fmt: skip
    for view in found["views"]:
        assert sum(view["shares"].values()) == pytest.approx(1)
        assert view["most_kilobytes"] <= 30
    assert found["growth"]["renders"] == 20


def test_the_command_prints_a_table_and_refuses_what_is_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert run("bench", "view", *QUICK) == 0
    out = capsys.readouterr().out
    assert "spec-o3" in out
    assert "Memory over 20 pictures" in out
    assert run("bench", "view", str(tmp_path / "missing")) == 2
    assert run("bench", "view", str(tmp_path)) == 2


def test_the_contact_sheet_is_one_picture_of_pairs(tmp_path: Path) -> None:
    assert run("bench", "view", "--sheet", str(tmp_path / "sheet.png")) == 0
    with Image.open(tmp_path / "sheet.png") as sheet:
        assert sheet.width > 2 * 896
        assert sheet.height > 2000
        pixels = np.array(sheet.convert("RGB"))
    assert (pixels == 255).all(axis=2).mean() > 0.5


@pytest.mark.slow
def test_each_style_and_window_is_measured_and_small() -> None:
    found = set()
    for cost in measure(simulated_spectra(6), rounds=4):
        assert cost.most_kilobytes <= 30
        assert cost.ratio > 1  # how many times belongs to `specvi bench view`
        found.add((cost.style, cost.window))
    assert len(found) == 4


@pytest.mark.slow
def test_the_first_call_compiles_once() -> None:
    cold, warm = first_calls()
    assert 0 < warm.picture_s < cold.picture_s


@pytest.mark.slow
def test_two_processes_draw() -> None:
    assert throughput(2, 0.5) > 20


@pytest.mark.slow
def test_twenty_thousand_pictures_do_not_grow_the_process() -> None:
    grown = growth(simulated_spectra(4), 20_000)
    assert grown.after_MB - grown.before_MB < 8
