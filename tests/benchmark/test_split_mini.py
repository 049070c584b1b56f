import json
import os
import socket
import subprocess
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ks_2samp

from specvi_benchmark.errors import UserError
from specvi_benchmark.files import home
from specvi_benchmark.simulator import KINDS
from specvi_benchmark.splits import mini
from specvi_benchmark.splits.io import find_split, write_split
from specvi_benchmark.splits.split import Split
from specvi_benchmark.splits.verify import verify_split

# Raise mini.VERSION with every change of this value: results on different versions can't be compared.
GOLDEN = ("1", "30e3dbd8ea3decce3cc5eaf46275e1d597bea43aea4b207a86741007a5108625")


@pytest.fixture(scope="module")
def split():
    return mini.build_mini()


def test_the_fingerprint_is_pinned(split):
    assert (mini.VERSION, split.fingerprint) == GOLDEN


def test_counts_are_those_of_the_recipe(split):
    counts = Counter((c.task.key, c.part, c.truth) for c in split.candidates)
    for task in ("cv", "cs", "ss", "mg", "wd"):
        assert (counts[task, "test", "YES"], counts[task, "test", "NO"]) == (
            12,
            60,
        )  # 1:5, as the real test set
        assert (counts[task, "cal", "YES"], counts[task, "cal", "NO"]) == (12, 60)
        assert counts[task, "train", "YES"] == counts[task, "train", "NO"] == 24
        assert counts[task, "dev", "YES"] == counts[task, "dev", "NO"] == 12
    assert sum(counts.values()) == len(split.candidates) == 1080


def test_it_is_called_simulated_everywhere(split):
    assert "simulated" in split.name
    assert split.recipe["source"] == "simulated"
    for c in split.candidates:
        assert {c.object_id_source, c.label_source, c.spectrum.survey} == {"simulated"}


def test_it_holds_what_a_split_must(split):
    assert all(check.holds for check in verify_split(split))


def test_some_objects_have_two_visits_in_one_part(split):
    visits = Counter(c.object_id for c in split.candidates)
    assert set(visits.values()) == {1, 2}
    # One in twelve of each truth: 2 + 2 of 48, 1 + 1 of 24, 1 + 5 of 72, for five tasks.
    assert sum(count == 2 for count in visits.values()) == 5 * (4 + 2 + 6 + 6)
    pair = [c for c in split.candidates if visits[c.object_id] == 2]
    by_object = {}
    for c in pair:
        by_object.setdefault(c.object_id, []).append(c)
    for first, second in by_object.values():
        assert first.label_evidence["object"] == second.label_evidence["object"]
        assert (first.spectrum.ra_deg, first.spectrum.dec_deg) == (
            second.spectrum.ra_deg,
            second.spectrum.dec_deg,
        )
        assert first.spectrum.flux.tobytes() != second.spectrum.flux.tobytes()


def test_nothing_but_the_light_tells_the_truth(split):
    # What a system sees beside the light follows one law for YES and NO: two-sample tests with 5 tasks × 4
    # features would give a p below 1e-4 once in 500 sets.
    for task in split.tasks:
        chosen = [c for c in split.candidates if c.task.key == task]
        features = {
            "snr": lambda c: c.spectrum.snr,
            "no redshift": lambda c: float(c.redshift is None),
            "mjd": lambda c: c.spectrum.mjd,
            "dec": lambda c: c.spectrum.dec_deg,
            "serial": lambda c: int(c.spectrum.survey_id[-3:]),
            "bad": lambda c: c.spectrum.bad_fraction,
        }
        for name, feature in features.items():
            # Numbering restarts in each part, and parts differ in balance.
            alike = [c for c in chosen if c.part == "test"] if name == "serial" else chosen
            yes, no = ([feature(c) for c in alike if c.truth == truth] for truth in ("YES", "NO"))
            assert ks_2samp(yes, no).pvalue > 1e-4, (task, name)
    for c in split.candidates:
        visible = f"{c.id} {c.spectrum.name} {c.spectrum.survey_id} {c.spectrum.claims}"
        assert c.label_evidence["kind"] not in visible
        assert c.spectrum.claims.subclass is None


def test_signal_to_noise_reaches_low(split):
    snr = np.array([c.spectrum.snr for c in split.candidates])
    assert 0.05 < np.mean(snr < 5) < 0.2
    assert np.mean(snr > 30) > 0.08
    assert 9 < np.median(snr) < 15


def test_every_object_can_be_recognised_at_its_signal_to_noise(split):
    # Guidelines leave out what an astronomer could not decide, so such a candidate must not be scored.
    for c in split.candidates:
        evidence = c.label_evidence
        assert KINDS[evidence["kind"]].decidable(evidence["object"], evidence["visit"]["snr"]), (
            c.label_evidence
        )


def test_redshifts_go_missing_and_wrong_at_the_stated_rates(split):
    how = Counter(c.label_evidence["pipeline_redshift"] for c in split.candidates)
    # 6 % and 4 % of 1080, three standard deviations of a binomial.
    assert how["missing"] == sum(c.redshift is None for c in split.candidates)
    assert abs(how["missing"] - 65) < 24
    assert abs(how["wrong"] - 43) < 20


