"""The recipes for real surveys, run on a small archive with made-up catalogue tables; label traps and evidence."""

import csv
import importlib.util
import shutil
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from specvi_benchmark.archive.known.label import label_by_catalogues
from specvi_benchmark.archive.known.rules import LabelRules, load_rules
from specvi_benchmark.archive.labelling import Known, label_archive
from specvi_benchmark.archive.labels import read_set
from specvi_benchmark.archive.source import StoredArchive
from specvi_benchmark.cli.main import main
from specvi_benchmark.errors import UserError
from specvi_benchmark.splits.build import build_split
from specvi_benchmark.splits.recipe import load_recipe, matches, open_archive, refuse_unknown_classes
from specvi_benchmark.splits.refresh import refresh_split
from specvi_benchmark.splits.verify import verify_split

HERE = Path(__file__).parent
RECIPES = ("specvi-bench", "specvi-bench-official-style", "cross-survey", "cross-task", "extreme")
MISSING = "li-2018"  # an optional table: there is none


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


sky = load(HERE / "known_sky.py")


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    folder = tmp_path_factory.mktemp("known")
    rows = sky.build(folder / "archive", 1700)
    sky.write_tables(folder / "tables", rows)
    report = label_by_catalogues(folder / "archive", folder / "tables", load_rules(), "known-objects")
    return folder, rows, report


@pytest.fixture(scope="module")
def labelled(known):
    folder, rows, _ = known
    archive = StoredArchive.open(folder / "archive", labels="known-objects")
    records = {}
    for shard in range(archive.shards):
        for record in archive.read_shard(shard):
            records[f"lamost:DR10:{record.spectrum.survey_id}"] = record
    return records, {row.id: row for row in rows}


def test_every_shipped_recipe_reads_and_asks_for_classes_that_the_rules_give():
    classes = frozenset(load_rules().classes)
    for name in RECIPES:
        recipe = load_recipe(name)
        refuse_unknown_classes(recipe, classes)
        with pytest.raises(UserError, match="from an archive"):
            open_archive(recipe)


def test_recipes_ask_for_what_they_should():
    bench, style = load_recipe("specvi-bench"), load_recipe("specvi-bench-official-style")
    assert set(bench.tasks) == {"cv", "cs", "ss", "mg", "wd"}
    assert {item.positives_filter for item in bench.sets} == {"same_threshold"}
    assert {item.positives_filter for item in style.sets} == {"none"}
    assert set(style.sets[0].counts) == {"train", "test"}
    assert bench.classes == style.classes
    cross = load_recipe("cross-survey")
    assert [(item.surveys, item.reference, set(item.tasks)) for item in cross.sets] == [
        (("sdss",), "lamost", {"cv", "cs", "mg"}),
        (("desi",), "lamost", {"cv", "cs", "mg"}),
    ]
    assert all(set(item.counts) == {"test"} for item in cross.sets)
    assert set(load_recipe("cross-task").tasks) == {"o", "b", "a"}
    extreme = {task: item for item in load_recipe("extreme").sets for task in item.tasks}
    assert extreme["cv"].quality.snr[1] == 5.0
    for name in RECIPES:  # one meaning of a class in every recipe
        for task, wanted in load_recipe(name).classes.items():
            others = [load_recipe(other).classes.get(task) for other in RECIPES]
            assert all(other in (None, wanted) for other in others)


