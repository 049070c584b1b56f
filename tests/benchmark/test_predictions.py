"""Prediction lines, files made elsewhere, and matching them with a split."""

import csv as csv_module
import gzip
import json
import os
import threading

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError

from specvi_benchmark.errors import UserError
from specvi_benchmark.files import append_line
from specvi_benchmark.runs.evaluate import rows_of, score_matched
from specvi_benchmark.runs.foreign import read_foreign_predictions
from specvi_benchmark.runs.matching import match
from specvi_benchmark.runs.predictions import Prediction, prediction_of, read_run_predictions
from specvi_benchmark.scoring import CALLS, Group
from specvi_benchmark.spectrum import clean_spectrum
from specvi_benchmark.splits import Candidate, Split
from specvi_benchmark.tasks import get_task
from specvi_benchmark.vetting import Outcome, Verdict

SPECTRUM = clean_spectrum([4000.0, 5000.0, 6000.0], [1.0, 2.0, 1.0])


def candidate(name, task="cv", truth="YES", object_id=None, track="main"):
    return Candidate(
        id=name, task=get_task(task), track=track, part="test", spectrum=SPECTRUM, redshift=None, truth=truth,
        object_id=object_id or name, object_id_source="simulated", label_source="made for a test",
    )  # fmt: skip


SPLIT = Split(
    "made",
    "1",
    (candidate("a"), candidate("b", truth="NO"), candidate("c", "cs"), candidate("d", "cs", "NO")),
    {},
)
ALL = [("a", "cv", "YES"), ("b", "cv", "NO"), ("c", "cs", "YES"), ("d", "cs", "NO")]


def csv(path, rows, header="id,task,answer"):
    path.write_text("\n".join([header, *(",".join(row) for row in rows)]) + "\n", encoding="utf-8")
    return path


def jsonl(path, rows):
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")  # no line break at the end
    return path


# Prediction


def test_a_verdict_becomes_its_line():
    verdict = Verdict(
        "a", "cv", Outcome.ANSWERED, "YES", "YES", 0.75, ("YES", "NO", "YES"), 3, 100, 20, 0.01, 1.5
    )
    assert prediction_of(verdict).model_dump(mode="json") == {
        "id": "a", "task": "cv", "answer": "YES", "outcome": "answered", "answer_lenient": "YES", "p_yes": 0.75,
        "votes": ["YES", "NO", "YES"], "tool_calls": 3, "tokens_in": 100, "tokens_out": 20, "cost_usd": 0.01,
        "seconds": 1.5,
    }  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        {"answer": None},
        {"outcome": "abstained"},
        {"answer": "yes"},
        {"p_yes": 1.2},
        {"p_yes": float("nan")},
        {"seconds": float("inf")},
        {"tool_calls": -1},
        {"votes": ["MAYBE"]},
        {"note": "x"},
    ],
)
def test_a_line_that_breaks_a_rule_is_refused(change):
    fields = {"id": "a", "task": "cv", "answer": "YES", "outcome": "answered"}
    Prediction.model_validate(fields)
    with pytest.raises(ValidationError):
        Prediction.model_validate(fields | change)


def test_in_a_log_the_last_line_counts_and_an_unfinished_one_does_not(tmp_path):
    log = tmp_path / "predictions.jsonl"
    for verdict in (
        Verdict("a", "cv", Outcome.ERROR),
        Verdict("b", "cv", Outcome.ANSWERED, "NO"),
        Verdict("a", "cv", Outcome.ANSWERED, "YES"),
        Verdict("a", "cs", Outcome.ABSTAINED),
    ):
        append_line(log, prediction_of(verdict).model_dump(mode="json"))
    with log.open("a") as stream:
        stream.write('{"id": "b", "task": "cv", "answ')
    found = read_run_predictions(log)
    assert [(key, line.outcome.value, line.answer) for key, line in found.items()] == [
        (("cv", "a"), "answered", "YES"),
        (("cv", "b"), "answered", "NO"),
        (("cs", "a"), "abstained", None),
    ]


def test_a_damaged_line_within_a_log_is_told(tmp_path):
    log = tmp_path / "predictions.jsonl"
    log.write_text('{"id": "a"\n{}\n')
    with pytest.raises(UserError, match="line 1"):
        read_run_predictions(log)


# Files made elsewhere


def three_formats(folder):
    records = [dict(zip(("id", "task", "answer"), row, strict=True)) for row in ALL]
    pd.DataFrame(records).to_parquet(folder / "answers.parquet")
    return [
        csv(folder / "answers.csv", ALL),
        jsonl(folder / "answers.jsonl", records),
        folder / "answers.parquet",
    ]


