"""Comparison of systems, against brute force, closed forms and SciPy."""

import itertools
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import f1_score

from specvi_benchmark.errors import UserError
from specvi_benchmark.scoring.compare import candidates_to_separate, compare, mcnemar_p, rank
from specvi_benchmark.scoring.compared_metric import parse_metric
from specvi_benchmark.scoring.ledger import CALLS, Group, Rows
from specvi_benchmark.scoring.paired import _Pairs, paired_draws
from specvi_benchmark.scoring.panel import object_strata, panel
from specvi_benchmark.scoring.rank_sets import adjusted_p, holm, rank_sets, single_p

GROUPS = (Group("main", "cv"), Group("main", "cs"))


def rows_of(call, positive, group=None, objects=None, groups=GROUPS[:1]):
    n = len(call)
    return Rows(
        groups,
        np.zeros(n, dtype=int) if group is None else np.asarray(group),
        np.asarray(positive, dtype=bool),
        np.asarray(call),
        np.arange(n) if objects is None else np.asarray(objects),
    )


def random_systems(rng, systems=3, n=120, tasks=2, objects=None, quality=None):
    """Systems of rising quality on shared candidates of which some are hard for all."""
    group = np.arange(n) % tasks
    positive = rng.random(n) < 0.3
    hard = rng.normal(size=n)
    chosen = {}
    for number in range(systems):
        ease = (0.6 + 0.4 * number) if quality is None else quality[number]
        right = hard + rng.normal(size=n) < ease
        call = np.where(right == positive, 0, 1)
        chosen[f"s{number}"] = rows_of(call, positive, group, objects, GROUPS[:tasks])
    return chosen


def metric_of(rows, name="macro-f1"):
    return parse_metric(name, rows.groups)


def brute_force(systems, names, kind, weights, objects):
    """Values, and the standard errors of differences, object by object, with scikit-learn for the values.

    The derivative after an object's weight is taken numerically.
    """
    first = systems[names[0]]
    row_weight = weights[objects]

    def value(rows, w):
        said = np.where(rows.positive, rows.call == 0, rows.call != 1)
        if kind == "accuracy":
            return np.average(said == rows.positive, weights=w)
        if kind in {"mean-accuracy", "brier"}:
            loss = (said != rows.positive) if kind == "mean-accuracy" else (rows.p_yes - rows.positive) ** 2
            return 1 - np.mean(
                [np.average(loss[rows.group == g], weights=w[rows.group == g]) for g in (0, 1)]
            )
        scores = [
            f1_score(rows.positive[rows.group == g], said[rows.group == g], sample_weight=w[rows.group == g])
            for g in range(len(rows.groups))
        ]
        return np.mean(scores)

    values = np.array([value(systems[name], row_weight) for name in names])
    influence = np.empty((len(names), len(weights)))
    for which in range(len(weights)):
        step = np.zeros(len(weights))
        step[which] = 1e-5
        for k, name in enumerate(names):
            up, down = (value(systems[name], (weights + sign * step)[objects]) for sign in (1, -1))
            influence[k, which] = (up - down) / 2e-5
    keys = [
        frozenset(zip(first.group[objects == o].tolist(), first.positive[objects == o].tolist(), strict=True))
        for o in range(len(weights))
    ]
    return values, influence, keys


def spread(difference, weights, keys):
    total = 0.0
    for key in set(keys):
        members = np.array([k == key for k in keys])
        w, d = weights[members], difference[members]
        total += (w * (d - np.average(d, weights=w)) ** 2).sum()
    return total


