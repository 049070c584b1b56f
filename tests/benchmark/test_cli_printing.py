"""Tables are never cut, whatever the terminal; what a vetter prints never stands in the output."""

import io
import json
import re
import sys

import pytest
from rich import box
from rich.console import Console
from rich.table import Table

from specvi_benchmark.cli import inspect as inspect_module
from specvi_benchmark.cli.main import main
from specvi_benchmark.cli.printing import kept_for_answers, print_whole
from specvi_benchmark.splits.io import write_split
from specvi_benchmark.vetting import answered


def printed(table, width):
    text = io.StringIO()
    console = Console(file=text, width=width, highlight=False)
    print_whole(console, table)
    assert console.width == width
    return text.getvalue()


def made():
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("task", no_wrap=True)
    table.add_column("average precision", justify="right")
    table.add_column("ECE", justify="right")
    table.add_column("why")
    table.add_row(
        "main macro (5)", r"0.921 \[0.759–0.975]", "1,234.567", "a longer reason than fits in there"
    )
    return table


@pytest.mark.parametrize("width", [1, 20, 40, 60, 79, 80, 81, 120, 400])
def test_no_word_is_cut_and_no_label_wrapped(width):
    text = printed(made(), width)
    assert "…" not in text
    words = [line.split() for line in text.splitlines()]
    for word in ("0.921", "[0.759–0.975]", "1,234.567", "precision", "reason", "longer"):
        assert any(word in line for line in words)
    assert "main macro (5)" in text


def test_a_table_that_fits_is_as_rich_prints_it():
    plain = io.StringIO()
    Console(file=plain, width=120, highlight=False).print(made())
    assert printed(made(), 120) == plain.getvalue()


def test_room_that_is_left_goes_to_text():
    lines = printed(made(), 75).splitlines()
    assert max(map(len, lines)) <= 75
    assert any("a longer reason" in line for line in lines)


@pytest.fixture
def split(tmp_path, make_split):
    split = make_split(24)
    write_split(split, tmp_path / "split")
    return tmp_path / "split"


class Talker:
    """Prints, as models and their libraries do."""

    def __init__(self):
        self.config = {}

    def vet(self, questions):
        for question in questions:
            sys.stdout.write("thinking about it\n")
            yield answered(question, "YES")


def call(*arguments):
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return ended.value.code or 0


def make_talker(*_):
    sys.stdout.write("loading weights\n")
    return Talker()


def test_a_vetter_that_prints_does_not_spoil_the_json_of_a_run(split, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("specvi_benchmark.runs.fitting.load_vetter", make_talker)
    assert call("run", "--vetter", "talker", "--split", split, "--out", tmp_path / "run", "--json") == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["counts"]["answered"] == 24
    assert "loading weights" in captured.err
    assert captured.err.count("thinking about it") == 24


def test_a_vetter_that_prints_does_not_spoil_the_json_of_an_inspection(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(inspect_module, "load_vetter", make_talker)
    (tmp_path / "a.csv").write_text(
        "wavelength_AA,flux\n" + "".join(f"{4000 + 2 * k},{1 + k % 7}\n" for k in range(500))
    )
    asked = ("inspect", tmp_path / "a.csv", "--task", "cv", "--medium", "vacuum")
    assert call(*asked, "--pictures", tmp_path / "pictures", "--json") == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["vetter"] == "rules"
    assert "thinking about it" in captured.err


def test_output_is_back_after_a_fault(capsys):
    def fail():
        with kept_for_answers():
            sys.stdout.write("lost\n")
            raise ValueError("x")

    with pytest.raises(ValueError, match="x"):
        fail()
    sys.stdout.write("found\n")
    assert capsys.readouterr() == ("found\n", "lost\n")


@pytest.mark.parametrize("columns", ["30", "60", "80"])
def test_scores_and_comparisons_are_whole_in_a_narrow_terminal(split, tmp_path, capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    for vetter in ("always-yes", "always-no"):
        call("run", "--vetter", vetter, "--split", split, "--out", tmp_path / vetter)
    runs = (tmp_path / "always-yes", tmp_path / "always-no")
    for command in (
        ("score", runs[0], "--prevalence", "0.002", "--by", "snr"),
        ("compare", *runs),
        ("labels", "agreement", *runs),
        ("check-table", "--n", "1458", "--positives", "229", "--accuracy", "93.1", "--f1", "81.0"),
    ):
        capsys.readouterr()
        assert call(*command) == 0
        text = capsys.readouterr().out
        assert "…" not in text
        assert re.search(r"\[\d\.\d{3}–\d\.\d{3}\]|\d", text)


def test_the_version_is_printed(capsys):
    assert call("--version") == 0
    assert re.fullmatch(r"specvi \d+\.\d+\.\d+\n", capsys.readouterr().out)
    call("--help")
    assert "--version" in capsys.readouterr().out