def test_formats_are_told_by_content_and_say_the_same(tmp_path):
    for path in three_formats(tmp_path):
        disguised = path.rename(tmp_path / "answers.dat")
        file = read_foreign_predictions(disguised)
        assert [(r.prediction.id, r.prediction.task, r.prediction.answer) for r in file.rows] == ALL
        assert file.outcomes_undeclared
        assert file.faults == {}


def test_spellings_of_answers_and_tasks(tmp_path):
    path = csv(
        tmp_path / "a.csv",
        [("a", "CV", " yes "), ("b", "cv", "No"), ("c", "carbon", ""), ("d", "cc", "YES.")],
    )
    file = read_foreign_predictions(path)
    assert [r.prediction.task for r in file.rows] == ["cv", "cv", "cs", "cs"]
    assert [r.prediction.answer for r in file.rows] == ["YES", "NO", None, None]
    assert [r.prediction.outcome.value for r in file.rows] == ["answered", "answered", "unparsed", "unparsed"]
    assert [r.badly_spelled for r in file.rows] == [None, None, None, "'YES.'"]


@pytest.mark.parametrize("value", [True, 1, ["YES"], "Y", "\\boxed{YES}", "none"])
def test_anything_else_is_badly_spelled(tmp_path, value):
    file = read_foreign_predictions(jsonl(tmp_path / "a.jsonl", [{"id": "a", "task": "cv", "answer": value}]))
    assert file.rows[0].badly_spelled == repr(value)
    assert file.rows[0].prediction.outcome is Outcome.UNPARSED


def test_a_badly_spelled_answer_is_unparsed_whatever_the_outcome_says(tmp_path):
    file = read_foreign_predictions(
        csv(tmp_path / "a.csv", [("a", "cv", "Yes!", "answered")], header="id,task,answer,outcome")
    )
    assert file.faults == {}
    assert file.rows[0].badly_spelled == "'Yes!'"
    assert file.rows[0].prediction.outcome is Outcome.UNPARSED


def test_an_empty_answer_is_unparsed_in_every_format(tmp_path):
    frame = pd.DataFrame({"id": ["a", "b"], "task": "cv", "answer": ["YES", None]})
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    (tmp_path / "nan.jsonl").write_text(
        '{"id": "a", "task": "cv", "answer": "YES"}\n{"id": "b", "task": "cv", "answer": NaN}\n'
    )
    for name in ("a.parquet", "a.csv", "a.jsonl", "nan.jsonl"):
        file = read_foreign_predictions(tmp_path / name)
        assert [r.prediction.outcome.value for r in file.rows] == ["answered", "unparsed"]
        assert [r.badly_spelled for r in file.rows] == [None, None]


def test_our_columns_are_used_and_others_named(tmp_path):
    frame = pd.DataFrame(
        {
            "id": ["a", "b"], "task": "cv", "answer": ["YES", ""], "outcome": ["answered", "refused"],
            "p_yes": [0.9, np.nan], "tool_calls": [3, np.nan], "votes": ["YES NO YES", ""], "model": "m", "note": "",
        }
    )  # fmt: skip
    frame.to_csv(tmp_path / "a.csv", index=False)
    file = read_foreign_predictions(tmp_path / "a.csv")
    first, second = (row.prediction for row in file.rows)
    assert (first.p_yes, first.tool_calls, first.votes) == (0.9, 3, ("YES", "NO", "YES"))
    assert (second.outcome, second.p_yes, second.tool_calls) == (Outcome.REFUSED, None, None)
    assert file.ignored_columns == ("model", "note")
    assert not file.outcomes_undeclared


def test_a_run_log_reads_as_a_foreign_file_too(tmp_path):
    line = prediction_of(Verdict("a", "cv", Outcome.ANSWERED, "YES", "YES", votes=("YES", "none")))
    append_line(tmp_path / "p.jsonl", line.model_dump(mode="json"))
    assert read_foreign_predictions(tmp_path / "p.jsonl").rows[0].prediction == line


