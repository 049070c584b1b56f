"""Ledger and metrics, against scikit-learn and by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score, precision_score, recall_score

from specvi_benchmark.scoring.ledger import CALLS, Group, Rows, ledgers
from specvi_benchmark.scoring.metrics import FN, FP, TN, TP, Rule, error_share, macro, metrics, tables

CV, CS, WD = Group("main", "cv"), Group("main", "cs"), Group("main", "wd")


@st.composite
def answers(draw, groups=(CV, CS, WD)):
    """Rows of every group, with any truth and any call; each group has at least one."""
    one = st.tuples(st.booleans(), st.integers(0, len(CALLS) - 1))
    lists = [draw(st.lists(one, min_size=1, max_size=40)) for _ in groups]
    group = np.repeat(np.arange(len(groups)), [len(rows) for rows in lists])
    flat = [row for rows in lists for row in rows]
    return Rows(
        groups,
        group,
        np.array([positive for positive, _ in flat]),
        np.array([call for _, call in flat]),
        np.arange(len(flat)),
    )


def as_predicted(rows, rule):
    """Each row as YES or NO under a rule, decided row by row as DESIGN words it."""
    said = []
    for positive, call in zip(rows.positive, rows.call, strict=True):
        if call < 2:
            said.append(call == 0)
        elif rule is Rule.RANKED:
            said.append(not positive)
        elif rule is Rule.NON_ANSWER_IS_NO:
            said.append(False)
        else:
            said.append(bool(positive))
    return np.array(said)


def same(ours, theirs):
    return ours == pytest.approx(theirs, nan_ok=True, abs=1e-12)


@given(answers())
def test_ledger_counts_every_row_once(rows):
    counts = ledgers(rows)
    assert counts.shape == (3, 2, 7)
    assert counts.sum() == len(rows.call)
    for place in range(3):
        for row, positive in enumerate((True, False)):
            for call in range(7):
                here = (rows.group == place) & (rows.positive == positive) & (rows.call == call)
                assert counts[place, row, call] == here.sum()


@given(answers(), st.sampled_from(list(Rule)))
def test_metrics_agree_with_scikit_learn(rows, rule):
    values = metrics(tables(ledgers(rows), rule))
    said = as_predicted(rows, rule)
    undefined = {"zero_division": np.nan}
    for place in range(3):
        truth, guess = rows.positive[rows.group == place], said[rows.group == place]
        assert same(values.accuracy[place], accuracy_score(truth, guess))
        assert same(values.precision[place], precision_score(truth, guess, **undefined))
        assert same(values.recall[place], recall_score(truth, guess, **undefined))
        assert same(values.f1[place], f1_score(truth, guess, **undefined))


@given(answers(), st.sampled_from(list(Rule)))
def test_macro_is_the_mean_of_scikit_learn(rows, rule):
    said = as_predicted(rows, rule)
    parts = [
        f1_score(rows.positive[rows.group == place], said[rows.group == place], zero_division=np.nan)
        for place in (0, 2)
    ]
    found = macro(metrics(tables(ledgers(rows), rule)), [0, 2])
    assert same(found.f1, np.mean(parts))  # NaN where a part is undefined


@given(answers())
def test_the_ranked_rule_is_the_worst_and_best_the_best(rows):
    counts = ledgers(rows)
    worst, as_no, best = (metrics(tables(counts, rule)) for rule in Rule)
    for name in ("accuracy", "recall", "f1"):
        low, middle, high = (getattr(values, name) for values in (worst, as_no, best))
        known = ~np.isnan(low) & ~np.isnan(middle)
        assert (low[known] <= middle[known] + 1e-12).all()
        known = ~np.isnan(low) & ~np.isnan(high)
        assert (low[known] <= high[known] + 1e-12).all()


@given(answers())
def test_rules_agree_where_everything_is_answered(rows):
    answered = Rows(rows.groups, rows.group, rows.positive, rows.call % 2, rows.object_code)
    counts = ledgers(answered)
    first, *others = (tables(counts, rule) for rule in Rule)
    for other in others:
        np.testing.assert_array_equal(first, other)


def one_group(positive, call):
    zeros = np.zeros(len(positive), dtype=np.int64)
    return Rows((CV,), zeros, np.array(positive), np.array(call), np.arange(len(positive)))


def test_all_abstained_is_all_wrong():
    abstained = CALLS.index("abstained")
    counts = ledgers(one_group([True] * 3 + [False] * 7, [abstained] * 10))
    ranked = tables(counts, Rule.RANKED)[0]
    assert ranked[[TP, FP, FN, TN]].tolist() == [0, 7, 3, 0]
    values = metrics(ranked)
    assert (values.accuracy, values.precision, values.recall, values.f1) == (0, 0, 0, 0)
    as_no = metrics(tables(counts, Rule.NON_ANSWER_IS_NO)[0])
    assert as_no.accuracy == pytest.approx(0.7)
    assert np.isnan(as_no.precision)
    assert metrics(tables(counts, Rule.BEST)[0]).f1 == 1


def test_undefined_values():
    no_yes = metrics(np.array([0, 0, 4, 6]))
    assert np.isnan(no_yes.precision)
    assert no_yes.recall == 0
    assert no_yes.f1 == 0
    no_positive = metrics(np.array([0, 2, 0, 8]))
    assert no_positive.precision == 0
    assert np.isnan(no_positive.recall)
    assert no_positive.f1 == 0
    neither = metrics(np.array([0, 0, 0, 8]))
    assert neither.accuracy == 1
    assert all(np.isnan(value) for value in (neither.precision, neither.recall, neither.f1))


def test_published_always_yes_f1_of_the_cv_task():
    # 229 positives among 1458 test rows: F1 of always-YES is 2·229 / (1458 + 229) = 0.2715.
    values = metrics(np.array([229, 1229, 0, 0]))
    assert values.f1 == pytest.approx(0.2715, abs=5e-5)
    assert values.accuracy == pytest.approx(229 / 1458)


def test_error_share_counts_errors_of_both_truths_only():
    error, refused = CALLS.index("error"), CALLS.index("refused")
    counts = ledgers(one_group([True, True, False, False], [error, 0, error, refused]))
    assert error_share(counts).tolist() == [0.5]


@pytest.mark.parametrize(
    "change",
    [
        {"call": np.array([0, 7])},
        {"call": np.array([0, -1])},
        {"group": np.array([0, 1])},
        {"groups": (CV, CS)},
        {"positive": np.array([1, 0])},
        {"object_code": np.array([0])},
    ],
)
def test_arrays_that_make_no_rows_are_refused(change):
    fields = {
        "groups": (CV,),
        "group": np.array([0, 0]),
        "positive": np.array([True, False]),
        "call": np.array([0, 1]),
        "object_code": np.array([0, 1]),
    }
    Rows(**fields)
    with pytest.raises(ValueError):
        Rows(**(fields | change))
