"""An ingested archive screened, and a split built from it: as from the simulated sky itself."""

import hashlib
import json
import shutil
import subprocess
import sys
import time

import astropy.units as u
import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml
from astropy.coordinates import SkyCoord
from hypothesis import given, settings
from hypothesis import strategies as st

from specvi_benchmark.archive.ingest.simulated import ingest_simulated
from specvi_benchmark.archive.labelling import label_archive, read_known, write_list
from specvi_benchmark.archive.objects import group_objects
from specvi_benchmark.archive.screen import apply_classifiers, engine, screen_archive
from specvi_benchmark.archive.screen.screen import screened_folder
from specvi_benchmark.archive.source import StoredArchive
from specvi_benchmark.archive.store import Store
from specvi_benchmark.cli.main import main
from specvi_benchmark.errors import UserError
from specvi_benchmark.splits import screening
from specvi_benchmark.splits.archive import Key
from specvi_benchmark.splits.build import build_split
from specvi_benchmark.splits.recipe import Recipe, StoredSource, load_recipe, open_archive


def toy():
    """Return a recipe of one task on two tracks, whose archive takes seconds."""
    mini = load_recipe("mini").model_dump(mode="json")
    source = mini["source"] | {
        "size": 1200,
        "field": {"fg-star": 3, "k-giant": 1},
        "rare": {"cv-quiescent": 3, "cv-polar": 1, "be-star": 3, "planetary-nebula": 3},
        "overlap": 0.3,
        "second_visit": 0.3,
    }
    rule = {"tasks": ["cv"], "positives_filter": "same_threshold"}
    sets = [
        rule | {"track": "main", "counts": {"train": [10, 10], "test": [5, 25]}},
        rule
        | {"track": "cross-survey", "surveys": ["sdss"], "reference": "lamost", "counts": {"test": [2, 10]}},
    ]
    return Recipe.model_validate(mini | {"name": "toy-simulated", "source": source, "sets": sets})


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sky") / "archive"
    done = ingest_simulated(open_archive(toy()), folder)
    assert done.rounded == 0
    return folder


@pytest.fixture(scope="module")
def screened(archive, tmp_path_factory):
    out = tmp_path_factory.mktemp("screened") / "out"
    with engine("local") as pool:
        done = screen_archive(StoredArchive.open(archive, labels="simulated"), toy(), out, pool)
    return out, done


def content(folder):
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def test_records_are_those_of_the_sky_that_was_ingested(archive):
    sky, stored = open_archive(toy()), StoredArchive.open(archive, labels="simulated")
    assert stored.shards == sky.shards == 3
    assert stored.classes == sky.classes
    for one, other in zip(sky.read_shard(2), stored.read_shard(2), strict=True):
        assert one.spectrum.flux.tobytes() == other.spectrum.flux.tobytes()
        assert one.spectrum.claims == other.spectrum.claims
        assert (one.object_id, one.known_as, one.evidence) == (
            other.object_id,
            other.known_as,
            other.evidence,
        )
        assert (one.decidable, one.random) == (other.decidable, other.random)
    keys = [Key(2, 7), Key(0, 499), Key(2, 3)]
    for one, other in zip(sky.read(keys), stored.read(keys), strict=True):
        assert one.spectrum.survey_id == other.spectrum.survey_id


def test_a_counterpart_is_of_the_same_object_and_serves_one_spectrum(archive):
    stored = StoredArchive.open(archive, labels="simulated")
    seen = []
    for row, record in enumerate(stored.read_shard(0)):
        other = stored.counterpart(Key(0, row), "sdss")
        if other is not None:
            assert other.object_id == record.object_id
            assert other.spectrum.survey == "simulated-sdss"
            seen.append(other.spectrum.survey_id)
    assert len(seen) == len(set(seen)) > 50
    assert stored.counterpart(Key(0, 3), "lamost").object_id == next(stored.read([Key(0, 3)])).object_id
    assert stored.counterpart(Key(0, 3), "gaia") is None