def test_csv_as_spreadsheets_write_it(tmp_path):
    text = '\ufeffid;task;answer;remark\r\n"a";cv;YES;"two\nlines"\r\n\r\n007;cv;NO;\r\n;;;\r\n'
    (tmp_path / "a.csv").write_bytes(text.encode())
    file = read_foreign_predictions(tmp_path / "a.csv")
    assert [(r.place, r.prediction.id, r.prediction.answer) for r in file.rows] == [
        ("line 2", "a", "YES"),
        ("line 5", "007", "NO"),
    ]
    (tmp_path / "a.tsv").write_text("id\ttask\tanswer\na\tcv\tYES\n")
    assert read_foreign_predictions(tmp_path / "a.tsv").rows[0].prediction.answer == "YES"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "empty"),
        (b" \n\n", "empty"),
        (b"\xef\xbb\xbf", "empty"),
        (b"id,task,answer\n", "no rows"),
        (b"id,task,verdict\na,cv,YES\n", "missing column: answer"),
        (b'{"id": "a", "verdict": "YES"}\n', "missing columns: task, answer"),
        (b"id,task,answer,answer\na,cv,YES,NO\n", "twice"),
        (b'[{"id": "a", "task": "cv", "answer": "YES"}]', "JSON list"),
        (b'{\n "id": "a",\n "task": "cv"\n}\n', "no line is a JSON object"),
        (b",,,\n,,,\n", "empty cells only"),
        ("id,task,answer\na,cv,YES\n".encode("utf-16"), "not a text file"),
        ("id,task,answer\na,cv,YES\n".encode("utf-16-le"), "not a text file"),
        (b"id,task,answer\n\xe9,cv,YES\n", "not a text file"),
        (b"PAR1 and no more", "parquet"),
    ],
)
def test_a_file_that_cannot_be_read_is_told(tmp_path, content, told):
    path = tmp_path / "answers"
    path.write_bytes(content)
    with pytest.raises(UserError, match=told) as caught:
        read_foreign_predictions(path)
    assert str(path) in str(caught.value)


def test_no_file_and_a_folder_are_told(tmp_path):
    with pytest.raises(UserError, match="no such file"):
        read_foreign_predictions(tmp_path / "none.csv")
    with pytest.raises(UserError):
        read_foreign_predictions(tmp_path)


# Matching


def test_a_whole_file_matches_in_the_order_of_the_split(tmp_path):
    matched = match(read_foreign_predictions(csv(tmp_path / "a.csv", ALL[::-1])), SPLIT)
    assert [(p.id, p.task, p.answer) for p in matched.predictions] == ALL
    assert (matched.missing, matched.badly_spelled, matched.repeated) == (0, 0, 0)


def test_every_kind_of_fault_comes_in_one_message(tmp_path):
    split = Split("made", "1", (*SPLIT.candidates, candidate("e", "cs"), candidate("f", "cs")), {})
    path = csv(
        tmp_path / "a.csv",
        [
            ("a", "cv", "MAYBE"),
            ("b", "cv", "NO"),
            ("b", "cv", "no"),  # repeats, no fault
            ("b", "cv", "YES"),  # contradicts
            ("c", "cv", "YES"),  # belongs to cs
            ("x", "cv", "YES"),
            ("y", "cv", "YES"),
            ("z", "cv", "YES"),
            ("w", "cv", "YES"),
            ("d", "galaxy", "NO"),
            ("", "cv", "NO"),
            ("d", "cs"),
        ],
    )
    with pytest.raises(UserError) as caught:
        match(read_foreign_predictions(path), split)
    message = str(caught.value)
    for line in (
        "candidates without a row (2): cs e, cs f",  # c and d have rows, whose own faults are told below
        "badly spelled answers (1): 'MAYBE' (line 2)",
        "candidates with rows that contradict each other (1): cv b (line 3, line 5)",
        "ids that belong to another task (1): c is cs, not cv (line 6)",
        "ids that are not in the split (4): x (line 7), y (line 8), z (line 9) and 1 more",
        "unknown tasks (1): 'galaxy' (line 11)",
        "rows without an id (1): '' (line 12)",
        "line 13 has 2 of 3",
    ):
        assert line in message
    assert str(path) in message
    assert "--allow-partial" not in message


def test_values_that_are_not_allowed_are_faults(tmp_path):
    path = csv(
        tmp_path / "a.csv",
        [("a", "cv", "YES", "1.5", ""), ("b", "cv", "NO", "", "abstained"), ("c", "cs", "", "", "answered")],
        header="id,task,answer,p_yes,outcome",
    )
    file = read_foreign_predictions(path)
    assert file.rows == ()
    ((kind, places),) = file.faults.items()
    assert kind == "rows with a value that is not allowed"
    assert [place[-8:] for place in places] == ["(line 2)", "(line 3)", "(line 4)"]
    assert places[0].startswith("p_yes '1.5': ")
    assert places[1].startswith("answer NO does not go with outcome abstained ")