@pytest.mark.parametrize("kind", ["macro-f1", "accuracy", "mean-accuracy", "brier"])
@pytest.mark.parametrize("shared", [False, True], ids=["one row an object", "several rows an object"])
def test_value_and_error_are_those_of_the_delta_method_object_by_object(kind, shared):
    rng = np.random.default_rng(2)
    objects = np.unique(rng.integers(0, 30, 60), return_inverse=True)[1] if shared else np.arange(60)
    systems = random_systems(rng, n=60, objects=objects)
    for name, rows in systems.items():  # hundredths, so that credits are whole numbers of units
        systems[name] = replace(rows, p_yes=rng.integers(0, 101, 60) / 100)
    names = sorted(systems)
    draws = paired_draws(panel(systems), metric_of(systems["s0"], kind), resamples=2)
    weights = np.ones(objects.max() + 1)
    values, influence, keys = brute_force(systems, names, kind, weights, objects)
    np.testing.assert_allclose(draws.value, values)
    # The kernel: α² / 4 a system and (task, truth), α the change by one more YES of Σ n² / Σ n rows.
    first = systems["s0"]
    kernel = np.zeros(len(names))
    for k, name in enumerate(names):
        rows = systems[name]
        said = np.where(rows.positive, rows.call == 0, rows.call != 1)
        for g, truth in itertools.product((0, 1), (True, False)):
            here = (first.group == g) & (first.positive == truth)
            sizes = np.unique(objects[here], return_counts=True)[1]
            mine = rows.group == g
            tp, fp = (said & rows.positive & mine).sum(), (said & ~rows.positive & mine).sum()
            whole = (rows.positive & mine).sum() + tp + fp
            f1 = 2 * tp / whole
            alpha = {
                "macro-f1": ((2 - f1) if truth else -f1) / whole / 2,
                "accuracy": 1 / len(objects),
            }.get(kind, 1 / mine.sum() / 2)
            kernel[k] += (alpha * (sizes**2).sum() / sizes.sum()) ** 2 / 4
    for k, (a, b) in enumerate(itertools.combinations(range(3), 2)):
        expected = spread(influence[a] - influence[b], weights, keys) + kernel[a] + kernel[b]
        assert draws.error[k] == pytest.approx(np.sqrt(expected), rel=1e-6)


def test_the_error_of_an_accuracy_difference_is_the_discordant_pairs_plus_one():
    # Agresti & Min add ½ to each cell, hence 1 to b + c; theirs divides by n + 2.
    rng = np.random.default_rng(1)
    positive = rng.random(200) < 0.2
    systems = {name: rows_of(rng.integers(0, 2, 200), positive) for name in ("a", "b")}
    draws = paired_draws(panel(systems), metric_of(systems["a"], "accuracy"), resamples=2)
    right = {name: (rows.call == 0) == positive for name, rows in systems.items()}
    change = right["a"].astype(float) - right["b"]
    within = sum(((change[t] - change[t].mean()) ** 2).sum() for t in (positive, ~positive))
    assert draws.error[0] == pytest.approx(np.sqrt(within + 1) / 200)