@pytest.mark.slow
def test_a_split_from_the_archive_is_that_from_the_sky(archive, tmp_path):
    stored = StoredArchive.open(archive, labels="simulated")
    one = build_split(toy(), work=tmp_path / "one")
    other = build_split(toy(), archive=stored, work=tmp_path / "other", processes=2)
    assert one.fingerprint == other.fingerprint
    assert one.report == other.report
    assert other.recipe["archive"]["archive"] == "stored"


def test_scores_stand_in_the_order_of_the_archive(archive, screened):
    out, done = screened
    assert (done.spectra, done.new) == (1200, 1200)
    scores = pq.read_table(out / "scores.parquet")
    stored = StoredArchive.open(archive, labels="simulated")
    assert scores.column("id").to_pylist() == stored.ids().to_pylist()
    assert done.accepted["cv"] == int((np.asarray(scores.column("score_cv")) > 0.8).sum())
    known = scores.column("known_as").to_pylist()
    above = np.asarray(scores.column("score_cv")) > 0.8
    others = [row for row in np.flatnonzero(above) if not known[row][0].startswith("cv-")]
    lines = (out / "candidates.csv").read_text().splitlines()[1:]
    assert len(lines) == len(others) == done.candidates["cv"] > 0
    told = [float(line.split(",")[2]) for line in lines]
    assert told == sorted(told, reverse=True)
    snr = [record.spectrum.snr for record in stored.read_shard(0)]
    np.testing.assert_allclose(scores.column("snr").to_pylist()[:500], snr, rtol=1e-6)


def test_saved_classifiers_give_the_same_scores_without_labels(archive, screened, tmp_path):
    out, _ = screened
    bare = StoredArchive.open(archive, labels=None)
    with engine("local") as pool:
        apply_classifiers(bare, out, tmp_path / "again", pool)
    one, other = (pq.read_table(folder / "scores.parquet") for folder in (out, tmp_path / "again"))
    # Without labels an object is its spectrum, so most are judged by the classifier of another fold.
    close = np.abs(np.asarray(one.column("score_cv")) - np.asarray(other.column("score_cv")))
    assert np.median(close) < 0.05
    with engine("local") as pool, pytest.raises(UserError, match="would replace"):
        apply_classifiers(bare, out, out, pool)


def test_a_grown_archive_is_screened_where_it_is_new(archive, screened, tmp_path):
    first = StoredArchive(archive, "lamost", "simulated", 2)
    with engine("local") as pool:
        begun = screen_archive(first, toy(), tmp_path / "out", pool, work=tmp_path / "work")
        assert (begun.spectra, begun.new) == (1000, 1000)
        whole = StoredArchive.open(archive, labels="simulated")
        done = screen_archive(whole, toy(), tmp_path / "out", pool, work=tmp_path / "work")
    assert (done.spectra, done.new) == (1200, 200)
    assert content(tmp_path / "out") == content(screened[0])


def test_two_processes_write_what_one_does(archive, screened, tmp_path):
    stored = StoredArchive.open(archive, labels="simulated")
    with engine("local", processes=2) as pool:
        screen_archive(stored, toy(), tmp_path / "out", pool, work=tmp_path / "work")
    assert content(tmp_path / "out") == content(screened[0])


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # Ray warns of itself
def test_ray_writes_what_this_machine_does(archive, screened, tmp_path):
    pytest.importorskip("ray", reason="needs the extra [ray]")
    stored = StoredArchive.open(archive, labels="simulated")
    with engine("ray", processes=2) as pool:
        assert list(pool.map(str.upper, ["a", "b", "c"])) == ["A", "B", "C"]
        screen_archive(stored, toy(), tmp_path / "out", pool, work=tmp_path / "work")
    assert content(tmp_path / "out") == content(screened[0])


def test_an_engine_that_is_not_installed_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError, match="not installed") as caught, engine("ray"):
        pass
    assert "specvi-bench[ray]" in caught.value.fix
    with pytest.raises(UserError, match="no address"), engine("local", address="auto"):
        pass