def test_a_row_with_a_wrong_value_is_not_a_missing_row_too(tmp_path):
    rows = [(*row, "2" if row[0] in "ab" else "0.5") for row in ALL]
    path = csv(tmp_path / "a.csv", rows, header="id,task,answer,p_yes")
    with pytest.raises(UserError, match=r"value that is not allowed \(2\)") as caught:
        match(read_foreign_predictions(path), SPLIT)
    assert "without a row" not in str(caught.value)
    assert caught.value.fix == "correct the rows"
    path = csv(tmp_path / "all.csv", [(*row, "2") for row in ALL], header="id,task,answer,p_yes")
    with pytest.raises(UserError, match=r"value that is not allowed \(4\)") as caught:
        match(read_foreign_predictions(path), SPLIT)
    assert caught.value.fix == "correct the rows"  # the ids do fit


def test_an_open_quote_is_told_where_it_opens_and_no_split_is_blamed(tmp_path):
    (tmp_path / "a.csv").write_text('id,task,answer\n"a,cv,YES\nb,cv,NO\nc,cs,YES\nd,cs,NO\n')
    with pytest.raises(UserError, match="line 2: a quote is left open and swallows all that") as caught:
        match(read_foreign_predictions(tmp_path / "a.csv"), SPLIT)
    assert caught.value.fix == "correct the rows; add the missing rows"


@pytest.mark.parametrize("end", ["", "\n", "\n\n", "\r\n"])
@pytest.mark.parametrize("after", [1, 2])
def test_a_quote_left_open_in_the_last_column_is_told_too(tmp_path, end, after):
    """The row has as many cells as the header: without a word the rest of the file would only be missing."""
    rows = [
        f"{name},{task},{answer},{'x' if n != after else chr(34)}"
        for n, (name, task, answer) in enumerate(ALL)
    ]
    (tmp_path / "open.csv").write_text("\n".join(["id,task,answer,why", *rows]) + end, newline="")
    with pytest.raises(
        UserError, match=f"line {after + 2}: a quote is left open and swallows all that follows"
    ):
        match(read_foreign_predictions(tmp_path / "open.csv"), SPLIT, allow_partial=True)


def test_a_quote_that_closes_lines_later_is_told_where_it_opens(tmp_path):
    (tmp_path / "a.csv").write_text('id,task,answer\n"a,cv,YES\nb,cv,NO"\nc,cs,YES\nd,cs,NO\n')
    with pytest.raises(UserError, match="line 2 has 1 of 3 and runs to line 3: is a quote left open"):
        match(read_foreign_predictions(tmp_path / "a.csv"), SPLIT)


@pytest.mark.parametrize("last", ['"x\n"', '"x, ""y"" \n\n"', "x", '""'])
@pytest.mark.parametrize("end", ["", "\n", "\n\n"])
def test_a_last_cell_of_several_lines_is_no_open_quote(tmp_path, last, end):
    rows = [f"{name},{task},{answer},{last}" for name, task, answer in ALL]
    (tmp_path / "closed.csv").write_text("\n".join(["id,task,answer,why", *rows]) + end, newline="")
    matched = match(read_foreign_predictions(tmp_path / "closed.csv"), SPLIT)
    assert [p.answer for p in matched.predictions] == ["YES", "NO", "YES", "NO"]


def test_doubled_columns_that_nobody_reads_do_not_matter(tmp_path):
    """A spreadsheet that ends every line with commas has two columns without a name."""
    rows = [(*row, "x", "y", "", "") for row in ALL]
    file = read_foreign_predictions(csv(tmp_path / "a.csv", rows, "id,task,answer,note,note,,"))
    assert len(file.rows) == 4
    assert file.ignored_columns == ("note",)


def test_nan_is_a_missing_number_in_every_format(tmp_path):
    header = "id,task,answer,p_yes,seconds"
    read = [read_foreign_predictions(csv(tmp_path / "a.csv", [(*ALL[0], "nan", "NaN")], header))]
    read.append(
        read_foreign_predictions(
            jsonl(
                tmp_path / "a.jsonl",
                [dict(zip(header.split(","), (*ALL[0], float("nan"), None), strict=True))],
            )
        )
    )
    for file in read:
        assert not file.faults
        assert (file.rows[0].prediction.p_yes, file.rows[0].prediction.seconds) == (None, None)
    told = read_foreign_predictions(
        csv(tmp_path / "b.csv", [(*ALL[0], "nan")], "id,task,answer,answer_lenient")
    )
    assert told.faults  # a word that is no answer is never taken for none


