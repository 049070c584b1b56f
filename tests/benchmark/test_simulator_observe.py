"""Observations: valid spectra, honest noise, the same numbers whatever the order, batch or process."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from specvi_benchmark.errors import UserError
from specvi_benchmark.simulator import KINDS, Rates, make_source, observe, wavelengths
from specvi_benchmark.spectrum import Spectrum

CLEAN = Rates.none()
INSTRUMENTS = ["lamost", "sdss", "desi"]


@settings(max_examples=25, deadline=None)
@given(
    kind=st.sampled_from(sorted(KINDS)), seed=st.integers(0, 10**6), snr=st.floats(1.5, 150),
    dead=st.floats(0, 1), blue=st.floats(0, 1), instrument=st.sampled_from(INSTRUMENTS),
)  # fmt: skip
def test_an_observation_is_a_valid_spectrum(kind, seed, snr, dead, blue, instrument):
    rng = np.random.default_rng(seed)
    seen = observe(make_source(kind, rng), snr, rng, Rates(dead_stretch=dead, blue_end_lost=blue), instrument)
    spectrum = Spectrum(wavelengths(instrument), seen.flux, seen.ivar, seen.mask)  # checks itself
    assert ((seen.ivar == 0) == seen.mask).all()
    assert spectrum.has_errors
    assert spectrum.bad_fraction < 0.15


@pytest.mark.parametrize("snr", [4.0, 12.0, 50.0])
def test_the_achieved_snr_is_the_asked_one(snr):
    achieved = []
    for seed in range(15):
        rng = np.random.default_rng(seed)
        seen = observe(make_source("a-star", rng), snr, rng, CLEAN)
        achieved.append(Spectrum(wavelengths(), seen.flux, seen.ivar, seen.mask).snr)
    assert np.mean(achieved) == pytest.approx(snr, rel=0.06)


@pytest.mark.parametrize("instrument", INSTRUMENTS)
def test_ivar_is_the_inverse_variance_of_the_noise(instrument):
    # The same visit at a much higher S/N is the expectation: scale and sky are those of its random numbers.
    made = make_source("fg-star", np.random.default_rng(0))
    pulls = []
    for seed in range(12):
        seen = observe(made, 12.0, np.random.default_rng(seed), CLEAN, instrument)
        clean = observe(made, 1e6, np.random.default_rng(seed), CLEAN, instrument)
        pulls.append((seen.flux - clean.flux) * np.sqrt(seen.ivar))
    everything = np.concatenate(pulls)
    assert everything.std() == pytest.approx(1, abs=0.01)  # 47,000 pulls: ± 0.004, flux steps add 0.0002
    assert everything.mean() == pytest.approx(0, abs=0.02)
    assert stats.kstest(everything[::7], "norm").pvalue > 1e-3
    # Noise of neighbouring pixels is independent.
    assert abs(np.corrcoef(everything[1:], everything[:-1])[0, 1]) < 0.03
    by_pixel = np.std(np.array(pulls), axis=0)
    third = by_pixel.size // 3
    for part in (by_pixel[:third], by_pixel[third : 2 * third], by_pixel[2 * third :]):
        assert part.mean() == pytest.approx(
            0.96, abs=0.03
        )  # of 12 draws the mean of s is 0.979 with n, 0.94…


def test_two_visits_differ_and_each_can_be_repeated():
    made = make_source("cv-polar", np.random.default_rng(0))
    first, again, other = (observe(made, 20.0, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert first.flux.tobytes() == again.flux.tobytes()
    assert first.truth == again.truth
    assert first.flux.tobytes() != other.flux.tobytes()


def test_flux_is_stored_in_steps_well_below_the_noise():
    seen = observe(make_source("a-star", np.random.default_rng(0)), 30.0, np.random.default_rng(0), CLEAN)
    step = 2.0 ** np.floor(np.log2(np.median(seen.ivar[seen.ivar > 0] ** -0.5) / 16))
    counts = seen.flux / step
    assert np.abs(counts - np.round(counts)).max() == 0


@pytest.mark.parametrize("instrument", INSTRUMENTS)
def test_one_object_seen_by_three_surveys_is_the_same_object(instrument):
    made = make_source("fg-star", np.random.default_rng(5))
    seen = observe(made, 200.0, np.random.default_rng(6), CLEAN, instrument)
    grid = wavelengths(instrument)
    bins = np.arange(3850, 9000, 100)

    def binned(wavelength, flux):
        return np.array([flux[np.abs(wavelength - centre) < 50].mean() for centre in bins])

    ratio = binned(grid, seen.flux) / binned(made.wavelength_AA, made.flux)
    assert ratio / ratio.mean() == pytest.approx(1, abs=0.02)


def digest(job):
    kind, seed, instrument = job
    made = make_source(kind, np.random.default_rng(seed))
    seen = observe(made, 15.0, np.random.default_rng([seed, 1]), instrument=instrument)
    return hashlib.sha256(seen.flux.tobytes() + seen.ivar.tobytes() + seen.mask.tobytes()).hexdigest()


def test_numbers_do_not_depend_on_order_batch_or_process():
    jobs = [(kind, 7, INSTRUMENTS[n % 3]) for n, kind in enumerate(sorted(KINDS))]
    here = {job: digest(job) for job in jobs}
    assert {job: digest(job) for job in reversed(jobs)} == here
    assert len(set(here.values())) == len(jobs)
    assert in_another_process(7) == list(here.values())


IN_ANOTHER_PROCESS = """
import sys
sys.path.insert(0, sys.argv[1])
from test_simulator_observe import INSTRUMENTS, KINDS, digest
seed = int(sys.argv[2])
print("\\n".join(digest((kind, seed, INSTRUMENTS[n % 3])) for n, kind in enumerate(sorted(KINDS))))
"""


def in_another_process(seed, **environment):
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-c",
        IN_ANOTHER_PROCESS,
        str(Path(__file__).parent),
        str(seed),
    ]
    found = subprocess.run(command, env=os.environ | environment, check=True, capture_output=True, text=True)
    return found.stdout.split()


@pytest.mark.slow
def test_numbers_do_not_depend_on_the_processors_vector_units(tmp_path):
    # exp and log differ in their last bit between vector units; storing flux in steps takes that away.
    plain = {
        "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX2 FMA3 AVX512F AVX512_SKX",
        "NUMBA_CPU_NAME": "generic",
        "NUMBA_CPU_FEATURES": "",
        "NUMBA_CACHE_DIR": str(tmp_path),
    }
    expected = [digest((kind, 3, INSTRUMENTS[n % 3])) for n, kind in enumerate(sorted(KINDS))]
    assert in_another_process(3, **plain) == expected


@pytest.mark.parametrize("snr", [0.0, -3.0, float("nan"), float("inf")])
def test_a_signal_to_noise_that_is_none_is_refused(snr):
    made = make_source("wd-dc", np.random.default_rng(0))
    with pytest.raises(UserError, match="above 0"):
        observe(made, snr, np.random.default_rng(0))