def test_what_is_not_there_is_told(archive, tmp_path):
    with pytest.raises(UserError, match="no spectra of that survey"):
        StoredArchive.open(archive, survey="sixdf")
    with pytest.raises(UserError, match="no such set of labels") as caught:
        StoredArchive.open(archive, labels="mine")
    assert caught.value.expected == "one of simulated"
    recipe = toy().model_copy(update={"source": StoredSource(archive="stored", survey="lamost", labels="x")})
    with pytest.raises(UserError, match="takes its spectra from an archive"):
        open_archive(recipe)


def known_by(path, **rows):
    lines = ["id,known_as,evidence,random"]
    lines += [f'{id_},{classes},"note, {classes}",false' for id_, classes in rows.items()]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_labels_of_a_table_reach_every_visit_of_an_object(archive, tmp_path):
    stored = StoredArchive.open(archive, labels="simulated")
    truth = dict(
        zip(stored.ids().to_pylist(), (r for s in range(3) for r in stored.read_shard(s)), strict=True)
    )
    chosen = [id_ for id_, record in truth.items() if "cv-polar" in record.known_as][:5]
    table = known_by(tmp_path / "t.csv", **dict.fromkeys([*chosen, "lamost:DR99:5"], "polar;cv"))
    done = label_archive(archive, "catalogue", "A paper (2020)", read_known(table))
    assert done.not_there == ("lamost:DR99:5",)
    assert done.labelled == 5
    mine = StoredArchive.open(archive, labels="catalogue")
    assert mine.label_source == "A paper (2020)"
    assert mine.classes == {"polar", "cv"}
    objects = {truth[id_].object_id for id_ in chosen}
    groups = {}
    for id_, record in zip(
        mine.ids().to_pylist(), (r for s in range(3) for r in mine.read_shard(s)), strict=True
    ):
        expected = {"polar", "cv"} if truth[id_].object_id in objects else set()
        assert record.known_as == expected
        assert record.random == (id_ not in chosen)
        assert record.object_id_source == "position"
        groups.setdefault(truth[id_].object_id, set()).add(record.object_id)
    assert all(len(found) == 1 for found in groups.values())
    assert len(groups) == len({name for found in groups.values() for name in found})


def test_new_labels_of_a_name_are_seen_at_once(archive, tmp_path):
    one, other = StoredArchive.open(archive).ids().to_pylist()[:2]
    for labelled in (one, other):
        label_archive(archive, "again", "a test", read_known(known_by(tmp_path / "t.csv", **{labelled: "x"})))
        opened = StoredArchive.open(archive, labels="again")
        got = [record.known_as for record in opened.read([Key(0, 0), Key(0, 1)])]
        assert got == [{"x"} if id_ == labelled else set() for id_ in (one, other)]


def test_other_labels_measure_nothing_again(archive, screened, tmp_path, monkeypatch):
    stored = StoredArchive.open(archive, labels="simulated")
    truth = dict(
        zip(stored.ids().to_pylist(), (r for s in range(3) for r in stored.read_shard(s)), strict=True)
    )
    seen = {id_: kind for id_, record in truth.items() for kind in record.known_as if kind.startswith("cv-")}
    now = {id_: "be-star" if kind == "cv-polar" else kind for id_, kind in seen.items()}
    label_archive(archive, "other", "a test", read_known(known_by(tmp_path / "t.csv", **now)))
    monkeypatch.setattr(screening, "selection_features", None)  # calling it would be a fault
    work = screened_folder(stored)
    before = content(work)
    with engine("local") as pool:
        other = StoredArchive.open(archive, labels="other")
        done = screen_archive(other, toy(), tmp_path / "out", pool)
    assert (done.spectra, done.new) == (1200, 0)
    assert content(work) == before
    known = pq.read_table(tmp_path / "out" / "scores.parquet", columns=["id", "known_as"]).to_pylist()
    told = {row["id"]: row["known_as"] for row in known}
    assert {id_ for id_, classes in told.items() if classes == ["be-star"]} >= {
        id_ for id_, kind in now.items() if kind == "be-star"
    }
    assert not any("cv-polar" in classes for classes in told.values())