def _raised(item):
    if item.quality is None:
        return item
    return item.model_copy(update={"quality": item.quality.model_copy(update={"snr": (1.0, 25.0)})})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "scale"),
    [
        ("specvi-bench", 0.02),
        ("specvi-bench-official-style", 0.02),
        ("cross-survey", 0.04),
        ("extreme", 0.04),
        ("cross-task", 0.04),
    ],
)
def test_a_recipe_builds_a_sound_split(known, labelled, tmp_path, name, scale):
    folder, _, _ = known
    recipe = load_recipe(name).scaled(scale, 1)
    # Two thousand spectra hold no one in a thousand who passes 0.8: the archive is small, so is the threshold.
    weak = recipe.weak_classifier.model_copy(update={"acceptance": 0.02})
    recipe = recipe.model_copy(update={"weak_classifier": weak})
    if name == "extreme":  # nor enough variables below 5 to learn from
        recipe = recipe.model_copy(update={"sets": tuple(_raised(item) for item in recipe.sets)})
    split = build_split(recipe, archive=open_archive(recipe, folder / "archive"), work=folder / "work")
    failing = [check for check in verify_split(split) if check.verdict == "FAILS"]
    assert failing == []
    truth = {row.id: row for row in labelled[1].values()}
    prefixes = {"cv": "cv-", "cs": "carbon-", "ss": "s-star", "mg": "m-giant", "wd": "wd-", "qso": "quasar",
                "o": "o-star", "b": "b-star", "a": "a-star"}  # fmt: skip
    for c in split.candidates:
        row = truth[f"{c.spectrum.survey}:{c.spectrum.release}:{c.spectrum.survey_id}"]
        assert (c.truth == "YES") == row.kind.startswith(prefixes[c.task.key])
        assert c.label_source.startswith("known-objects 1: inspected, lamost-cv")
        assert MISSING in c.label_source.split("without")[1]
        if c.truth == "YES":
            assert any(entry["cites"] for entry in c.label_evidence["catalogues"])
    if name == "cross-survey":
        surveys = Counter(c.spectrum.survey for c in split.candidates)
        assert surveys["lamost"] == surveys["sdss"] + surveys["desi"]
        assert {c.part for c in split.candidates} == {"test"}
    if name == "extreme":
        assert all(1 <= c.spectrum.snr < 25 for c in split.select(task="cv").candidates)


def test_labels_name_every_class_that_the_rules_can_give(known):
    """A recipe asks for classes that a small archive may hold none of: its patterns must meet them all the same."""
    assert set(read_set(known[0] / "archive", "known-objects").classes) == set(load_rules().classes)


def test_members_are_known_by_the_tables_and_no_trap_is_a_member(labelled):
    records, truth = labelled
    for key, record in records.items():
        kind, names = truth[key].kind, record.known_as
        assert ("cv" in names) == kind.startswith("cv-")
        assert ("quasar" in names) == (kind == "quasar")
        assert ("barium-star" in names) == (kind == "barium-star")
        if kind == "barium-star":  # it stands in a carbon table
            assert "carbon-star" not in names
        if "m-giant" in names:
            assert kind == "m-giant"


def test_a_giant_that_is_a_carbon_star_is_doubtful_as_giant_and_says_why(labelled, known):
    records, _ = labelled
    found = [record for record in records.values() if "doubtful-m-giant" in record.known_as]
    assert found
    assert known[2].doubtful["m-giant"] == len({record.object_id for record in found})
    for record in found:
        assert "carbon-star" in record.known_as
        assert record.evidence["doubts"] == ["m-giant: a giant that is a carbon star"]
        assert {entry["catalogue"] for entry in record.evidence["catalogues"]} >= {"li-2023", "li-2024"}


