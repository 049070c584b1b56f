"""SpecVI-Mini: pinned, simulated, and nothing but light tells the truth; and the cache of named splits."""

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ks_2samp

from specvi_benchmark.errors import UserError
from specvi_benchmark.files import home
from specvi_benchmark.splits import build
from specvi_benchmark.splits.build import recorded
from specvi_benchmark.splits.named import find_split, named_folder
from specvi_benchmark.splits.recipe import load_recipe, open_archive
from specvi_benchmark.splits.split import Split
from specvi_benchmark.splits.verify import verify_split

# Raise the recipe's version, or the simulator's, with every change of these: results on different fingerprints
# can't be compared.
GOLDEN = {
    "mini-small": "9f7ef17175e4de0c6b8bed74d3cc0836260ead67d2155b034fccab8597a3923e",
    "mini": "484d4309171ff84dbb2a3eace974168844ef03c331d0f04d72381bbb151f1011",
}


@pytest.fixture(scope="module")
def split():
    return find_split("mini-small")


@pytest.mark.slow
def test_the_fingerprint_of_the_small_preset_is_pinned(split):
    assert split.fingerprint == GOLDEN["mini-small"]


@pytest.mark.slow
def test_the_fingerprint_of_mini_is_pinned():
    assert find_split("mini").fingerprint == GOLDEN["mini"]
    assert sum(path.stat().st_size for path in named_folder("mini").iterdir()) < 250e6


@pytest.mark.slow
def test_it_is_called_simulated_everywhere(split):
    assert "simulated" in split.name
    assert split.recipe["source"]["archive"] == "simulated"
    for c in split.candidates:
        assert {c.object_id_source, c.label_source, c.spectrum.format} == {"simulated"}
        assert c.spectrum.survey.startswith("simulated-")


@pytest.mark.slow
def test_it_holds_what_a_split_must(split):
    assert [check for check in verify_split(split) if check.verdict == "FAILS"] == []


@pytest.mark.slow
def test_nothing_but_the_light_tells_the_truth(split):
    # What a system sees beside the light follows one law for YES and NO, but for S/N: a class is easier to take
    # for another, and to recognise, at some S/N than at others. Two-sample tests of 9 tasks × 5 features would
    # give a p below 1e-4 once in 200 sets.
    for track in split.tracks:
        for task in split.select(track=track).tasks:
            # One spectrum an object: a second visit or survey has the position of the first.
            chosen = {c.object_id: c for c in split.select(track=track, task=task).candidates}.values()
            features = {
                "no redshift": lambda c: float(c.redshift is None),
                "mjd": lambda c: c.spectrum.mjd,
                "ra": lambda c: c.spectrum.ra_deg,
                "serial": lambda c: int(c.spectrum.survey_id[-7:]),
                "bad": lambda c: c.spectrum.bad_fraction,
            }
            for name, feature in features.items():
                yes, no = ([feature(c) for c in chosen if c.truth == truth] for truth in ("YES", "NO"))
                assert ks_2samp(yes, no).pvalue > 1e-4, (track, task, name)


@pytest.mark.slow
def test_redshifts_go_missing_and_wrong_at_the_stated_rates():
    archive = open_archive(load_recipe("mini-small"))
    how = [record.evidence["pipeline_redshift"] for record in archive.read_shard(0)]
    # 6 % and 4 % of 500, four standard deviations of a binomial.
    assert abs(how.count("missing") - 30) < 22
    assert abs(how.count("wrong") - 20) < 18


def test_what_split_json_records_is_plain_json():
    record = recorded(load_recipe("mini"))
    assert json.loads(json.dumps(record)) == record


ON_ANOTHER_PROCESSOR = """
from specvi_benchmark.splits.recipe import load_recipe, open_archive
from specvi_benchmark.features import selection_features
import hashlib
records = [record for _, record in zip(range(60), open_archive(load_recipe("mini")).read_shard(3))]
digest = hashlib.sha256(selection_features([record.spectrum for record in records]).tobytes())
for record in records:
    digest.update(record.spectrum.flux.tobytes() + record.spectrum.ivar.tobytes())
print(digest.hexdigest())
"""


@pytest.mark.slow
def test_spectra_and_features_do_not_depend_on_the_processors_vector_units():
    # exp and log differ in their last bit between vector units; storing flux in steps takes that away.
    plain = {"NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX2 FMA3 AVX512F AVX512_SKX"}
    command = [sys.executable, "-W", "ignore", "-c", ON_ANOTHER_PROCESSOR]
    found = [
        subprocess.run(command, env=os.environ | more, check=True, capture_output=True, text=True).stdout
        for more in ({}, plain)
    ]
    assert found[0] == found[1] != ""


