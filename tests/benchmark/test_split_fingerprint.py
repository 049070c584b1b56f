import dataclasses
import hashlib
import random

import numpy as np
import pytest

from specvi_benchmark.errors import UserError
from specvi_benchmark.spectrum import Spectrum
from specvi_benchmark.splits import Candidate, Split, question_id
from specvi_benchmark.splits.split import candidate_seed
from specvi_benchmark.tasks import get_task


def candidate(**changes):
    values = {
        "id": "a",
        "task": get_task("cv"),
        "track": "main",
        "part": "test",
        "spectrum": Spectrum([4000.0, 4001.0], [1.0, 2.5], [4.0, 0.0], [False, True]),
        "redshift": 0.25,
        "truth": "YES",
        "object_id": "o1",
        "object_id_source": "simulated",
        "label_source": "hand",
    }
    return Candidate(**(values | changes))


def split(*candidates):
    return Split("s", "1", candidates, {})


def test_hand_computed_fingerprint():
    # Written out from the definition in the design, with nothing of the suite: JSON, then the bytes of IEEE 754.
    second = candidate(id="B", truth="NO", redshift=None)  # "B" sorts before "a"
    arrays = (
        bytes.fromhex("000000000040af40")  # 4000
        + bytes.fromhex("000000000042af40")  # 4001
        + bytes.fromhex("000000000000f03f")  # 1
        + bytes.fromhex("0000000000000440")  # 2.5
        + bytes.fromhex("0000000000001040")  # 4
        + bytes.fromhex("0000000000000000")  # 0
        + bytes.fromhex("0001")
    )
    expected = hashlib.sha256(
        b'{"id":"B","object_id":"o1","part":"test","redshift":null,"task":"cv","track":"main","truth":"NO"}'
        + arrays
        + b'{"id":"a","object_id":"o1","part":"test","redshift":0.25,"task":"cv","track":"main","truth":"YES"}'
        + arrays
    ).hexdigest()
    assert split(candidate(), second).fingerprint == expected


def test_the_order_of_candidates_has_no_part_in_it():
    candidates = [candidate(id=f"id{number}", object_id=f"o{number}") for number in range(20)]
    before = split(*candidates).fingerprint
    random.Random(1).shuffle(candidates)
    assert split(*candidates).fingerprint == before


SPECTRUM = candidate().spectrum


@pytest.mark.parametrize(
    "change",
    [
        {"id": "b"},
        {"task": get_task("wd")},
        {"track": "extreme"},
        {"part": "cal"},
        {"object_id": "o2"},
        {"truth": "NO"},
        {"redshift": None},
        {"redshift": 0.25000000000000006},
        {"spectrum": dataclasses.replace(SPECTRUM, wavelength_AA=np.array([4000.0, 4001.0000000000005]))},
        {"spectrum": dataclasses.replace(SPECTRUM, flux=np.array([1.0, 2.6]))},
        {"spectrum": dataclasses.replace(SPECTRUM, ivar=np.array([4.5, 0.0]))},
        {"spectrum": dataclasses.replace(SPECTRUM, mask=np.array([True, True]))},
    ],
    ids=",".join,
)
def test_every_part_of_the_definition_changes_it(change):
    assert split(candidate(**change)).fingerprint != split(candidate()).fingerprint


def test_what_is_outside_the_definition_does_not():
    other = candidate(label_source="else", label_evidence={"a": 1}, decidable=False, images=(b"x",))
    assert split(other).fingerprint == split(candidate()).fingerprint


def test_doubled_ids_are_refused():
    with pytest.raises(UserError, match="ids are not unique"):
        split(candidate(), candidate(truth="NO"))


def test_a_redshift_that_is_not_finite_is_refused():
    with pytest.raises(UserError, match="redshift"):
        _ = split(candidate(redshift=float("nan"))).fingerprint


def test_question_id_is_uuid5_of_the_documented_text():
    # uuid5 by hand: SHA-1 of the URL namespace and the name, version 5 and variant bits set.
    text = "specvi:main:cv:lamost:DR10:17"
    digest = bytearray(
        hashlib.sha1(bytes.fromhex("6ba7b8119dad11d180b400c04fd430c8") + text.encode()).digest()[:16]
    )
    digest[6] = digest[6] & 0x0F | 0x50
    digest[8] = digest[8] & 0x3F | 0x80
    found = question_id(track="main", task="cv", survey="lamost", release="DR10", survey_id="17")
    assert found.replace("-", "") == digest.hex()


def test_a_candidates_random_numbers_depend_on_seed_and_id_only():
    word = int.from_bytes(hashlib.sha256(b"x").digest()[:8], "big")
    expected = np.random.default_rng(np.random.SeedSequence([7, word])).random(3)
    assert np.array_equal(np.random.default_rng(candidate_seed(7, "x")).random(3), expected)
    assert not np.array_equal(np.random.default_rng(candidate_seed(7, "y")).random(3), expected)


def test_pictures_and_their_names_go_together():
    with pytest.raises(ValueError, match="2 pictures with 1 names"):
        candidate(images=(b"a", b"b"), image_paths=("a.png",))