@pytest.fixture(scope="module")
def small_archive(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small") / "archive"
    return folder, sky.build(folder, 60)


@pytest.fixture
def tiny(tmp_path, small_archive):
    """Return (archive, tables, rows): sixty objects, and only the tables that a test writes."""
    shutil.copytree(small_archive[0], tmp_path / "archive")
    (tmp_path / "tables").mkdir()
    return tmp_path / "archive", tmp_path / "tables", small_archive[1]


def rules(**catalogues):
    more = {"changing": ["cv"], "traps": []} if any("cv" in str(item) for item in catalogues.values()) else {}
    return LabelRules.model_validate(
        {
            "schema_version": 1, "name": "test", "version": "1", **more,
            "catalogues": {
                key: {"files": [f"{key}.*"], "cites": f"{key} et al.", "address": "here", **item}
                for key, item in catalogues.items()
            },
        }
    )  # fmt: skip


def records_of(archive):
    stored = StoredArchive.open(archive, labels="k")
    return [record for shard in range(stored.shards) for record in stored.read_shard(shard)]


def test_another_visit_of_a_changing_star_is_known_but_not_decidable(tiny):
    archive, tables, rows = tiny
    visits = {}
    for row in rows:
        if row.survey == "lamost":
            visits.setdefault(row.object_id, []).append(row)
    twice = next(found for found in visits.values() if len(found) == 2)
    sky.write_table(tables / "a.csv", ["obsid"], [(twice[0].obsid,)])
    report = label_by_catalogues(archive, tables, rules(a={"classes": [{"as": "cv"}]}), "k")
    found = {record.spectrum.survey_id: record for record in records_of(archive)}
    first, second = (found[row.obsid] for row in twice)
    assert first.object_id == second.object_id
    assert (first.known_as, second.known_as) == ({"cv"}, {"cv"})
    assert (first.decidable, second.decidable) == (True, False)
    assert "another spectrum" in second.evidence["undecidable_because"]
    assert first.evidence["catalogues"][0]["names_this_spectrum"]
    assert sum(report.undecidable.values()) >= 1


def test_a_label_by_position_says_nothing_certain_of_a_changing_star(tiny):
    archive, tables, rows = tiny
    star = next(row for row in rows if row.survey == "lamost")
    sky.write_table(tables / "a.csv", ["ra", "dec"], [(star.ra, star.dec)])
    label_by_catalogues(archive, tables, rules(a={"classes": [{"as": "cv"}]}), "k")
    assert [r.decidable for r in records_of(archive) if "cv" in r.known_as] == [False] * sum(
        row.object_id == star.object_id and row.survey == "lamost" for row in rows
    )


def test_medium_resolution_alone_makes_no_member(tiny):
    archive, tables, rows = tiny
    own = [row for row in rows if row.survey == "lamost"]
    sky.write_table(tables / "m.csv", ["obsid"], [(row.obsid,) for row in own[:2]])
    sky.write_table(tables / "low.csv", ["obsid"], [(own[1].obsid,)])
    found = rules(
        m={"classes": [{"as": "s-star"}], "resolution": "medium"}, low={"classes": [{"as": "s-star"}]}
    )
    label_by_catalogues(archive, tables, found, "k")
    names = {record.spectrum.survey_id: record.known_as for record in records_of(archive)}
    assert names[own[0].obsid] == {"doubtful-s-star"}
    assert names[own[1].obsid] == {"s-star"}


def test_the_command_labels_and_says_what_it_found(tiny, capsys):
    archive, tables, rows = tiny
    own = [row for row in rows if row.survey == "lamost"]
    sky.write_table(tables / "a.csv", ["obsid"], [(own[0].obsid,), ("1",)])
    (tables / "rules.yaml").write_text(
        "{schema_version: 1, name: mine, version: '2', catalogues: "
        "{a: {files: [a.csv], cites: A, address: here, classes: [{as: wd}]}}}"
    )
    arguments = ["archive", "know", archive, tables, "--rules", tables / "rules.yaml", "--name", "mine"]
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    assert not ended.value.code
    out = capsys.readouterr().out
    assert "a: 1 of 2 rows are in the archive" in out
    stored = StoredArchive.open(archive, labels="mine")
    assert stored.label_source == "mine 2: a"
    assert sum("wd" in record.known_as for record in stored.read_shard(0)) >= 1


def test_a_needed_table_that_lacks_is_refused_and_may_be_admitted(tiny):
    archive, tables, rows = tiny
    sky.write_table(tables / "a.csv", ["obsid"], [(rows[0].obsid,)])
    found = rules(a={"classes": [{"as": "wd"}]}, b={"classes": [{"as": "wd"}]})
    with pytest.raises(UserError, match="tables are lacking") as caught:
        label_by_catalogues(archive, tables, found, "k")
    assert "b et al." in str(caught.value)
    label_by_catalogues(archive, tables, found, "k", without=["b"])
    assert StoredArchive.open(archive, labels="k").label_source == "test 1: a (without b)"
    with pytest.raises(UserError, match="no such catalogue"):
        label_by_catalogues(archive, tables, found, "k", without=["c"])


def test_a_column_that_is_not_there_is_told_with_those_that_are(tiny):
    archive, tables, rows = tiny
    sky.write_table(tables / "a.csv", ["obsid", "Kind"], [(rows[0].obsid, "Ba")])
    found = rules(a={"classes": [{"as": "barium-star", "column": ["Type"], "like": ["Ba*"]}]})
    with pytest.raises(UserError, match="column that the table lacks") as caught:
        label_by_catalogues(archive, tables, found, "k")
    assert "Kind" in str(caught.value)


def test_what_was_fetched_by_a_list_is_not_ordinary(tiny):
    archive, tables, rows = tiny
    own = [row for row in rows if row.survey == "lamost"]
    sky.write_table(tables / "a.csv", ["obsid"], [(own[0].obsid,)])
    sky.write_table(tables / "drawn.csv", ["obsid"], [(row.obsid,) for row in own[10:20]])
    found = rules(a={"classes": [{"as": "wd"}]})
    label_by_catalogues(archive, tables, found, "k", ordinary=tables / "drawn.csv")
    ordinary = {record.spectrum.survey_id for record in records_of(archive) if record.random}
    assert ordinary == {row.obsid for row in own[10:20]}


def far_apart(rows):
    """Two stars of LAMOST that are seen once, as (row of the archive, row of the archive)."""
    seen = Counter(row.object_id for row in rows if row.survey == "lamost")
    return [row for row in rows if row.survey == "lamost" and seen[row.object_id] == 1][:2]


@pytest.mark.parametrize("changing", [False, True])
def test_where_id_and_position_of_a_row_contradict_each_other_both_places_are_doubtful(tiny, changing):
    """A mistyped obsid: the white dwarf is at one of the two places. Neither may become a certain YES or a NO."""
    archive, tables, rows = tiny
    named, meant = far_apart(rows)
    sky.write_table(tables / "a.csv", ["obsid", "ra", "dec"], [(named.obsid, meant.ra, meant.dec)])
    name = "cv" if changing else "wd"
    report = label_by_catalogues(archive, tables, rules(a={"classes": [{"as": name}]}), "k")
    found = {record.spectrum.survey_id: record for record in records_of(archive)}
    for row in (named, meant):
        assert found[row.obsid].known_as == {f"doubtful-{name}"}
        assert "contradict" in found[row.obsid].evidence["doubts"][0]
    assert sum(bool(record.known_as) for record in found.values()) == 2
    assert report.remarks == (
        "a: 1 rows share an id with a spectrum that lies elsewhere; what is at either place is doubtful",
    )


def test_a_contradicted_row_takes_no_certainty_from_a_sound_one(tiny):
    archive, tables, rows = tiny
    named, meant = far_apart(rows)
    sky.write_table(tables / "a.csv", ["obsid", "ra", "dec"], [(named.obsid, meant.ra, meant.dec)])
    sky.write_table(tables / "b.csv", ["obsid"], [(meant.obsid,)])
    wd = {"classes": [{"as": "wd"}]}
    label_by_catalogues(archive, tables, rules(a=wd, b=wd), "k")
    found = {record.spectrum.survey_id: record.known_as for record in records_of(archive)}
    assert (found[named.obsid], found[meant.obsid]) == ({"doubtful-wd"}, {"wd"})


def test_no_class_that_is_doubtful_is_a_negative_of_its_task():
    """Whatever class a row has: if the row is contradicted, the object is no negative where it would not be as member."""
    for name in RECIPES:
        for wanted in load_recipe(name).classes.values():
            for known_as in load_rules().classes:
                if known_as.startswith("doubtful-"):
                    bare = frozenset({known_as.removeprefix("doubtful-")})
                    member = matches(bare, wanted.positives) or matches(bare, wanted.never_negative)
                    assert not member or matches(frozenset({known_as}), wanted.never_negative)


def test_a_running_number_called_id_hides_no_position(tiny):
    """lamost-dr1-be-stars.csv has the columns id (1, 2, …) and designation: rows are found by position all the same."""
    archive, tables, rows = tiny
    star, _ = far_apart(rows)
    sky.write_table(tables / "a.csv", ["id", "ra", "dec"], [(1, star.ra, star.dec)])
    label_by_catalogues(archive, tables, rules(a={"classes": [{"as": "wd"}]}), "k")
    assert {record.spectrum.survey_id for record in records_of(archive) if record.known_as} == {star.obsid}


def test_a_table_that_places_no_row_is_refused(tiny):
    archive, tables, _ = tiny
    sky.write_table(tables / "a.csv", ["id", "RA (1900)", "DEC (1900)"], [(1, 10.0, 5.0)])
    with pytest.raises(UserError, match="which object it is about") as caught:
        label_by_catalogues(archive, tables, rules(a={"classes": [{"as": "wd"}]}), "k")
    assert "VizieR" in str(caught.value)


def test_pipeline_classes_without_a_digit_are_claims_too(shared_data):
    """SDSS templates of O stars are called O and OB (six of each in a real list): such a star is no NO for the task o."""
    with (shared_data / "real/catalogs/sdss_pipeline_template_inputs.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    task = {"O": "o", "OB": "o", "B": "b", "A": "a"}
    claims, recipe = load_rules().claims, load_recipe("cross-task")
    told = [row for row in rows if row["class"] in task]
    assert Counter(row["class"] for row in told) == {"B": 30, "O": 6, "OB": 6, "A": 5}
    for row in told:
        names = frozenset(claim.as_ for claim in claims if claim.fits(None, row["subclass"]))
        assert matches(names, recipe.classes[task[row["class"]]].never_negative), row


@pytest.mark.slow
def test_a_refresh_knows_its_objects_when_the_archive_calls_them_otherwise(known, tmp_path):
    """Spectra get Gaia ids, so ``position-…`` becomes ``gaia-…``: no star of the old split may come again."""
    folder, rows, _ = known
    shutil.copytree(folder / "archive", tmp_path / "archive")
    recipe = load_recipe("specvi-bench").scaled(0.01, 1)
    weak = recipe.weak_classifier.model_copy(update={"acceptance": 0.02})
    recipe = recipe.model_copy(update={"weak_classifier": weak})
    old = build_split(recipe, archive=open_archive(recipe, tmp_path / "archive"), work=folder / "work")
    star = {row.id: row.object_id for row in rows}
    names = {name: number for number, name in enumerate(dict.fromkeys(star.values()), start=10**18)}
    stored = StoredArchive.open(tmp_path / "archive", labels="known-objects")
    again = {}
    for row, record in zip((r for r in rows if r.survey == "lamost"), _lamost(stored), strict=True):
        again[row.id] = Known(
            record.known_as, record.evidence, record.decidable, record.random, names[star[row.id]]
        )
    wd = next(c for c in old.candidates if (c.task.key, c.truth) == ("wd", "YES"))
    refuted = star[f"lamost:DR10:{wd.spectrum.survey_id}"]
    again = {id_: replace(one, known_as=frozenset({"border-ba-star"})) if star[id_] == refuted else one
             for id_, one in again.items()}  # fmt: skip
    label_archive(tmp_path / "archive", "known-objects", "again", again, load_rules().classes)
    newer = recipe.model_copy(update={"version": "2"})
    done = refresh_split(old, newer, archive=open_archive(newer, tmp_path / "archive"), work=folder / "work")
    shown = {star[f"lamost:DR10:{c.spectrum.survey_id}"] for c in old.candidates}
    fresh = {star[f"lamost:DR10:{c.spectrum.survey_id}"] for c in done.fresh.candidates}
    assert all(c.object_id_source == "position" for c in old.candidates)
    assert all(c.object_id_source == "gaia" for c in done.fresh.candidates)
    assert len(fresh) > 50
    assert not shown & fresh
    assert [item.id for item in done.withdrawn] == [wd.id]
    assert done.not_there == 0


def _lamost(stored):
    return [record for shard in range(stored.shards) for record in stored.read_shard(shard)]