def test_a_line_that_answers_twice_is_told(tmp_path):
    """Python takes the last of two values of one key, and the score would be of an answer nobody chose."""
    (tmp_path / "a.jsonl").write_text(
        '{"id": "a", "task": "cv", "answer": "YES", "answer": "NO"}\n{"id": "b", "task": "cv", "answer": "NO"}\n'
    )
    file = read_foreign_predictions(tmp_path / "a.jsonl")
    assert list(file.faults.values()) == [("the key 'answer' stands there twice (line 1)",)]
    assert [row.prediction.id for row in file.rows] == ["b"]


def test_a_compressed_file_is_told_to_be_unpacked(tmp_path):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"id,task,answer\n"))
    with pytest.raises(UserError, match="gunzip"):
        read_foreign_predictions(tmp_path / "a.csv.gz")


def test_broken_lines_of_json_come_in_one_message_with_the_other_faults(tmp_path):
    good = [json.dumps(dict(zip(("id", "task", "answer"), row, strict=True))) for row in ALL]
    (tmp_path / "a.jsonl").write_text("\n".join([good[0], '{"id": ', *good[1:], "7", good[0][:-6] + '"NO"}']))
    with pytest.raises(UserError) as caught:
        match(read_foreign_predictions(tmp_path / "a.jsonl"), SPLIT)
    assert "lines that are not a JSON object (2): " in str(caught.value)
    assert "(line 2), 7 (line 6)" in str(caught.value)
    assert "contradict each other (1): cv a (line 1, line 7)" in str(caught.value)
    assert "without a row" not in str(caught.value)


@pytest.mark.parametrize("opened", ["", '"'])
def test_a_long_cell_is_read_and_a_longer_quote_is_told(tmp_path, opened):
    limit = csv_module.field_size_limit()
    long = "x" * (2 * limit)
    rows = [(*row, long if row[0] == "a" else "") for row in ALL[:3]] + [(f"{opened}d", "cs", "NO", long)]
    file = read_foreign_predictions(csv(tmp_path / "a.csv", rows, header="id,task,answer,output"))
    assert file.ignored_columns == ("output",)
    if opened:
        assert [len(places) for places in file.faults.values()] == [1]
    else:
        assert match(file, SPLIT).missing == 0
    assert csv_module.field_size_limit() == limit


def test_one_row_without_an_outcome_leaves_the_file_undeclared(tmp_path):
    header = "id,task,answer,outcome"
    for outcomes, undeclared in ((["answered", "", "answered"], True), (["answered"] * 3, False)):
        rows = [(*row, outcome) for row, outcome in zip(ALL, outcomes, strict=False)]
        file = read_foreign_predictions(csv(tmp_path / "a.csv", rows, header=header))
        assert file.outcomes_undeclared is undeclared


def test_rows_of_other_tasks_are_left_out_where_one_is_asked_for(tmp_path):
    rows = [(*row, "") for row in ALL] + [("w", "wd", "YES", "7")]  # not even its wrong value matters
    path = csv(tmp_path / "a.csv", rows, header="id,task,answer,p_yes")
    matched = match(read_foreign_predictions(path, "cv"), SPLIT.select(part="test", task="cv"))
    assert [(p.id, p.answer) for p in matched.predictions] == [("a", "YES"), ("b", "NO")]
    assert matched.other_tasks == 3


def test_rows_with_one_answer_and_unlike_figures_contradict_each_other(tmp_path):
    rows = [(*row, "0.5") for row in ALL] + [(*ALL[0], "0.9")]
    path = csv(tmp_path / "a.csv", rows, header="id,task,answer,p_yes")
    with pytest.raises(UserError, match=r"contradict each other \(1\): cv a \(line 2, line 6\)"):
        match(read_foreign_predictions(path), SPLIT)


def log_line(name, task, answer=None, outcome="answered"):
    return Prediction(id=name, task=task, answer=answer, outcome=outcome).model_dump(mode="json")


def test_in_the_log_of_a_resumed_run_the_later_try_counts(tmp_path):
    lines = [log_line("a", "cv", None, "error"), *(log_line(*row) for row in ALL)]
    matched = match(read_foreign_predictions(jsonl(tmp_path / "a.jsonl", lines)), SPLIT)
    assert [p.outcome.value for p in matched.predictions] == ["answered"] * 4
    assert (matched.superseded, matched.repeated) == (1, 0)
    assert not matched.outcomes_undeclared