def test_a_killed_labelling_leaves_no_mixture(archive, tmp_path, monkeypatch):
    known = read_known(known_by(tmp_path / "t.csv", **{"lamost:x": "cv"}))
    label_archive(archive, "mixed", "a test", known)

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("specvi_benchmark.archive.labelling.write_labels", killed)
        with pytest.raises(KeyboardInterrupt):
            label_archive(archive, "mixed", "a test", known)
    with pytest.raises(UserError, match="no such set of labels"):
        StoredArchive.open(archive, labels="mixed")
    label_archive(archive, "mixed", "a test", known)
    assert StoredArchive.open(archive, labels="mixed").classes == frozenset()


def test_gaia_ids_of_labels_keep_every_digit_or_are_refused(tmp_path):
    table = tmp_path / "t.csv"
    head = "id,known_as,gaia_id\n"
    for wrong in ("4.29580672012345e+18", "4295806720123456789.0", "HD 1"):
        table.write_text(f"{head}a,cv,{wrong}\nb,cv,\n")
        with pytest.raises(UserError, match="no Gaia id"):
            read_known(table)
    # What surveys write for "none" is none: else all such stars would be one object.
    table.write_text(f"{head}a,cv,-9999\nb,cv,0\nc,cv,\nd,cv,4295806720123456789\n")
    assert [one.gaia_id for one in read_known(table).values()] == [None, None, None, 4295806720123456789]
    table.write_text(f"{head}a,cv,Gaia DR3 4295806720123456789\n")
    assert read_known(table)["a"].gaia_id == 4295806720123456789


def test_evidence_of_two_catalogues_stands_side_by_side(tmp_path):
    table = tmp_path / "t.csv"
    rows = [f'a,{name},"{{""catalogue"": ""{name}"", ""of"": ""cv""}}"' for name in ("X", "Y", "Y", "Z")]
    table.write_text("\n".join(["id,known_as,evidence", *rows, 'b,cv,"{""snr"": NaN}"', ""]))
    known = read_known(table)
    assert known["a"].evidence == {"catalogue": ["X", "Y", "Z"], "of": "cv"}
    assert known["a"].known_as == {"X", "Y", "Z"}
    assert known["b"].evidence == {"note": '{"snr": NaN}'}  # no JSON, so text
    table.write_text("id,known_as\n,cv\n")
    with pytest.raises(UserError, match="a row without id"):
        read_known(table)


def test_objects_by_gaia_id_then_position():
    arcsec = 1 / 3600
    ra = np.array([10.0, 10.0 + 2 * arcsec, 10.0, 50.0, 50.0, np.nan, np.nan, 359.9999, 0.0001])
    dec = np.array([0.0, 0.0, 10.0, 80.0, 80.0 + 4 * arcsec, np.nan, np.nan, 0.0, 0.0])
    gaia = [7, None, 7, None, None, None, 9, 1, 2]
    found = group_objects([f"id{n}" for n in range(9)], ra, dec, gaia)
    assert found.ids[0] == found.ids[1] == found.ids[2] == "gaia-7"
    assert found.ids[3] == "position-50.00000+80.00000"
    assert found.ids[4] != found.ids[3]
    assert (found.ids[5], found.sources[5]) == ("id5", "file-name")
    assert (found.ids[6], found.sources[6]) == ("gaia-9", "gaia")
    assert found.ids[7:] == ["gaia-1", "gaia-2"]  # 0.7″ apart, and two stars all the same
    across = group_objects(["a", "b"], np.array([359.9999, 0.0001]), np.zeros(2), [None, None])
    assert across.ids[0] == across.ids[1]


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), pole=st.sampled_from([-90.0, 90.0, 0.0, 89.9, -45.0]))
def test_objects_are_those_of_every_pair_compared(seed, pole):
    """At the poles and across 0h, by astropy's separations and links counted one by one."""
    rng = np.random.default_rng(seed)
    number = 14
    centre = SkyCoord(0 * u.deg, pole * u.deg)
    places = centre.directional_offset_by(
        rng.uniform(0, 360, number) * u.deg, rng.uniform(0, 12, number) * u.arcsec
    )
    gaia = [int(value) or None for value in rng.integers(0, 4, number)]
    found = group_objects([f"id{n}" for n in range(number)], places.ra.deg, places.dec.deg, gaia)
    apart = places[:, None].separation(places[None, :]).arcsec
    if np.abs(apart - 3).min() < 1e-4:
        return
    group = list(range(number))
    for _ in range(number):
        for one in range(number):
            for other in range(number):
                strangers = gaia[one] and gaia[other] and gaia[one] != gaia[other]
                if (gaia[one] and gaia[one] == gaia[other]) or (apart[one, other] <= 3 and not strangers):
                    group[one] = group[other] = min(group[one], group[other])
    for one in range(number):
        if gaia[one]:
            assert found.ids[one] == f"gaia-{gaia[one]}"
            continue
        nearby = [other for other in range(number) if group[other] == group[one]]
        named = next((other for other in nearby if gaia[other]), None)
        if named is not None:
            assert found.ids[one] == f"gaia-{gaia[named]}"
        else:
            assert {found.ids[other] for other in nearby} == {found.ids[one]}
            assert found.ids[one].startswith("position-")


