import re
from importlib.resources import files

import pytest

from specvi_benchmark.errors import UserError
from specvi_benchmark.simulator import KINDS
from specvi_benchmark.splits.recipe import load_recipe, matches, refuse_unknown_classes, shipped
from specvi_benchmark.tasks import TASK_KEYS

TEXT = (files("specvi_benchmark.splits") / "recipes" / "mini.yaml").read_text(encoding="utf-8")


def refused(tmp_path, old, new):
    path = tmp_path / "recipe.yaml"
    assert old in TEXT
    path.write_text(TEXT.replace(old, new, 1))
    line = 1 + TEXT[: TEXT.index(old)].count("\n")
    with pytest.raises(UserError) as caught:
        load_recipe(path)
    assert str(path) in str(caught.value)
    return line, str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "key", "said"),
    [
        ("train: [150, 150]", "train: [150, 140]", "sets.0", "train must be balanced"),
        ("test: [50, 250]", "test: [50, 50]", "sets.0", "about 17 % YES"),
        ("  acceptance: 0.8", "  acceptance: 1.8", "weak_classifier.acceptance", "less than 1"),
        ("  folds: 5", "  fold: 5", "weak_classifier.fold", "not permitted"),
        ("    positives: [b-star, be-star]", "    positives: []", "classes.b.positives", "at least 1"),
        ("    reference: lamost", "    # none", "sets.1", "go together"),
        ("    match: snr", "    match: brightness", "sets.0.match", "'snr'"),
        ("    tasks: [qso]", "    tasks: [quasar]", "sets.3.tasks.0", "'quasar'"),
        ("  archive: simulated", "  archive: heavens", "source.archive", "'heavens'"),
        ("    fg-star: 56", "    fg-star: -1", "source.field.fg-star", "greater than 0"),
    ],
)
def test_a_fault_is_told_by_line_and_key(tmp_path, old, new, key, said):
    line, message = refused(tmp_path, old, new)
    assert key in message
    assert said in message
    number = int(re.search(rf"line (\d+), {re.escape(key)}\b", message)[1])
    # A fault of a whole set is told at its first line, which is at most ten lines above.
    assert 0 <= line - number <= (10 if key.startswith("sets") and key.count(".") == 1 else 0)


def test_every_fault_is_in_one_message(tmp_path):
    path = tmp_path / "recipe.yaml"
    path.write_text(TEXT.replace("folds: 5", "folds: 1").replace("trees: 30", "trees: x"))
    with pytest.raises(UserError, match="2 faults in the recipe") as caught:
        load_recipe(path)
    assert "folds" in str(caught.value)
    assert "trees" in str(caught.value)


def test_broken_yaml_missing_files_and_newer_versions_are_told(tmp_path):
    path = tmp_path / "recipe.yaml"
    path.write_text("a: [")
    with pytest.raises(UserError, match="not valid YAML"):
        load_recipe(path)
    with pytest.raises(UserError, match="no such recipe") as caught:
        load_recipe(tmp_path / "none.yaml")
    assert "mini" in str(caught.value)
    path.write_text(TEXT.replace("schema_version: 1", "schema_version: 2"))
    with pytest.raises(UserError, match="newer version"):
        load_recipe(path)


def test_shipped_recipes_ask_for_what_the_issue_asks():
    assert set(shipped()) == {
        "mini",
        "mini-small",
        "specvi-bench",
        "specvi-bench-official-style",
        "cross-survey",
        "cross-task",
        "extreme",
    }
    mini = load_recipe("mini")
    for item in mini.sets:
        assert item.match == "snr"
        assert item.counts["test"].YES >= 40
        if item.track == "main":
            assert sum(item.counts["train"].model_dump().values()) >= 300
            assert sum(item.counts["test"].model_dump().values()) >= 300
    assert {item.track for item in mini.sets} == {"main", "cross-survey", "cross-task", "extreme"}
    assert set(mini.tasks) == set(TASK_KEYS)
    assert 10_000 <= mini.source.size < 100_000


def test_every_kind_of_the_simulator_is_in_the_archive():
    source = load_recipe("mini").source
    assert {*source.field, *source.rare} == set(KINDS)


def test_the_small_preset_is_the_same_recipe_with_fewer_candidates():
    mini, small = load_recipe("mini"), load_recipe("mini-small")
    for whole, part in zip(mini.sets, small.sets, strict=True):
        assert (whole.track, whole.tasks) == (part.track, part.tasks)
        for name, count in whole.counts.items():
            assert round(count.YES * 0.2) == part.counts[name].YES
            assert (
                pytest.approx(part.counts[name].YES * count.NO, abs=count.YES)
                == part.counts[name].NO * count.YES
            )
    assert (mini.classes, mini.weak_classifier) == (small.classes, small.weak_classifier)
    assert "simulated" in small.name


def test_patterns():
    assert matches(frozenset({"cv-polar"}), ["cv-*"])
    assert not matches(frozenset({"wd-plus-m"}), ["wd-*", "!wd-plus-m"])
    assert matches(frozenset({"wd-plus-m", "wd-da"}), ["wd-*", "!wd-plus-m"])
    assert not matches(frozenset(), ["*"])


def test_a_pattern_that_meets_nothing_is_refused():
    mini = load_recipe("mini")
    known = frozenset({*mini.source.field, *mini.source.rare})
    refuse_unknown_classes(mini, known)
    with pytest.raises(UserError, match="meets no class") as caught:
        refuse_unknown_classes(mini, known - {"o-star"})
    assert "o: o-star" in str(caught.value)


def test_a_preset_changes_what_it_names_and_nothing_else(tmp_path):
    lines = [
        "schema_version: 1",
        "name: larger-simulated",
        "same_as: mini",
        "candidates: 1.0",
        "archive: 4.0",
    ]
    (tmp_path / "a.yaml").write_text("\n".join(lines))
    (tmp_path / "b.yaml").write_text("\n".join([*lines, "seed: 5", "overlap: 0.25"]))
    mini, plain, other = load_recipe("mini"), *(load_recipe(tmp_path / name) for name in ("a.yaml", "b.yaml"))
    assert (plain.source.size, plain.seed, plain.sets) == (4 * mini.source.size, mini.seed, mini.sets)
    assert plain.source.overlap == mini.source.overlap
    assert (other.seed, other.source.seed, other.source.overlap) == (5, mini.source.seed, 0.25)
    back = {"seed": mini.seed, "source": plain.source}
    assert other.model_copy(update=back) == plain