def test_a_resample_is_measured_as_the_set_it_stands_for():
    """Weights 2, 0, 1, … give the value and the error of a set with those objects twice, never, once, …"""
    rng = np.random.default_rng(4)
    systems = random_systems(rng, n=80)
    whole = panel(systems)
    metric = metric_of(systems["s0"])
    pairs = _Pairs(object_strata(whole, metric.places), metric, 3)
    streams = [np.random.default_rng(k) for k in range(len(pairs.sums))]
    weights = [sums.draw(5, stream) for sums, stream in zip(pairs.sums, streams, strict=True)]
    assert all((w.sum(axis=1) == w.shape[1]).all() for w in weights)
    slopes, covariance, kernel = pairs._measure(weights)
    error = pairs._error(covariance, kernel)
    for number in range(5):
        call, positive, group = [], [], []
        for stratum, weight in zip(object_strata(whole, metric.places), weights, strict=True):
            (label,) = stratum.labels
            times = weight[number].astype(int)
            yes = stratum.yes[:, 0].repeat(times, axis=0)
            call.append(np.where(yes == 1, 0, 1))
            positive += [label % 2 == 0] * len(yes)
            group += [label // 2] * len(yes)
        calls = np.concatenate(call)
        repeated = {f"s{k}": rows_of(calls[:, k], positive, group, None, GROUPS) for k in range(3)}
        expected = paired_draws(panel(repeated), metric, resamples=1)
        np.testing.assert_allclose(slopes.value[:, number], expected.value)
        np.testing.assert_allclose(error[:, number], expected.error)


def test_studentised_differences_are_standard_normal_in_a_large_sample():
    rng = np.random.default_rng(0)
    systems = random_systems(rng, systems=4, n=6000, quality=[0.5, 0.6, 0.7, 0.8])
    draws = paired_draws(panel(systems), metric_of(systems["s0"]), resamples=4000, seed=1)
    np.testing.assert_allclose(draws.studentised.std(axis=0), 1, atol=0.05)
    np.testing.assert_allclose(draws.studentised.mean(axis=0), 0, atol=0.08)
    np.testing.assert_allclose(draws.half_width() / draws.error, 1.96, atol=0.12)
    # The largest of six dependent differences lies between that of one and that of six independent ones.
    joint = draws.joint_half_width() / draws.error
    assert (joint > 2.2).all()
    assert (joint < stats.norm.ppf(1 - 0.025 / 6) + 0.1).all()


def test_identical_systems_do_not_differ():
    rng = np.random.default_rng(3)
    one = random_systems(rng, systems=1)["s0"]
    found = compare({"a": one, "b": one}, resamples=500)
    (pair,) = found.pairs
    assert pair.difference == 0
    assert pair.p == pair.p_adjusted == pair.mcnemar.p == 1
    assert pair.candidates_needed is None
    assert not pair.apart
    assert pair.low < 0 < pair.high  # agreeing on 120 candidates is no proof of agreeing always
    assert [(row.rank_best, row.rank_worst, row.tied_with) for row in found.systems] == [
        (1, 2, ("b",)),
        (1, 2, ("a",)),
    ]


def test_order_of_rows_objects_and_systems_changes_nothing():
    rng = np.random.default_rng(5)
    objects = rng.integers(0, 90, 120)
    systems = random_systems(rng, objects=objects)
    order, names = rng.permutation(120), rng.permutation(1000)
    shuffled = {
        name: Rows(r.groups, r.group[order], r.positive[order], r.call[order], names[r.object_code[order]])
        for name, r in reversed(systems.items())
    }
    assert compare(systems, resamples=300) == compare(shuffled, resamples=300)
    assert compare(systems, resamples=300, seed=1) != compare(systems, resamples=300)


def test_block_size_changes_nothing(monkeypatch):
    systems = random_systems(np.random.default_rng(6))
    whole = compare(systems, resamples=300)
    monkeypatch.setattr("specvi_benchmark.scoring.paired._CHUNK_ENTRIES", 700)
    assert compare(systems, resamples=300) == whole


def test_duplicated_candidates_of_the_same_objects_add_no_information():
    systems = random_systems(np.random.default_rng(7), n=400)
    doubled = {
        name: rows_of(np.tile(r.call, 2), np.tile(r.positive, 2), np.tile(r.group, 2),
                      np.tile(r.object_code, 2), r.groups)
        for name, r in systems.items()
    }  # fmt: skip
    once, twice = compare(systems, resamples=2000), compare(doubled, resamples=2000)
    for a, b in zip(once.pairs, twice.pairs, strict=True):
        assert b.difference == pytest.approx(a.difference)
        assert b.error == pytest.approx(a.error)
        assert (b.low, b.high) == pytest.approx((a.low, a.high))


def test_swapping_yes_and_no_everywhere_keeps_an_accuracy_difference():
    systems = random_systems(np.random.default_rng(8), systems=2)
    swapped = {
        name: rows_of(1 - r.call, ~r.positive, r.group, r.object_code, r.groups)
        for name, r in systems.items()
    }
    (one,), (other,) = (compare(chosen, "accuracy", resamples=300).pairs for chosen in (systems, swapped))
    assert (other.difference, other.error) == pytest.approx((one.difference, one.error))
    assert other.mcnemar == one.mcnemar


def test_one_positive_is_enough_for_a_comparison():
    positive = np.arange(40) == 0
    right = np.where(positive, 0, 1)
    wrong = np.where(positive, 1, 1)
    found = compare({"finds": rows_of(right, positive), "misses": rows_of(wrong, positive)}, resamples=500)
    (pair,) = found.pairs
    assert pair.difference == 1
    assert pair.mcnemar.p == 1  # one discordant candidate
    assert not pair.apart


def test_a_system_that_always_abstains_can_be_compared():
    rng = np.random.default_rng(9)
    systems = random_systems(rng, systems=1)
    one = systems["s0"]
    silent = rows_of(np.full(120, CALLS.index("abstained")), one.positive, one.group, None, one.groups)
    found = compare({"silent": silent, "s0": one}, resamples=500)
    assert found.systems[-1].system == "silent"
    assert found.systems[-1].value == 0
    assert found.pairs[0].apart


def test_without_a_positive_nothing_is_found_apart():
    positive = np.zeros(30, bool)
    loud = {"a": rows_of([0] * 30, positive), "b": rows_of([0] * 15 + [1] * 15, positive)}
    found = compare(loud, resamples=200)
    assert [row.value for row in found.systems] == [0, 0]
    assert not found.pairs[0].apart


def test_undefined_and_incomplete_systems_are_shown_without_a_rank():
    positive = np.zeros(30, bool)
    calls = [CALLS.index("error")] + [1] * 29
    found = compare(
        {
            "silent": rows_of([1] * 30, positive),
            "broken": rows_of(calls, positive),
            "loud": rows_of([0] * 30, positive),
        },
        resamples=50,
    )
    assert [row.system for row in found.systems] == ["loud"]
    assert [row.system for row in found.left_out] == ["broken", "silent"]
    assert "too many errors" in found.left_out[0].reason
    assert "undefined" in found.left_out[1].reason
    assert found.pairs == ()


def test_errors_on_another_track_do_not_unrank_a_system():
    groups = (Group("main", "cv"), Group("cross-task", "o"))
    positive, group = np.tile([True, False], 20), np.repeat([0, 1], 20)
    learnt = [0, 1] * 10 + [CALLS.index("error")] * 20
    systems = {
        name: rows_of(calls, positive, group, None, groups)
        for name, calls in (("a", learnt), ("b", [0] * 40))
    }
    main, other = (compare(systems, track=track, resamples=50) for track in ("main", "cross-task"))
    assert [row.system for row in main.systems] == ["a", "b"]
    assert [row.system for row in other.left_out] == ["a"]


def test_systems_on_other_candidates_are_refused():
    a = rows_of([0, 1], [True, False])
    b = rows_of([0, 1], [True, True])
    with pytest.raises(ValueError, match="other candidates"):
        compare({"a": a, "b": b})
    with pytest.raises(ValueError, match="nothing"):
        compare({})


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_exact_binomial_test(b, c):
    # Twice the tail of Binomial(b + c, ½), at most 1.
    p = mcnemar_p(b, c)
    assert p == pytest.approx(min(1, 2 * stats.binom.cdf(min(b, c), b + c, 0.5)))
    assert p == mcnemar_p(c, b)


def test_mcnemar_counts_are_those_of_the_two_systems():
    positive = np.array([True] * 4 + [False] * 6)
    a = rows_of([0, 0, 0, 1] + [1] * 6, positive)  # one wrong
    b = rows_of([0, 1, 1, 0, 0, 0, 1, 1, 1, CALLS.index("refused")], positive)  # five wrong
    (pair,) = compare({"b": b, "a": a}, "accuracy", resamples=200).pairs
    assert (pair.higher, pair.lower) == ("a", "b")
    m = pair.mcnemar
    assert (m.both_right, m.only_higher, m.only_lower, m.both_wrong) == (4, 5, 1, 0)
    assert m.p == pytest.approx(stats.binomtest(5, 6, 0.5).pvalue)
    assert pair.difference == pytest.approx(0.4)


def test_step_down_is_the_one_done_by_hand():
    rng = np.random.default_rng(10)
    draws = paired_draws(
        panel(random_systems(rng, systems=4, n=300, quality=[0.2, 0.5, 0.55, 1.5])),
        parse_metric("macro-f1", GROUPS),
        resamples=999,
    )
    observed = (abs(draws.difference) / draws.error).astype(np.float32)
    p = adjusted_p(draws)
    left = set(range(len(observed)))
    last = 0.0
    while left:
        top = max(left, key=lambda k: observed[k])
        largest = abs(draws.studentised[:, sorted(left)]).max(axis=1)
        last = max(last, ((largest >= observed[top]).sum() + 1) / 1000)
        assert p[top] == pytest.approx(last)
        left.remove(top)
    assert (p >= single_p(draws)).all()


def test_rank_sets_count_who_is_better_and_who_is_worse():
    systems = random_systems(np.random.default_rng(11), systems=3)
    draws = paired_draws(panel(systems), metric_of(systems["s0"]), resamples=20)
    # Pairs are (0, 1), (0, 2), (1, 2); s2 is the best of them.
    assert (draws.difference[1:] < 0).all()
    best, worst = rank_sets(draws, np.array([False, True, False]))
    assert best.tolist() == [2, 1, 1]
    assert worst.tolist() == [3, 3, 2]


def test_holm_is_the_textbook_one():
    assert holm(np.array([0.01, 0.04, 0.03, 0.005])) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm(np.array([0.9, 0.8])).tolist() == [1, 1]


def test_a_margin_tells_equivalent_systems_from_open_ones():
    rng = np.random.default_rng(12)
    one = random_systems(rng, systems=1, n=3000)["s0"]
    flipped = one.call.copy()
    flipped[:6] = 1 - flipped[:6]
    other = rows_of(flipped, one.positive, one.group, None, one.groups)
    (pair,) = compare({"a": one, "b": other}, margin=0.05, resamples=500).pairs
    assert pair.equivalent
    assert -0.05 < pair.joint_low <= pair.low <= pair.high <= pair.joint_high < 0.05
    (pair,) = compare({"a": one, "b": other}, margin=0.001, resamples=500).pairs
    assert pair.equivalent is False
    assert compare({"a": one, "b": other}, resamples=50).pairs[0].equivalent is None


@pytest.mark.parametrize(
    ("text", "places", "kind"),
    [
        ("macro-f1", (0, 1), "f1"),
        ("accuracy", (0, 1), "accuracy"),
        ("F1:cs", (1,), "f1"),
        ("accuracy:cv", (0,), "accuracy"),
        ("mean-accuracy", (0, 1), "mean-accuracy"),
        ("brier", (0, 1), "brier"),
    ],
)
def test_metrics_are_read_by_name(text, places, kind):
    metric = parse_metric(text, (*GROUPS, Group("extreme", "cv")))
    assert (metric.places, metric.kind, metric.track) == (places, kind, "main")
    assert parse_metric("f1:cv", (*GROUPS, Group("extreme", "cv")), "extreme").places == (2,)


@pytest.mark.parametrize("text", ["f2", "f1", "macro-f1:cv", "f1:wd", ""])
def test_other_metrics_are_refused(text):
    with pytest.raises(UserError):
        parse_metric(text, GROUPS)


def test_the_number_needed_gives_the_power_it_promises():
    # Accuracy 0.80 against 0.75, discordant 0.13 and 0.08: the power of a z-test at the number given.
    n = candidates_to_separate(0.05, np.sqrt(0.21 - 0.05**2) / np.sqrt(1000), 1000)
    rng = np.random.default_rng(0)
    b, c, _ = rng.multinomial(n, [0.13, 0.08, 0.79], size=4000).T
    z = (b - c) / np.sqrt(b + c - (b - c) ** 2 / n)
    assert (z > 1.96).mean() == pytest.approx(0.8, abs=0.03)
    assert candidates_to_separate(0.0, 0.1, 100) is None


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.integers(4, 40))
def test_a_comparison_always_makes_sense(seed, systems, n):
    rng = np.random.default_rng(seed)
    positive, group = rng.random(n) < 0.4, np.arange(n) % 2
    objects = rng.integers(0, n, n)
    chosen = {
        f"s{k}": rows_of(rng.choice([0, 1, 2, 3], n), positive, group, objects, GROUPS)
        for k in range(systems)
    }
    found = compare(chosen, resamples=60, margin=0.1)
    assert len(found.systems) + len(found.left_out) == systems
    values = [row.value for row in found.systems]
    assert values == sorted(values, reverse=True)
    for place, row in enumerate(found.systems, start=1):
        assert row.rank_best <= place <= row.rank_worst
        assert row.rank_worst - row.rank_best == len(row.tied_with)
    for pair in found.pairs:
        assert 0 < pair.p <= pair.p_adjusted <= 1
        assert pair.difference >= 0
        assert pair.joint_low <= pair.low <= pair.difference <= pair.high <= pair.joint_high
        assert sum((pair.mcnemar.both_right, pair.mcnemar.only_higher, pair.mcnemar.only_lower,
                    pair.mcnemar.both_wrong)) == n  # fmt: skip


