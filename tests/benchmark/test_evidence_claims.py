"""Claims from text: the hand-written sentences, both parts, and what must hold for any text."""

import re
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specvi_benchmark.evidence.claims import Claim, extract_claims
from specvi_benchmark.evidence.features import FAMILIES, band_names, get_feature
from specvi_benchmark.evidence.wording import LONGEST, sentences
from specvi_benchmark.lines import get_band, get_line

SENTENCES = Path(__file__).resolve().parents[1] / "data" / "evidence_sentences.txt"
OTHER = SENTENCES.with_name("evidence_sentences_other.txt")
POLARITIES = {"+": "present", "-": "absent", "~": "uncertain"}
KINDS = {"em": "emission", "abs": "absorption", "": None}

Meaning = tuple[str, str | None, str, bool]


@dataclass(frozen=True)
class Sentence:
    """One line of the file: the task, the text, and what it means."""

    task: str
    text: str
    means: frozenset[Meaning]


def read_meaning(written: str) -> Meaning:
    """Read ``+He I 5877/em!``."""
    is_misplaced = written.endswith("!")
    name, _, kind = written[1:].rstrip("!").partition("/")
    is_band = get_feature(name).is_band
    return name, "band" if is_band else KINDS[kind], POLARITIES[written[0]], is_misplaced


def read_sentences(*, held_out: bool) -> list[Sentence]:
    """Read one part of the file."""
    return sentences_of(SENTENCES.read_text(encoding="utf-8").split("# Held out\n")[held_out])


def sentences_of(lines: str) -> list[Sentence]:
    """Read sentences with their meaning; ``|`` may stand in a text too."""
    found = []
    for line in lines.splitlines():
        if line.startswith("#") or not line.strip():
            continue
        task, rest = line.split(" | ", 1)
        text, _, written = rest.rpartition(" |")
        claims = [part.strip() for part in written.split(";") if part.strip()]
        found.append(Sentence(task, text, frozenset(map(read_meaning, claims))))
    return found


def meanings(claims: list[Claim]) -> frozenset[Meaning]:
    return frozenset((c.feature, c.kind, c.polarity, c.is_misplaced) for c in claims)


def accuracy(sentences: list[Sentence]) -> tuple[float, float, float]:
    """Return the share of sentences read exactly, precision and recall of claims."""
    exact = right = claimed = meant = 0
    for sentence in sentences:
        got = meanings(extract_claims(sentence.text, quasar=sentence.task == "qso"))
        exact += got == sentence.means
        right += len(got & sentence.means)
        claimed += len(got)
        meant += len(sentence.means)
    return exact / len(sentences), right / claimed, right / meant


def test_there_are_enough_sentences_of_every_sort() -> None:
    sentences = read_sentences(held_out=False) + read_sentences(held_out=True)
    assert len({sentence.text for sentence in sentences}) == len(sentences) >= 300
    assert {sentence.task for sentence in sentences} == {"cv", "cs", "ss", "mg", "wd", "o", "b", "a", "qso"}
    all_meanings = [meaning for sentence in sentences for meaning in sentence.means]
    assert sum(not sentence.means for sentence in sentences) >= 50  # artefacts, guideline, plans
    assert sum(polarity == "absent" for _, _, polarity, _ in all_meanings) >= 60
    assert sum(polarity == "uncertain" for _, _, polarity, _ in all_meanings) >= 20


def test_the_part_it_was_written_against_is_read() -> None:
    exact, precision, recall = accuracy(read_sentences(held_out=False))
    assert exact >= 0.97
    assert precision >= 0.98
    assert recall >= 0.98


def test_the_part_held_out_is_read_nearly_as_well() -> None:
    exact, precision, recall = accuracy(read_sentences(held_out=True))
    assert exact >= 0.85
    assert precision >= 0.90
    assert recall >= 0.90


def test_sentences_of_another_hand_are_read_less_well_but_still_well() -> None:
    other = sentences_of(OTHER.read_text(encoding="utf-8"))
    assert len(other) >= 100
    exact, precision, recall = accuracy(other)
    assert exact >= 0.82
    assert precision >= 0.88
    assert recall >= 0.90


@pytest.mark.parametrize(
    ("text", "polarity"),
    [
        ("Hα isn't visible.", "absent"),
        ("Hα wasn't convincingly detected.", "absent"),
        ("He II 4686 can't be seen.", "absent"),
        ("None of the Balmer lines appear in emission.", "absent"),
        ("Not a single Balmer line is seen.", "absent"),
        ("I fail to see He I 5876 emission.", "absent"),
        ("He I 4471 does not appear.", "absent"),
        ("I do not think the Hα bump is real.", "uncertain"),
        ("Hα does not appear to be weak; it is strong.", "present"),
        ("Hα is seen; metals are absent.", "present"),
        ("There is zero emission at Hα.", "absent"),
        ("Hα is in broad emission at zero redshift with He I 6680.", "present"),
        ("Hα sits there as a broad emission spike.", "present"),
    ],
)
def test_ways_to_deny(text: str, polarity: str) -> None:
    assert {claim.polarity for claim in extract_claims(text)} == {polarity}


def test_wavelengths_joined_by_a_comma_are_two_and_a_thousand_is_none() -> None:
    assert [claim.feature for claim in extract_claims("[O III] λλ4959,5007 is in emission.")] == [
        "[O III] 4960",
        "[O III] 5008",
    ]
    (claim,) = extract_claims("Hα emission with 12,6563 counts is seen.")
    assert claim.written_AA is None


