"""What several test modules share."""

import faulthandler
import os
import signal
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from specvi_benchmark.spectrum import clean_spectrum
from specvi_benchmark.splits import Candidate, Split
from specvi_benchmark.tasks import get_task

REPOSITORY = Path(__file__).resolve().parents[1]

LONGEST_S = 400  # ten times what the slowest test takes on an idle machine

settings.register_profile("specvi", deadline=None)  # how long an example takes is the machine's business
settings.load_profile("specvi")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """Fail a test that hangs, with the stack of every thread, instead of waiting for ever."""

    def give_up(*_: object) -> None:
        faulthandler.dump_traceback()
        pytest.fail(f"not done after {LONGEST_S} s")  # no Exception, so that nothing under test swallows it

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, LONGEST_S, 30)  # and again, where cleaning up hangs too
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of real and library spectra that lies beside the project, or skip."""
    folder = REPOSITORY.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the real spectra (../shared/data) are not beside the project")
    return folder


@pytest.fixture(scope="session", autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give the tests a cache of their own: SpecVI-Mini is built once, for every worker, by the code under test."""
    base = tmp_path_factory.getbasetemp()
    session = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPECVI_HOME", str(session / "specvi-home"))
        yield


def small_split(n: int = 12, task: str = "cv", part: str = "test") -> Split:
    """Return a split of flat, noisy spectra; every third candidate is a YES."""
    rng = np.random.default_rng(7)
    wavelength = 3700.0 * 10 ** (1e-3 * np.arange(390))
    return Split(
        name="small",
        version="1",
        recipe={"made": "by a test"},
        candidates=tuple(
            Candidate(
                id=f"{task}-{number:03d}",
                task=get_task(task),
                track="main",
                part=part,
                spectrum=clean_spectrum(
                    wavelength,
                    rng.normal(10, 1, wavelength.size),
                    np.ones(wavelength.size),
                    name=f"spectrum {number}",
                ),
                redshift=None,
                truth="YES" if number % 3 == 0 else "NO",
                object_id=f"object-{number}",
                object_id_source="simulated",
                label_source="test",
            )
            for number in range(n)
        ),
    )


@pytest.fixture(scope="session")
def make_split() -> Callable[..., Split]:
    """Return the maker of small splits: ``make_split(n=12, task="cv", part="test")``."""
    return small_split