@pytest.mark.slow
def test_the_number_of_threads_changes_nothing():
    code = (
        "import numpy as np, hashlib\n"
        "from specvi_benchmark.scoring.simulation import many_systems\n"
        "from specvi_benchmark.scoring.compare import compare\n"
        "print(hashlib.sha256(compare(many_systems(systems=12, candidates=2000), resamples=400)"
        ".model_dump_json().encode()).hexdigest())\n"
    )
    said = set()
    for threads in ("1", "2", "5"):
        variables = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), threads)
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | variables,
            capture_output=True,
            text=True,
            check=True,
        )
        said.add(done.stdout)
    assert len(said) == 1


def test_a_brier_ranking_of_zeros_and_ones_is_that_of_accuracy():
    """(p − truth)² is then 0 or 1, and 1 less its mean the accuracy."""
    systems = random_systems(np.random.default_rng(3), systems=6, n=300, quality=[0, 0.4, 0.5, 1, 1.1, 2])
    sure = {name: replace(rows, p_yes=(rows.call == 0).astype(float)) for name, rows in systems.items()}
    by_accuracy = rank(sure, "mean-accuracy", resamples=2000)
    by_brier = rank(sure, "brier", resamples=2000)
    assert [one.system for one in by_accuracy.sets] != [one.system for one in by_accuracy.sets[::-1]]
    assert any(one.rank_best > 1 for one in by_accuracy.sets)  # something is found
    assert by_brier.sets == by_accuracy.sets
    np.testing.assert_allclose(by_brier.errors, by_accuracy.errors)
    # A mean over tasks of one size is the accuracy of all together.
    assert by_accuracy.sets == rank(sure, "accuracy", resamples=2000).sets


