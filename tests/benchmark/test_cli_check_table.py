"""`specvi check-table`: what it prints and refuses."""

import json

import pytest

from specvi_benchmark.cli.main import main


def call(*arguments):
    """Run the program in this process and return its exit code."""
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return ended.value.code or 0


CV = ("check-table", "--n", 1458, "--positives", 229)


def test_the_tables_are_printed(capsys):
    assert call(*CV, "--accuracy", "93.1", "--f1", "81.0") == 0
    printed = capsys.readouterr().out
    assert "TP 215, FP 87, FN 14, TN 1142" in printed
    assert "TP 213, FP 84, FN 16, TN 1145" in printed
    assert "more (--show)" not in printed
    assert "macro-f1" in printed
    assert "impossible" in printed


def test_an_impossible_cell_says_what_it_would_need(capsys):
    assert call(*CV, "--accuracy", "92.0", "--f1", "80.7") == 0
    printed = capsys.readouterr().out
    assert "would need 242–362 positives" in printed
    assert call(*CV, "--accuracy", "57.9", "--f1", "27.7") == 0
    printed = capsys.readouterr().out
    assert "impossible for any number of positives" in printed
    assert "If the figures were truncated, one table would be possible." in printed
    assert call(*CV, "--accuracy", "57.9", "--f1", "27.7", "--truncated") == 0
    assert "TP 118, FP 502, FN 111, TN 727" in capsys.readouterr().out


def test_json_holds_every_way(capsys):
    assert call(*CV, "--accuracy", "92.0%", "--f1", "80.7", "--json", "--show", 1) == 0
    said = json.loads(capsys.readouterr().out)
    by_name = {found["convention"]: found for found in said["findings"]}
    assert by_name["one-table"] == {
        "convention": "one-table", "meaning": by_name["one-table"]["meaning"], "possible": False,
        "fewest_unanswered": None, "tables": 0, "span": None, "examples": [],
    }  # fmt: skip
    assert by_name["wrong-no"]["fewest_unanswered"] == 7
    assert by_name["wrong-no"]["examples"] == [
        {"positives": 229, "tp": 228, "fp": [108, 108], "fn": [1, 1], "tn": 1114, "unanswered": 7}
    ]
    assert said["reading"] == "rounded"


def test_without_positives_any_number_goes(capsys):
    assert call("check-table", "--n", 1321, "--accuracy", "90.6", "--f1", "83.4", "--show", 2) == 0
    printed = capsys.readouterr().out
    assert "311–436" in printed
    assert "more (--show)" in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--n", 10, "--accuracy", "90"), "both figures"),
        (("--n", 10, "--accuracy", "90", "--f1", "abc"), "--f1"),
        (("--n", 10, "--accuracy", "190", "--f1", "50"), "--accuracy"),
        (("--n", 10, "--accuracy", "90", "--f1", "50", "--positives", "x"), "--positives"),
        (("--n", 10, "--accuracy", "90", "--f1", "50", "--positives", "11"), "do not go together"),
        (("--n", 10, "--accuracy", "0.93", "--f1", "0.81"), "fraction"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, message, capsys):
    assert call("check-table", *arguments) == 2
    assert message in capsys.readouterr().err


def test_the_published_table_is_checked_cell_by_cell(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert call("check-table", "reported") == 0
    printed = capsys.readouterr().out
    rows = [line for line in printed.splitlines() if " +" in line or " -" in line]
    assert len(rows) == 55
    assert "…" not in printed
    row = next(line for line in rows if "Spec-o3-3B" in line and " cv " in line)
    assert "no: P 242–362" in row
    assert "≥ 7" in row
    assert "Apache License 2.0" in printed
    assert "11 of 55 cells" in printed


def test_the_published_table_as_json(capsys):
    assert call("check-table", "reported", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert len(said["cells"]) == 55
    assert said["source"]
    lost = [cell for cell in said["cells"] if not cell["rounded"][0]["possible"]]
    assert len(lost) == 11
    assert {cell["system"] for cell in lost} >= {"Spec-o3-3B", "Qwen3-VL-30B-A3B", "GPT-4.1"}