@pytest.mark.parametrize(
    "lines",
    [
        [log_line("a", "cv", "NO"), log_line("a", "cv", "YES")],  # no error was tried again
        [log_line("a", "cv", "NO"), log_line("a", "cv", None, "error")],
        [log_line("a", "cv", None, "error") | {"note": ""}, log_line("a", "cv", "YES")],  # no log of ours
    ],
)
def test_other_rows_of_one_candidate_contradict_each_other(tmp_path, lines):
    path = jsonl(tmp_path / "a.jsonl", [*lines, *(log_line(*row) for row in ALL[1:])])
    with pytest.raises(UserError, match="contradict each other"):
        match(read_foreign_predictions(path), SPLIT)


def test_a_pipe_is_read_from_its_start(tmp_path):
    pd.DataFrame(ALL, columns=["id", "task", "answer"]).to_parquet(tmp_path / "a.parquet")
    for content in (csv(tmp_path / "a.csv", ALL).read_bytes(), (tmp_path / "a.parquet").read_bytes()):
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        writer = threading.Thread(target=pipe.write_bytes, args=(content,))
        writer.start()
        file = read_foreign_predictions(pipe)
        writer.join()
        pipe.unlink()
        assert match(file, SPLIT).missing == 0


def test_partial_admits_missing_and_badly_spelled_and_says_so(tmp_path):
    path = csv(tmp_path / "a.csv", [("a", "cv", "YES"), ("b", "cv", "nope"), ("c", "cs", "YES")])
    file = read_foreign_predictions(path)
    with pytest.raises(UserError, match="--allow-partial"):
        match(file, SPLIT)
    matched = match(file, SPLIT, allow_partial=True)
    assert [p.outcome.value for p in matched.predictions] == ["answered", "unparsed", "answered", "error"]
    assert (matched.missing, matched.badly_spelled) == (1, 1)
    results = score_matched(matched)
    assert results.partial.model_dump() == {"missing": 1, "badly_spelled": 1}
    assert results.incomplete == ("main/cs",)
    assert results.outcomes_undeclared
    cv = next(found for found in results.tasks if found.task == "cv")
    assert (cv.tp, cv.fp, cv.fn, cv.tn) == (1, 1, 0, 0)


@pytest.mark.parametrize(
    "row", [("x", "cv", "YES"), ("a", "cv", "NO"), ("c", "cv", "YES"), ("c", "pulsar", "YES")]
)
def test_partial_never_admits_unknown_or_contradicting_rows(tmp_path, row):
    file = read_foreign_predictions(csv(tmp_path / "a.csv", [*ALL, row]))
    with pytest.raises(UserError):
        match(file, SPLIT, allow_partial=True)


def test_rows_that_repeat_are_counted(tmp_path):
    matched = match(
        read_foreign_predictions(csv(tmp_path / "a.csv", [*ALL, ALL[0], ("c", "carbon", "yes")])), SPLIT
    )
    assert matched.repeated == 2


def test_the_wrong_split_is_guessed(tmp_path):
    file = read_foreign_predictions(csv(tmp_path / "a.csv", [("x", "cv", "YES")]))
    with pytest.raises(UserError, match="check that this is the split"):
        match(file, SPLIT)


def test_an_empty_split_is_refused(tmp_path):
    with pytest.raises(UserError, match="no candidate to score"):
        match(read_foreign_predictions(csv(tmp_path / "a.csv", ALL)), Split("none", "1", (), {}))


def test_arrays_for_scoring(tmp_path):
    split = Split(
        "made",
        "1",
        (
            candidate("low", truth="NO", track="extreme"),
            candidate("c", "cs", "NO", object_id="star"),
            candidate("a", object_id="star"),
        ),
        {},
    )
    path = csv(tmp_path / "a.csv", [("low", "cv", ""), ("c", "cs", "YES"), ("a", "cv", "NO")])
    rows = rows_of(match(read_foreign_predictions(path), split))
    assert rows.groups == (Group("main", "cv"), Group("main", "cs"), Group("extreme", "cv"))
    assert rows.group.tolist() == [2, 1, 0]
    assert rows.positive.tolist() == [False, False, True]
    assert [CALLS[call] for call in rows.call] == ["unparsed", "YES", "NO"]
    assert rows.object_code[1] == rows.object_code[2] != rows.object_code[0]