def test_every_candidate_can_be_made_alone_and_in_any_process(split):
    by_id = {c.spectrum.survey_id: c for c in split.candidates}
    slots = [slot for slot in mini.plan() if slot.part == "dev"][::-7]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for slot, made in zip(slots, pool.map(mini.simulate, slots), strict=True):
            known = by_id[slot.survey_id]
            assert made.id == known.id
            assert made.label_evidence == known.label_evidence
            single, there = (Split("s", "1", (c,), {}).fingerprint for c in (made, known))
            assert single == there


ON_ANOTHER_PROCESSOR = """
from specvi_benchmark.splits import Split, mini
made = [mini.simulate(slot) for slot in mini.plan()[::9]]
print(Split("s", "1", tuple(made), {}).fingerprint)
"""


@pytest.mark.slow
def test_the_numbers_do_not_depend_on_the_processors_vector_units(split):
    # exp and log differ in their last bit between vector units; storing flux in steps takes that away.
    wanted = {slot.survey_id for slot in mini.plan()[::9]}
    expected = Split(
        "s", "1", tuple(c for c in split.candidates if c.spectrum.survey_id in wanted), {}
    ).fingerprint
    without = os.environ | {
        "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX2 FMA3 AVX512F AVX512_SKX"
    }
    command = [sys.executable, "-W", "ignore", "-c", ON_ANOTHER_PROCESSOR]
    found = subprocess.run(command, env=without, check=True, capture_output=True, text=True)
    assert found.stdout.strip() == expected


def test_the_recipe_is_plain_json():
    assert json.loads(json.dumps(mini.RECIPE)) == mini.RECIPE


def halpha_rule(c):
    """One index an astronomer might start with: is there Hα in emission?"""
    s = c.spectrum
    line = (s.wavelength_AA > 6550) & (s.wavelength_AA < 6580) & s.good
    beside = (np.abs(s.wavelength_AA - 6565) > 60) & (np.abs(s.wavelength_AA - 6565) < 100) & s.good
    return line.any() and beside.any() and s.flux[line].mean() > 1.15 * np.median(s.flux[beside])


def test_one_index_neither_fails_nor_suffices(split):
    test = [c for c in split.candidates if c.task.key == "cv" and c.part == "test"]
    hit = sum(halpha_rule(c) for c in test if c.truth == "YES")
    false = sum(halpha_rule(c) for c in test if c.truth == "NO")
    f1 = 2 * hit / (12 + hit + false)
    assert 24 / 84 < f1 < 0.9  # above always-YES (2·12 / (72 + 12)), far from solved


# --- the cache ------------------------------------------------------------------------------------


@pytest.fixture
def quick(monkeypatch, tmp_path):
    """A home of its own, and a SpecVI-Mini of a few candidates whose builds are counted."""
    monkeypatch.setenv("SPECVI_HOME", str(tmp_path))
    built = []

    def build():
        built.append(mini.VERSION)
        return Split(mini.NAME, mini.VERSION, tuple(map(mini.simulate, mini.plan()[:3])), mini.RECIPE)

    monkeypatch.setattr(mini, "build_mini", build)
    return built


def test_mini_is_built_once_and_again_for_another_recipe(quick, monkeypatch):
    first = find_split("mini").fingerprint
    assert find_split("mini").fingerprint == first
    assert quick == ["1"]
    monkeypatch.setattr(mini, "VERSION", "next")
    find_split("mini")
    assert quick == ["1", "next"]
    monkeypatch.setattr(mini, "RECIPE", mini.RECIPE | {"seed": 1})
    find_split("mini")
    assert quick == ["1", "next", "next"]
    assert json.loads((home() / "splits" / "mini" / "split.json").read_text())["version"] == "next"


def test_what_a_killed_build_left_is_cleared_away(quick):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    leftover = home() / "splits" / f".mini.{socket.gethostname()}.{dead.pid}.01234567.tmp"
    leftover.mkdir(parents=True)
    (leftover / "test_cv.parquet").write_bytes(b"half")
    find_split("mini")
    assert not leftover.exists()


def test_a_path_is_never_taken_for_the_name(quick, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="no such split"):
        find_split(Path("mini"))
    assert quick == []


RACING = """
import os, sys, time
from pathlib import Path
from specvi_benchmark.splits import Split, mini
from specvi_benchmark.splits.io import find_split

def build():
    with Path(os.environ["SPECVI_HOME"], "builds.log").open("a") as log:
        log.write("built\\n")
    time.sleep(0.5)
    return Split(mini.NAME, mini.VERSION, tuple(map(mini.simulate, mini.plan()[:3])), mini.RECIPE)

mini.build_mini = build
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


def test_written_and_read_it_is_the_same(split, tmp_path):
    write_split(split, tmp_path / "mini")
    again = find_split(tmp_path / "mini")
    assert again.fingerprint == split.fingerprint
    assert again.recipe == split.recipe
    assert sum(path.stat().st_size for path in (tmp_path / "mini").iterdir()) < 30e6
