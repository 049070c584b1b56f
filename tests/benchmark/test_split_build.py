"""Whole builds from a small simulated archive."""

import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
import yaml

from specvi_benchmark.errors import UserError
from specvi_benchmark.files import locked
from specvi_benchmark.splits.archive import Key
from specvi_benchmark.splits.build import build_split
from specvi_benchmark.splits.io import read_split, write_split
from specvi_benchmark.splits.recipe import Recipe, load_recipe, open_archive
from specvi_benchmark.splits.screening import screen, screening_name
from specvi_benchmark.splits.verify import verify_split
from specvi_benchmark.splits.workers import workers
from specvi_benchmark.vetting import Question


def toy(**more):
    """Return a recipe of one task on two tracks, whose archive takes seconds."""
    mini = load_recipe("mini").model_dump(mode="json")
    source = mini["source"] | {
        "size": 1600,
        "field": {"fg-star": 3, "k-giant": 1},
        "rare": {"cv-quiescent": 3, "cv-polar": 1, "be-star": 3, "planetary-nebula": 3},
        "overlap": 0.9,
        "second_visit": 0.3,
    }
    rule = {"tasks": ["cv"], "positives_filter": "same_threshold"}
    sets = [
        rule
        | {"track": "main", "counts": {"train": [20, 20], "dev": [5, 5], "cal": [5, 25], "test": [10, 50]}},
        rule
        | {"track": "cross-survey", "surveys": ["sdss"], "reference": "lamost", "counts": {"test": [5, 25]}},
    ]
    return Recipe.model_validate(mini | {"name": "toy-simulated", "source": source, "sets": sets} | more)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    work = tmp_path_factory.mktemp("work")
    return build_split(toy(), work=work), work


def test_counts_are_those_of_the_recipe(built):
    split, _ = built
    tally = Counter((c.track, c.part, c.truth) for c in split.candidates)
    for item in toy().sets:
        spectra = 1 + len(item.surveys)
        for part, count in item.counts.items():
            assert tally[item.track, part, "YES"] == count.YES * spectra
            assert tally[item.track, part, "NO"] == count.NO * spectra
    assert [check for check in verify_split(split) if check.verdict == "FAILS"] == []


def test_truth_follows_the_patterns_and_every_candidate_passed_the_classifier(built):
    split, _ = built
    for c in split.candidates:
        assert (c.truth == "YES") == c.label_evidence["kind"].startswith("cv-")
        assert c.label_evidence["weak_score"] > 0.8
        assert c.decidable
        if c.spectrum.survey == "simulated-lamost":
            assert c.spectrum.snr >= 5


def test_no_object_is_in_two_parts_and_some_have_two_visits(built):
    parts = {}
    for c in built[0].candidates:
        parts.setdefault(c.object_id, set()).add(c.part)
    assert all(len(found) == 1 for found in parts.values())
    visits = Counter(c.object_id for c in built[0].select(track="main").candidates)
    assert max(visits.values()) == 2


def test_a_cross_survey_object_is_there_once_for_each_survey(built):
    views = {}
    for c in built[0].select(track="cross-survey").candidates:
        views.setdefault((c.object_id, c.truth), []).append(c.spectrum.survey)
    surveys = {survey for found in views.values() for survey in found}
    assert surveys == {"simulated-lamost", "simulated-sdss"}
    for found in views.values():
        assert found.count("simulated-lamost") == found.count("simulated-sdss")


def test_the_order_of_candidates_does_not_tell_the_truth(built):
    for part in ("train", "test"):
        ids = [c.id for c in built[0].select(part=part, track="main").candidates]
        assert ids == sorted(ids)


def test_no_system_sees_kind_or_score(built):
    for c in built[0].candidates:
        question = c.question
        assert isinstance(question, Question)
        spectrum = question.spectrum
        visible = f"{question.id} {spectrum.name} {spectrum.survey_id} {spectrum.claims} {spectrum.format}"
        assert c.label_evidence["kind"] not in visible
        assert str(c.label_evidence["weak_score"]) not in visible


def test_the_report_adds_up(built):
    split, _ = built
    main = split.report["sets"][0]
    kept = main["funnel"]["YES"]
    assert kept["archive"] == 1600
    assert main["recall_lost"] == pytest.approx(1 - kept["accepted"] / kept["decidable"])
    for truth in ("YES", "NO"):
        steps = list(main["funnel"][truth].values())
        assert steps == sorted(steps, reverse=True)
        assert steps[-1] == sum(getattr(count, truth) for count in toy().sets[0].counts.values())
    (weak,) = split.report["weak"]
    assert weak["trained_on"] == {"YES": 60, "NO": 60}
    assert sum(weak["accepted_as"].values()) == sum(row["others_accepted"] for row in weak["by_snr"])


def test_an_archive_reads_the_same_in_any_order(built):
    archive = open_archive(toy())
    whole = list(archive.read_shard(1))[40:60]
    keys = [Key(1, row) for row in range(40, 60)]
    for one, other in zip(whole, reversed(list(archive.read(keys[::-1]))), strict=True):
        assert one.spectrum.flux.tobytes() == other.spectrum.flux.tobytes()
        assert (one.object_id, one.evidence) == (other.object_id, other.evidence)