@pytest.mark.slow
def test_one_index_neither_fails_nor_suffices(split):
    def halpha_rule(c):
        """One index an astronomer might start with: is there Hα in emission?"""
        s = c.spectrum
        line = (s.wavelength_AA > 6550) & (s.wavelength_AA < 6580) & s.good
        beside = (np.abs(s.wavelength_AA - 6565) > 60) & (np.abs(s.wavelength_AA - 6565) < 100) & s.good
        return line.any() and beside.any() and s.flux[line].mean() > 1.15 * np.median(s.flux[beside])

    test = split.select(part="test", track="main", task="cv").candidates
    hit = sum(halpha_rule(c) for c in test if c.truth == "YES")
    false = sum(halpha_rule(c) for c in test if c.truth == "NO")
    positives = sum(c.truth == "YES" for c in test)
    f1 = 2 * hit / (positives + hit + false)
    assert 0.15 < f1 < 0.9


# --- the cache ------------------------------------------------------------------------------------


@pytest.fixture
def quick(monkeypatch, tmp_path, make_split):
    """A home of its own, and a SpecVI-Mini of a few candidates whose builds are counted."""
    monkeypatch.setenv("SPECVI_HOME", str(tmp_path))
    built = []

    def made(recipe, **_):
        built.append(recipe.version)
        return Split(recipe.name, recipe.version, make_split(3).candidates, recorded(recipe))

    monkeypatch.setattr(build, "build_split", made)
    return built


def test_mini_is_built_once_and_again_for_another_recipe(quick, monkeypatch):
    first = find_split("mini").fingerprint
    assert find_split("mini").fingerprint == first
    assert quick == ["3"]
    known = load_recipe("mini")
    monkeypatch.setattr(
        "specvi_benchmark.splits.recipe.load_recipe", lambda _: known.model_copy(update={"version": "next"})
    )
    find_split("mini")
    assert quick == ["3", "next"]
    assert json.loads((home() / "splits" / "mini" / "split.json").read_text())["version"] == "next"


def test_each_name_has_a_folder_of_its_own(quick):
    assert named_folder("mini") == home() / "splits" / "mini"
    assert named_folder("mini-small") == home() / "splits" / "mini-small"
    assert find_split("mini-small").name == "specvi-mini-small-simulated"
    assert len(quick) == 2


def test_what_a_killed_build_left_is_cleared_away(quick):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    leftover = home() / "splits" / f".mini.{socket.gethostname()}.{dead.pid}.01234567.tmp"
    leftover.mkdir(parents=True)
    (leftover / "test_cv.parquet").write_bytes(b"half")
    (home() / "screened" / "another").mkdir(parents=True)
    find_split("mini")
    assert not leftover.exists()
    assert (home() / "screened" / "another").exists()  # of a build that may be under way


def test_a_cache_that_can_only_be_read_is_enough(quick, monkeypatch):
    find_split("mini")

    def refused(*_):
        raise PermissionError("read-only")

    monkeypatch.setattr("specvi_benchmark.splits.named.locked", refused)
    assert find_split("mini").version == "3"
    assert quick == ["3"]


def test_a_damaged_cache_is_told_with_what_to_do(quick):
    find_split("mini")
    (file,) = (home() / "splits" / "mini").glob("*.parquet")
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with pytest.raises(UserError, match="delete the folder and build it anew") as caught:
        find_split("mini")
    assert str(file) in str(caught.value)
    shutil.rmtree(file.parent)
    find_split("mini")
    assert quick == ["3", "3"]


def test_a_path_is_never_taken_for_the_name(quick, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="no such split"):
        find_split(Path("mini"))
    assert quick == []


RACING = """
import os, time
from pathlib import Path
import numpy as np
from specvi_benchmark.spectrum import Spectrum
from specvi_benchmark.splits import Candidate, Split, build
from specvi_benchmark.splits.named import find_split
from specvi_benchmark.tasks import get_task

def made(recipe, **_):
    with Path(os.environ["SPECVI_HOME"], "builds.log").open("a") as log:
        log.write("built\\n")
    time.sleep(0.5)
    spectrum = Spectrum([4000.0, 4001.0], [1.0, 2.0], [1.0, 1.0], [False, False])
    one = Candidate("1", get_task("cv"), "main", "test", spectrum, None, "YES", "o", "simulated", "made")
    return Split(recipe.name, recipe.version, (one,), build.recorded(recipe))

build.build_split = made
print(find_split("mini").fingerprint)
"""


def test_two_processes_build_it_once(tmp_path):
    environment = os.environ | {"SPECVI_HOME": str(tmp_path)}
    command = [sys.executable, "-c", RACING]
    racers = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    outputs = [racer.communicate()[0].strip() for racer in racers]
    assert [racer.returncode for racer in racers] == [0, 0, 0]
    assert len(set(outputs)) == 1
    assert (tmp_path / "builds.log").read_text() == "built\n"