@pytest.mark.parametrize(
    ("text", "fwhm_kms", "fwhm_AA", "equivalent_width_AA"),
    [
        ("Hα is in emission: EW 32.1 Å, FWHM 1240 km/s (27 Å), 14σ.", 1240, None, 32.1),
        ("Hβ emission with an equivalent width of 12 Å.", None, None, 12),
        ("The Hα emission has FWHM ~ 30 Å.", None, 30, None),
        ("Hα is in emission.", None, None, None),
        ("Hα is absent: neither emission nor absorption above the noise (EW below 1.7 Å).", None, None, None),
    ],
)
def test_widths_and_strengths(
    text: str, fwhm_kms: float | None, fwhm_AA: float | None, equivalent_width_AA: float | None
) -> None:
    (claim,) = extract_claims(text)
    assert (claim.fwhm_kms, claim.fwhm_AA, claim.equivalent_width_AA) == (
        fwhm_kms,
        fwhm_AA,
        equivalent_width_AA,
    )


def test_a_step_the_wrong_way_denies_a_band() -> None:
    (denied,) = extract_claims("C2 4737: flux falls by 12 % going redward, 4σ")
    (stated,) = extract_claims("TiO 7054: flux falls by 12 % going redward, 4σ")
    assert (denied.polarity, stated.polarity) == ("absent", "present")


@pytest.mark.parametrize(
    "spelling",
    [
        "Hα",
        "H-alpha",
        "Halpha",
        "H alpha",
        "Ha",
        r"$H\alpha$",
        r"H$\alpha$",
        r"$H_\alpha$",
        r"\(H_{\alpha}\)",
    ],
)
def test_spellings_of_one_line(spelling: str) -> None:
    (claim,) = extract_claims(f"There is strong {spelling} emission.")
    assert (claim.feature, claim.kind, claim.polarity) == ("Hα", "emission", "present")


@pytest.mark.parametrize("spelling", ["C2", "C$_2$", "C₂", "C_2", r"$\mathrm{C_2}$"])
def test_spellings_of_one_molecule(spelling: str) -> None:
    (claim,) = extract_claims(f"{spelling} bands are visible.")
    assert (claim.feature, claim.polarity) == ("C2", "present")


def test_air_and_vacuum_wavelengths_name_the_same_line() -> None:
    for number in ("5876", "5875.6", "5877"):
        (claim,) = extract_claims(f"He I {number} is in emission.")
        assert (claim.feature, claim.is_misplaced) == ("He I 5877", False)


def test_a_wrong_wavelength_is_kept_and_flagged() -> None:
    (claim,) = extract_claims("Hα at 5890 Å is clearly in emission.")
    assert (claim.feature, claim.written_AA, claim.is_misplaced) == ("Hα", 5890.0, True)


def test_in_a_quasar_a_wavelength_is_an_observed_one() -> None:
    (claim,) = extract_claims("Broad Mg II emission at 5600 Å.", quasar=True)
    assert (claim.feature, claim.written_AA, claim.is_misplaced) == ("Mg II 2799", 5600.0, False)
    (claim,) = extract_claims("Mg II is in broad emission at z = 0.85.", quasar=True)
    assert claim.redshift == pytest.approx(0.85)


FEATURE_NAMES = sorted(
    {
        "Hα",
        "Hβ",
        "He I 5877",
        "He II 4687",
        "Ca II K",
        "Balmer",
        "C2 5165",
        "TiO 7054",
        "ZrO 6474",
        "CN",
        "TiO",
    }
)


@given(st.sampled_from(FEATURE_NAMES), st.sampled_from(["strong", "clearly visible", "prominent", "present"]))
def test_denying_a_sentence_turns_its_claim_round(name: str, words: str) -> None:
    (stated,) = extract_claims(f"{name} is {words}.")
    (denied,) = extract_claims(f"{name} is not present.")
    (doubted,) = extract_claims(f"{name} may be {words}.")
    assert [c.feature for c in (stated, denied, doubted)] == [name] * 3
    assert [c.polarity for c in (stated, denied, doubted)] == ["present", "absent", "uncertain"]


@given(
    st.lists(
        st.sampled_from(
            [
                *FEATURE_NAMES,
                "no",
                "is",
                "in emission",
                ",",
                ".",
                "but",
                "(",
                "6563",
                "?",
                "<think>",
                "$",
                "it",
            ]
        ),
        max_size=40,
    )
)
def test_any_words_give_known_features(words: list[str]) -> None:
    for claim in extract_claims(" ".join(words)):
        assert claim.feature == get_feature(claim.feature).name
        assert (claim.kind == "band") == get_feature(claim.feature).is_band


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    extract_claims(text)


def test_a_long_text_takes_time_in_proportion() -> None:
    def seconds(repeats: int) -> float:
        text = (
            "We see Hα and Hβ in emission with no He II but C2 bands at 5165 Å, and it is not clear "
            * repeats
        )
        clock = time.process_time()
        extract_claims(text)
        return time.process_time() - clock

    seconds(1)
    assert seconds(80) < 40 * max(seconds(8), 1e-3)  # ten times the text; a square law would give a hundred


@pytest.mark.parametrize("words", ["Hα ", "4861 ", "next ", "(a "])
def test_what_repeats_itself_is_cut(words: str) -> None:
    """A model in a loop writes sentences without an end, whose parts would be compared each with each."""
    assert max(map(len, sentences(words * 3000))) <= LONGEST
    extract_claims(words * 3000)


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_families_are_made_of_listed_features(name: str) -> None:
    feature = get_feature(name)
    assert len(feature.places) == len(FAMILIES[name])
    for member in FAMILIES[name]:
        listed = get_band(member) if member in band_names() else get_line(member)
        assert re.sub(r"\W", "", listed.name) == re.sub(r"\W", "", member)
