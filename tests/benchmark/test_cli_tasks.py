"""`specvi tasks`: everything a task file holds is printed, and JSON carries the same."""

import json

import pytest
from typer.testing import CliRunner

from specvi_benchmark.cli.tasks import app
from specvi_benchmark.errors import UserError
from specvi_benchmark.lines import all_bands, all_indices, all_lines, lines_between
from specvi_benchmark.tasks import TASK_KEYS, all_tasks, get_task

WIDE = {"COLUMNS": "3000"}  # nothing is wrapped, so that whole sentences can be looked for


def run(*arguments):
    result = CliRunner().invoke(app, list(arguments), env=WIDE)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0
    return result.stdout


def _leaves(value):
    if isinstance(value, dict):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, str):
        yield from value.split("\n\n")


def test_list_names_every_task_once():
    rows = [line.split() for line in run().splitlines()]
    assert [row[0] for row in rows if row and row[0] in TASK_KEYS] == list(TASK_KEYS)
    text = run()
    for task in all_tasks():
        assert task.class_name in text
        assert task.data_source in text


def test_list_as_json():
    listed = json.loads(run("--json"))
    assert [entry["key"] for entry in listed] == list(TASK_KEYS)
    carbon = listed[1]
    assert (carbon["class_name"], carbon["data_source"]) == ("Carbon Star (C-type)", "carbon")
    assert "cc" in carbon["aliases"]


@pytest.mark.parametrize("key", TASK_KEYS)
def test_show_prints_everything(key):
    text = run("show", key)
    missing = [leaf for leaf in _leaves(get_task(key).model_dump()) if leaf not in text]
    assert missing == []
    for window in get_task(key).windows:
        assert f"{window.range_AA[0]:.0f}–{window.range_AA[1]:.0f}" in text


def test_show_takes_official_spellings_and_gives_the_record_as_json():
    assert json.loads(run("show", "gm", "--json")) == get_task("mg").model_dump(mode="json")


def test_show_of_an_unknown_task():
    with pytest.raises(UserError, match="no such task"):
        run("show", "nova")


def test_lines_prints_the_whole_list_with_brackets():
    text = run("lines")
    for feature in (*all_lines(), *all_bands(), *all_indices()):
        assert feature.name in text
    assert "5008.24" in text
    assert "5006.84" in text


def test_lines_between():
    text = run("lines", "--between", "4000", "5000")
    assert "Hβ" in text
    assert "C2 4737" in text
    assert "PyHammer G band" in text
    for outside in ("Hα", "TiO 7054", "PMSU TiO5", "Lyα"):
        assert outside not in text


def test_lines_as_json():
    found = json.loads(run("lines", "--between", "6400", "6600", "--json"))
    assert [line["name"] for line in found["lines"]] == [line.name for line in lines_between(6400, 6600)]
    assert [band["name"] for band in found["bands"]] == ["ZrO 6474", "ZrO 6495"]
    assert found["bands"][0]["sharp_edge"] == "blue"
    assert [index["name"] for index in found["indices"]] == ["PyHammer Hα"]


def test_empty_range_is_refused():
    with pytest.raises(UserError, match="the range is empty"):
        run("lines", "--between", "5000", "4000")