def content(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


@pytest.mark.slow
def test_two_processes_write_the_same_bytes_as_one(built, tmp_path):
    split, _ = built
    write_split(split, tmp_path / "one")
    write_split(build_split(toy(), work=tmp_path / "work", processes=2), tmp_path / "two")
    assert content(tmp_path / "one") == content(tmp_path / "two")
    again = read_split(tmp_path / "two")
    assert (again.fingerprint, again.report) == (split.fingerprint, split.report)


def screened_files(folder):
    return sorted(folder.glob("*.parquet"))


def test_a_screening_is_taken_up_where_it_was_left(built):
    _, work = built
    archive = open_archive(toy())
    names = [f"{screening_name(archive, number)}.parquet" for number in range(archive.shards)]
    assert sorted(names) == [path.name for path in screened_files(work)]
    files = {path: path.stat().st_mtime_ns for path in screened_files(work)}
    before = {path: path.read_bytes() for path in files}
    (work / names[1]).unlink()
    heard = []
    with workers(1) as pool:
        screen(archive, work, pool, lambda *said: heard.append(said))
    assert [number for _, number, _ in heard] == [len(files) - 1, len(files)]
    assert {path: path.read_bytes() for path in screened_files(work)} == before
    kept = [path for path in files if path.stat().st_mtime_ns == files[path]]
    assert len(kept) == len(files) - 1


@pytest.mark.slow
def test_killed_at_random_moments_a_build_ends_with_the_same_bytes(built, tmp_path):
    write_split(built[0], tmp_path / "whole")
    path = tmp_path / "recipe.yaml"
    path.write_text(yaml.safe_dump(toy().model_dump(mode="json"), sort_keys=False))
    program = "from specvi_benchmark.cli.main import main; main()"
    command = [sys.executable, "-c", program, "split", "build", str(path)]
    command += ["--out", str(tmp_path / "out"), "--processes", "2"]
    environment = os.environ | {"SPECVI_HOME": str(tmp_path / "home")}
    rng = random.Random(5)
    for _ in range(3):
        process = subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(rng.uniform(1.5, 5))
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    assert content(tmp_path / "out") == content(tmp_path / "whole")


def test_a_damaged_screening_is_told_with_the_file(built, tmp_path):
    shutil.copytree(built[1], tmp_path / "work")
    victim = screened_files(tmp_path / "work")[1]
    content = bytearray(victim.read_bytes())
    content[len(content) // 2] ^= 1  # inside the features
    victim.write_bytes(content)
    with pytest.raises(UserError, match="can't be read") as caught:
        build_split(toy(), work=tmp_path / "work")
    assert str(victim) in str(caught.value)
    victim.write_bytes(bytes(content[:100]))
    with pytest.raises(UserError, match="can't be read"):
        build_split(toy(), work=tmp_path / "work")
    victim.unlink()
    assert build_split(toy(), work=tmp_path / "work").fingerprint == built[0].fingerprint


def test_a_build_that_clears_up_takes_nothing_but_its_own_screening(built, tmp_path):
    shutil.copytree(built[1], tmp_path / "work")
    (tmp_path / "work" / "another.parquet").touch()
    build_split(toy(), work=tmp_path / "work", keep_screening=False)
    assert [path.name for path in screened_files(tmp_path / "work")] == ["another.parquet"]


def test_builds_in_one_cache_wait_for_each_other(built, tmp_path):
    work = tmp_path / "work"
    shutil.copytree(built[1], work)
    heard = []
    with ThreadPoolExecutor(1) as pool:
        with locked(work):
            build = pool.submit(build_split, toy(), work=work, report=lambda *said: heard.append(said[0]))
            while not heard:
                time.sleep(0.01)
            time.sleep(0.2)
            assert heard == ["Waiting for another build"]
        assert build.result().fingerprint == built[0].fingerprint


def test_a_worker_that_is_killed_is_told():
    with workers(2) as pool, pytest.raises(UserError, match="ended early") as caught:
        list(pool.map(os._exit, [3]))
    assert "exit code 3" in str(caught.value)


def test_workers_end_quietly_with_half_a_call_unsent():
    with workers(2) as pool:
        assert next(pool.map(len, (bytes(300_000) for _ in range(9)))) == 300_000
        for worker in pool._all:
            worker.kill()
            worker.wait()
            worker.stdin.write(b"half a call")  # into the buffer: nobody is left to read it


def test_an_error_in_a_worker_is_raised_here():
    with workers(2) as pool, pytest.raises(ValueError, match="could not convert"):
        list(pool.map(float, ["1", "x", "2"]))
    with workers(2) as pool:
        assert list(pool.map(float, ["1", "2", "3"])) == [1.0, 2.0, 3.0]


def test_work_is_taken_as_it_is_done_and_not_before():
    taken = []

    def numbers():
        for number in range(100):
            taken.append(number)
            yield number

    with workers(2) as pool:
        results = pool.map(str, numbers())
        assert [next(results) for _ in range(10)] == [str(number) for number in range(10)]
        assert len(taken) <= 10 + 4 * 2 + 1
        assert list(results) == [str(number) for number in range(10, 100)]
