"""What several test modules share."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from specvi_benchmark.spectrum import clean_spectrum
from specvi_benchmark.splits import Candidate, Split
from specvi_benchmark.tasks import get_task

REPOSITORY = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of real and library spectra that lies beside the project, or skip."""
    folder = REPOSITORY.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the real spectra (../shared/data) are not beside the project")
    return folder


@pytest.fixture(scope="session", autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give the tests a cache of their own: SpecVI-Mini is built at most once, by the code under test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPECVI_HOME", str(tmp_path_factory.mktemp("home")))
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


@pytest.fixture
def make_split() -> Callable[..., Split]:
    """Return the maker of small splits: ``make_split(n=12, task="cv", part="test")``."""
    return small_split
