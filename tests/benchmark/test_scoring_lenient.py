"""The lenient reading: reported beside the strict one, and never ranked."""

import numpy as np
import pytest
from sklearn.metrics import f1_score

from specvi_benchmark.cli.main import main
from specvi_benchmark.runs.evaluate import lenient_calls, score_matched
from specvi_benchmark.runs.matching import MatchedPredictions
from specvi_benchmark.runs.predictions import Prediction
from specvi_benchmark.scoring.ledger import CALLS
from specvi_benchmark.splits.io import write_split


def matched(split, answers):
    """Predictions with (answer, outcome, lenient answer) in the order of the split."""
    return MatchedPredictions(
        split=split,
        predictions=tuple(
            Prediction(id=c.id, task="cv", answer=answer, outcome=outcome, answer_lenient=lenient)
            for c, (answer, outcome, lenient) in zip(split.candidates, answers, strict=True)
        ),
        missing=0,
        badly_spelled=0,
        repeated=0,
        outcomes_undeclared=False,
        ignored_columns=(),
    )


ANSWERS = [
    ("YES", "answered", "YES"),
    (None, "unparsed", "NO"),
    (None, "truncated", None),
    ("YES", "answered", None),  # the lenient reading contradicts itself
    (None, "abstained", None),
    (None, "unparsed", "YES"),
]


def test_a_lenient_call_is_the_lenient_answer_or_the_outcome(make_split):
    calls = lenient_calls(matched(make_split(6), ANSWERS))
    assert [CALLS[call] for call in calls] == ["YES", "NO", "truncated", "unparsed", "abstained", "YES"]


def test_nothing_was_read_leniently_where_no_prediction_says_so(make_split):
    strict = [(answer, outcome, None) for answer, outcome, _ in ANSWERS]
    assert lenient_calls(matched(make_split(6), strict)) is None
    results = score_matched(matched(make_split(6), strict))
    assert results.tasks[0].lenient is None
    assert results.macro[0].lenient is None


def test_the_lenient_score_is_that_of_its_own_calls_under_the_same_rule(make_split):
    split = make_split(6)
    results = score_matched(matched(split, ANSWERS))
    truth = np.array([c.truth == "YES" for c in split.candidates])
    # A non-answer is wrong in this reading too.
    said = np.array([True, False, not truth[2], not truth[3], not truth[4], True])
    (task,) = results.tasks
    assert task.lenient.f1 == pytest.approx(f1_score(truth, said))
    assert task.lenient.accuracy == pytest.approx((truth == said).mean())
    assert results.macro[0].lenient == task.lenient
    assert task.ranked.f1.value != pytest.approx(task.lenient.f1)


@pytest.mark.parametrize("lenient", ["YES", ""])
def test_the_table_is_printed_only_where_it_says_something_else(make_split, tmp_path, capsys, lenient):
    split = make_split(6)
    write_split(split, tmp_path / "split")
    lines = ["id,task,answer,outcome,answer_lenient"]
    lines += [f"{c.id},cv,NO,answered,NO" for c in split.candidates[1:]]
    lines.append(f"{split.candidates[0].id},cv,,unparsed,{lenient}")
    (tmp_path / "answers.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(SystemExit) as ended:
        main(["score", str(tmp_path / "answers.csv"), "--split", str(tmp_path / "split")])
    assert not ended.value.code
    assert ("read leniently" in capsys.readouterr().out) == bool(lenient)
