"""Which tables can give printed figures: against counting every table, and against the published ones."""

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from specvi_benchmark.errors import UserError
from specvi_benchmark.scoring.check_table import Convention, check_table
from specvi_benchmark.scoring.printed import READINGS, read_positives, read_printed, runs_of


def percent(text, reading):
    """The values a printed percentage stands for, as a test of membership written out by hand."""
    value = Fraction(text) / 100
    unit = Fraction(1, 100 * 10 ** (len(text.split(".")[1]) if "." in text else 0))
    if reading == "truncated":
        return lambda x: value <= x < value + unit
    return lambda x: abs(x - value) <= unit / 2


def f1_of(tp, fp, fn):
    return Fraction(2 * tp, 2 * tp + fp + fn) if tp else Fraction(0)


def every_way(n, positives):
    """Yield (convention, accuracy, F1, unanswered, table) of every table with every set of non-answers."""
    for p in positives:
        for tp, fn in product(range(p + 1), repeat=2):
            up = p - tp - fn
            if up < 0:
                continue
            for tn, fp in product(range(n - p + 1), repeat=2):
                un = n - p - tn - fp
                if un < 0:
                    continue
                right, silent = tp + tn, up + un
                table = (p, tp, tn)
                if silent == 0:
                    both = (f1_of(tp, fp, fn) + f1_of(tn, fn, fp)) / 2
                    yield Convention.ONE_TABLE, Fraction(right, n), f1_of(tp, fp, fn), 0, table, fp, fn
                    yield Convention.MACRO_F1, Fraction(right, n), both, 0, table, fp, fn
                yield (
                    Convention.WRONG_NO,
                    Fraction(right, n),
                    f1_of(tp, fp, fn + up),
                    silent,
                    table,
                    fp,
                    fn + up,
                )
                yield Convention.WRONG_DROPPED, Fraction(right, n), f1_of(tp, fp, fn), silent, table, fp, fn
                if silent < n:
                    yield (
                        Convention.DROPPED,
                        Fraction(right, n - silent),
                        f1_of(tp, fp, fn),
                        silent,
                        table,
                        fp,
                        fn,
                    )


ALL_WAYS = {key: list(every_way(*key)) for key in ((7, (2,)), (8, (1, 3)), (9, (3, 4, 5)))}


@settings(max_examples=300)
@given(st.sampled_from(sorted(ALL_WAYS)), st.sampled_from(READINGS), st.integers(0, 1), st.data())
def test_every_convention_finds_what_counting_finds(key, reading, decimals, data):
    n, positives = key
    if data.draw(st.booleans(), "figures that some table gives"):
        _, accuracy, f1, *_ = data.draw(st.sampled_from(ALL_WAYS[key]))
        texts = [f"{float(100 * value):.{decimals}f}" for value in (accuracy, f1)]
    else:
        texts = [f"{data.draw(st.integers(0, 1000)) / 10:.{decimals}f}" for _ in range(2)]
    fits = [percent(text, reading) for text in texts]
    found = check_table(n, positives, *(read_printed(text, reading) for text in texts))
    for finding in found:
        hits = [
            way
            for way in ALL_WAYS[key]
            if way[0] is finding.convention and fits[0](way[1]) and fits[1](way[2])
        ]
        assert finding.possible == bool(hits)
        if not hits:
            assert finding.count == 0
            assert finding.span is None
            continue
        fewest = min(way[3] for way in hits)
        best = [way for way in hits if way[3] == fewest]
        assert finding.unanswered == fewest
        tables = list(finding.tables())
        assert finding.count == len(tables)
        assert {(t.positives, t.tp, t.tn) for t in tables} == {way[4] for way in best}
        for table in tables:
            same = [way for way in best if way[4] == (table.positives, table.tp, table.tn)]
            assert table.fp == (min(w[5] for w in same), max(w[5] for w in same))
            assert table.fn == (min(w[6] for w in same), max(w[6] for w in same))
        assert finding.span.fp == (min(t.fp[0] for t in tables), max(t.fp[1] for t in tables))
        assert finding.span.fn == (min(t.fn[0] for t in tables), max(t.fn[1] for t in tables))
        assert finding.span.tp == (min(t.tp for t in tables), max(t.tp for t in tables))
        assert finding.span.tn == (min(t.tn for t in tables), max(t.tn for t in tables))
        assert finding.span.positives == (min(t.positives for t in tables), max(t.positives for t in tables))