def test_the_list_of_an_archive_is_a_catalogue_that_can_be_matched(archive, tmp_path):
    from specvi_benchmark.archive.catalogue import match, read_catalogue

    rows = write_list(archive, tmp_path / "list.csv")
    assert rows == Store.open(archive).spectra
    listed = read_catalogue(tmp_path / "list.csv")
    assert len(listed) == rows
    found = match(listed, listed)
    assert found.unmatched == ()


def test_a_table_without_its_columns_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("obsid,class\n1,cv\n")
    with pytest.raises(UserError, match="lacks columns"):
        read_known(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_text("id,known_as,random\nx,cv,perhaps\n")
    with pytest.raises(UserError, match="neither true nor false"):
        read_known(tmp_path / "t.csv")


@pytest.mark.slow
def test_a_killed_screening_goes_on_and_writes_the_same(archive, screened, tmp_path):
    recipe, sky, out = tmp_path / "toy.yaml", tmp_path / "sky", tmp_path / "out"
    recipe.write_text(yaml.safe_dump(toy().model_dump(mode="json"), sort_keys=False))
    shutil.copytree(archive, sky, ignore=shutil.ignore_patterns("screened"))
    program = "from specvi_benchmark.cli.main import main; main()"
    command = [sys.executable, "-c", program, "archive", "screen", str(sky), "--recipe", str(recipe)]
    command += ["--out", str(out), "--processes", "2"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    for reached in (1, 2):
        process = subprocess.Popen(command, **quiet)
        while len(list((sky / "screened").glob("*.parquet"))) < reached:
            assert process.poll() is None
            time.sleep(0.005)
        process.kill()
        process.wait()
    subprocess.run(command, check=True, **quiet)
    assert content(out) == content(screened[0])


@pytest.mark.slow
def test_commands_from_sky_to_split(tmp_path, capsys, monkeypatch):
    recipe = tmp_path / "toy.yaml"
    recipe.write_text(yaml.safe_dump(toy().model_dump(mode="json"), sort_keys=False))
    sky, out, split = tmp_path / "sky", tmp_path / "screened", tmp_path / "split"
    told = ""
    for command in (
        ["archive", "ingest", f"simulated:{recipe}", "--into", str(sky)],
        ["archive", "screen", str(sky), "--recipe", str(recipe), "--out", str(out)],
        ["split", "build", str(recipe), "--archive", str(sky), "--out", str(split)],
        ["split", "verify", str(split)],
    ):
        monkeypatch.setattr(sys, "argv", ["specvi", *command])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        assert ended.value.code == 0, printed.err
        told += printed.out
    assert "1200 spectra: features of 1,200" in told.replace("1,200 spectra", "1200 spectra")
    recorded = json.loads((split / "split.json").read_text())["recipe"]["archive"]
    assert (recorded["archive"], recorded["spectra"]) == ("stored", 1200)
