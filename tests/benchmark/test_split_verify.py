import pytest

from specvi_benchmark.errors import UserError
from specvi_benchmark.spectrum import Spectrum
from specvi_benchmark.splits import Candidate, Split
from specvi_benchmark.splits.verify import require, verify_split
from specvi_benchmark.tasks import get_task

SPECTRUM = Spectrum([1.0, 2.0], [1.0, 1.0], [1.0, 1.0], [False, False])


def candidate(number, part="test", truth=None, task="cv", **changes):
    values = {
        "id": f"{part} {task} {number}",
        "task": get_task(task),
        "track": "main",
        "part": part,
        "spectrum": SPECTRUM,
        "redshift": None,
        "truth": truth or ("YES" if number % 2 else "NO"),
        "object_id": f"{part} {number}",
        "object_id_source": "simulated",
        "label_source": "hand",
    }
    return Candidate(**(values | changes))


GOOD = [candidate(number, part) for part in ("train", "test") for number in range(4)]


def failing(*more):
    return {
        c.name: c.detail for c in verify_split(Split("s", "1", (*GOOD, *more), {})) if c.verdict == "FAILS"
    }


def test_a_good_split_passes():
    assert failing() == {}
    require(verify_split(Split("s", "1", tuple(GOOD), {})), "s")


def test_an_object_in_two_parts_is_found_even_across_tasks():
    leak = [candidate(n, "train", task="wd", object_id=f"test {n}") for n in (1, 2)]
    ((name, detail),) = failing(*leak).items()
    assert name == "parts share no object"
    assert "2 objects" in detail
    assert "test 1 in test and train" in detail


def test_an_object_that_is_yes_and_no_is_found():
    twice = candidate(9, object_id="test 1", truth="NO")
    assert failing(twice) == {"an object has one truth": "1 objects are YES and NO: test 1 (cv)"}
    other_task = [candidate(n, task="wd", object_id="test 1" if n == 2 else f"w{n}") for n in (1, 2)]
    assert failing(*other_task) == {}  # YES for one task, NO for another


def test_a_part_with_one_truth_is_found():
    assert failing(candidate(1, "cal"), candidate(3, "cal")) == {
        "both truths are there": "only one truth in cal cv (main)"
    }


def test_an_undecidable_candidate_is_found():
    assert set(failing(candidate(8, decidable=False))) == {"every candidate can be decided"}


def test_all_failures_go_into_one_error():
    bad = Split("s", "1", (*GOOD, candidate(8, decidable=False), candidate(1, "cal")), {})
    with pytest.raises(UserError, match="2 of 6 checks fail") as caught:
        require(verify_split(bad), "folder")
    assert "can be decided" in str(caught.value)
    assert "both truths" in str(caught.value)
