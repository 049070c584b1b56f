"""Damaged characters: what is mended, what is left, and that sound text is never touched."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specvi_agents.trajectories.repair import repair

SOUND = "Hα at 6563 Å is ±2 km s⁻¹ wide — “broad” – λ/Δλ ≈ 1800, 3×10³ µm, ≥ 5σ, 20°"


@pytest.mark.parametrize(
    ("damaged", "whole"),
    [
        ("H\x03b1 at 6563 \x00c5", "Hα at 6563 Å"),
        ("H\x03B2 and H\x03b3", "Hβ and Hγ"),
        ("\x0394\x03bb is small", "Δλ is small"),
        ("5\x03c3, \x00b12 px", "5σ, ±2 px"),
        ("HÎ± at 6563 Ã…", "Hα at 6563 Å"),
        ("Ã\x85ngstrÃ¶m", "Ångström"),
        ("3900â€“7000 Ã…, â€œbroadâ€\x9d", "3900–7000 Å, “broad”"),
        ("Â±2Â°, Î» 5577", "±2°, λ 5577"),
    ],
)
def test_what_left_enough_behind_is_mended(damaged: str, whole: str) -> None:
    found = repair(damaged)
    assert (found.text, found.left) == (whole, 0)
    assert sum(found.mended.values()) == sum(
        sign not in damaged or not sign.isascii() for sign in whole if not sign.isascii()
    )


@pytest.mark.parametrize(
    ("damaged", "left"),
    [
        ("H\x03 is broad", 1),
        ("H\ufffd and H\ufffd", 2),
        ("6563 \x05 and 4861 \x05", 2),
        ("a \x0365 63", 1),  # U+0365 is no letter of such texts
        ("\x039412", 1),  # or a longer number?
        ("\x7f \x1b[0m", 2),
    ],
)
def test_what_nobody_can_tell_is_left_and_counted(damaged: str, left: int) -> None:
    found = repair(damaged)
    assert (found.text, found.mended, found.left) == (damaged, {}, left)


@pytest.mark.parametrize(
    ("damaged", "whole"),
    [
        ("H\x03 (6563 Å) is broad", "Hα (6563 Å) is broad"),
        ("H\ufffd at 4861.3 is broad", "Hβ at 4861.3 is broad"),
        ("a line at 6563\x05 and at 4861 \x05.", "a line at 6563Å and at 4861 Å."),
    ],
)
def test_what_the_words_around_determine_is_put_in_only_where_asked_for(damaged: str, whole: str) -> None:
    assert repair(damaged).text == damaged
    found = repair(damaged, by_context=True)
    assert (found.text, found.left) == (whole, 0)
    assert set(found.mended) == {"context"}


@pytest.mark.parametrize(
    "damaged",
    ["H\x03 at 5100 Å", "H\x03. At 6563 Å", "S/N 12 \x05", "in 2023 \x05", "H\x03 from 6400 to 6563"],
)
def test_what_they_do_not_determine_is_left(damaged: str) -> None:
    assert repair(damaged, by_context=True).text == damaged


def test_sound_text_stays() -> None:
    found = repair(SOUND, by_context=True)
    assert (found.text, found.mended, found.left) == (SOUND, {}, 0)


@given(
    st.text(
        st.characters(codec="ascii", categories=["L", "N", "P", "S", "Zs"])
        | st.sampled_from("αβÅ±°–—“”σ\n\t")
    )
)
def test_text_without_damage_is_never_touched(text: str) -> None:
    found = repair(text, by_context=True)
    assert (found.text, found.left) == (text, 0)


@given(st.lists(st.sampled_from(["H", " at ", "6563 ", "α", "β", "Å", "σ", "±", ", "]), max_size=12))
def test_the_damage_of_a_lost_escape_is_undone(parts: list[str]) -> None:
    """Each letter written as the control character of its high byte and the two digits of its low one."""
    whole = "".join(parts)
    damaged = "".join(
        sign if sign.isascii() else f"{chr(ord(sign) >> 8)}{ord(sign) & 255:02x}" for sign in whole
    )
    assert repair(damaged).text == whole


@given(st.lists(st.sampled_from(["H", " at ", "6563 ", "α", "β", "Å", "σ", "±", "–", ", "]), max_size=12))
def test_a_misreading_is_undone(parts: list[str]) -> None:
    whole = "".join(parts)
    damaged = whole.encode().decode("latin-1")
    assert repair(damaged).text == whole