def test_the_lowest_brier_score_comes_first_and_a_system_without_p_is_not_ranked():
    rng = np.random.default_rng(5)
    systems = random_systems(rng, systems=4, n=400)
    truth = systems["s0"].positive
    near, far = (np.clip(truth + move * rng.normal(size=400), 0, 1) for move in (0.1, 0.6))
    holes = np.where(np.arange(400) < 3, np.nan, near)
    p = {"s0": far, "s1": near, "s2": None, "s3": holes}
    found = rank({n: replace(r, p_yes=p[n]) for n, r in systems.items()}, "brier", resamples=500)
    assert [(one.system, one.rank_best, one.rank_worst) for one in found.sets] == [("s1", 1, 1), ("s0", 2, 2)]
    reasons = {one.system: one.reason for one in found.left_out}
    assert reasons == {
        "s2": "the system gives no probability",
        "s3": "no P(YES) for 3 of 400 candidates",
    }
    with pytest.raises(UserError, match="Brier"):
        compare(systems, "brier")


def test_mean_accuracy_weighs_tasks_alike():
    rng = np.random.default_rng(6)
    group = (np.arange(300) >= 250).astype(int)
    positive = rng.random(300) < 0.5
    calls = {name: rng.integers(0, 2, 300) for name in "ab"}
    systems = {name: rows_of(call, positive, group, None, GROUPS) for name, call in calls.items()}
    found = {row.system: row for row in compare(systems, "mean-accuracy", resamples=500).systems}
    for name, call in calls.items():
        right = (call == 0) == positive
        expected = (right[:250].mean() + right[250:].mean()) / 2
        assert found[name].value == pytest.approx(expected)
        assert found[name].low < expected < found[name].high