@settings(max_examples=200)
@given(st.data())
def test_the_table_that_was_printed_is_found(data):
    """Round trip at real sizes: figures as scikit-learn gives and Python prints them."""
    n = data.draw(st.integers(1, 5000))
    positives = data.draw(st.integers(0, n))
    tp = data.draw(st.integers(0, positives))
    tn = data.draw(st.integers(0, n - positives))
    fp, fn = n - positives - tn, positives - tp
    decimals = data.draw(st.integers(0, 3))
    truth = [1, 0, 1, 0]
    said = [1, 1, 0, 0]
    weights = [tp, fp, fn, tn]
    average = data.draw(st.sampled_from(["binary", "macro"]))
    f1 = f1_score(truth, said, average=average, sample_weight=weights, zero_division=0, labels=[0, 1] if average == "macro" else None)  # fmt: skip
    texts = [f"{100 * (tp + tn) / n:.{decimals}f}", f"{100 * f1:.{decimals}f}"]
    found = {
        f.convention: f for f in check_table(n, [positives], *(read_printed(t, "rounded") for t in texts))
    }
    wanted = Convention.ONE_TABLE if average == "binary" else Convention.MACRO_F1
    assert any((b.correct == tp + tn and tp in b.tp) for b in found[wanted].blocks)


def test_a_value_exactly_between_two_printed_ones_may_have_been_rounded_either_way():
    # 1 of 2000 is 0.05 %: half-up prints 0.1, half-even 0.0.
    for text in ("0.0", "0.1"):
        assert 1 in read_printed(text, "rounded").counts(2000)
    assert 2 not in read_printed("0.0", "truncated").counts(2000)  # 0.1 % exactly
    assert 2 in read_printed("0.1", "truncated").counts(2000)


def test_edges_hold_where_floats_fail():
    # 0.7 of 10 is exactly 70 %, which floats miss: int(0.29 * 100) is 28.
    assert list(read_printed("70.0", "truncated").counts(10)) == [7]
    assert list(read_printed("29.0", "truncated").counts(100)) == [29]
    assert list(read_printed("100.0", "truncated").counts(10)) == [10]
    assert list(read_printed("100", "rounded").counts(200)) == [199, 200]


@pytest.mark.parametrize("n", [100_000])
@pytest.mark.parametrize(
    ("accuracy", "f1"), [("93", "81"), ("20.1", "60.0"), ("95.0", "20.0"), ("99.9", "99.9"), ("85.0", "1.0")]
)
def test_a_hundred_thousand_candidates_are_no_problem(n, accuracy, f1):
    found = check_table(n, [15_000], read_printed(accuracy, "rounded"), read_printed(f1, "rounded"))
    for finding in found:
        for block in finding.blocks[:3]:
            table = next(iter(block.tables()))
            assert table.tp + table.fn[0] + table.tn + table.fp[1] + table.unanswered == n
            assert table.positives == 15_000


def test_numbers_of_positives_are_read_as_people_write_them():
    assert read_positives("229") == [range(229, 230)]
    assert read_positives("190-192, 200,193") == [range(190, 194), range(200, 201)]
    assert runs_of([3, 1, 2, 7]) == [range(1, 4), range(7, 8)]
    assert runs_of(range(5)) == [range(5)]
    for bad in ("", "many", "3-", "-3", "1.5"):
        with pytest.raises(UserError, match="not a number of positives"):
            read_positives(bad)


@pytest.mark.parametrize("text", ["", "abc", "100.1", "-1", "1e1", "nan", "93,1"])
def test_what_is_no_percentage_is_refused(text):
    with pytest.raises(UserError, match="not a percentage"):
        read_printed(text, "rounded")


@pytest.mark.parametrize(("n", "positives"), [(0, [0]), (10, [11]), (10, [])])
def test_impossible_numbers_of_positives_are_refused(n, positives):
    bounds = read_printed("50", "rounded")
    with pytest.raises(UserError, match="do not go together"):
        check_table(n, positives, bounds, bounds)


def test_a_system_that_is_never_right_on_positives_has_f1_of_zero():
    # Always-NO on 229 of 1458: accuracy 1229/1458 = 84.3 %, F1 0.
    (one_table, *_) = check_table(
        1458, [229], read_printed("84.3", "rounded"), read_printed("0.0", "rounded")
    )
    assert [(t.tp, t.fp[0], t.fn[0], t.tn) for t in one_table.tables()] == [(0, 0, 229, 1229)]


@pytest.mark.parametrize("text", ["0-99999999999999", "1000001", "9" * 5000, f"5, 1-{'9' * 400}"])
def test_numbers_that_would_fill_the_memory_are_refused(text):
    with pytest.raises(UserError, match="at most 1,000,000"):
        read_positives(text)
    with pytest.raises(UserError, match="too many candidates"):
        check_table(10**8, None, read_printed("93.1", "rounded"), read_printed("81.0", "rounded"))
