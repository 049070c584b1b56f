"""Hand-written inspections: one in which nothing is wrong, and many with a single defect each."""

from pathlib import Path

import pytest
from trajectory_kit import FILE, GOOD, call, inspect, record, star

from specvi_agents.messages import Reply, ToolCall
from specvi_agents.trajectories.checks import CHECKS
from specvi_agents.trajectories.leaks import find_leak
from specvi_agents.trajectories.screening import screen
from specvi_benchmark.traces import Trace

FIRST, SECOND, LAST = GOOD
ANSWER = LAST[LAST.index("<answer>") :]


def faults(replies: tuple[str | Reply, ...], **changes: object) -> dict[str, str]:
    made = record(inspect(replies), **changes)
    return dict(screen(made, made.trace, star().question).faults)


def by_field(label: str) -> Reply:
    """Return the first turn with its call in a field of the server's."""
    arguments = f'{{"wavelength_range": [6400, 6740], "label": "{label}"}}'
    field = ToolCall(id="a", name="spectral_visualization_tool", arguments=arguments)
    return Reply(FIRST[: FIRST.index("\n")], (field,), "tool_calls")


def test_the_good_one_passes_every_check() -> None:
    made = record(inspect(GOOD))
    found = screen(made, made.trace, star().question)
    assert (found.faults, found.unchecked) == ({}, {})


def test_without_a_spectrum_only_the_evidence_is_left_unchecked() -> None:
    made = record(inspect(GOOD))
    found = screen(made, made.trace, None)
    assert found.faults == {}
    assert list(found.unchecked) == ["evidence"]


DEFECTS = {
    "wrong answer": ("answer", (FIRST, SECOND, LAST.replace("YES", "NO"))),
    "abstains": ("answer", (FIRST, SECOND, LAST.replace("YES", "UNCERTAIN"))),
    "no thought": ("format", (FIRST, SECOND[SECOND.index("\n") + 1 :], LAST)),
    "empty thought": ("format", (FIRST, f"<think> </think>\n{call(4770, 4960)}", LAST)),
    "a thought left open": ("format", (FIRST, SECOND, LAST.replace("<think>", "<think><think>"))),
    "words before the thought": ("format", (f"Well. {FIRST}", SECOND, LAST)),
    "two thoughts": ("format", (f"<think>So.</think>{FIRST}", SECOND, LAST)),
    "no box": ("format", (FIRST, SECOND, LAST.replace("\\boxed{YES}", "YES"))),
    "two boxes": ("format", (FIRST, SECOND, LAST.replace("\\boxed{YES}", "\\boxed{YES} \\boxed{YES}"))),
    "no answer block": ("format", (FIRST, SECOND, LAST.replace("<answer>", "").replace("</answer>", ""))),
    "an answer beside a call": ("format", (FIRST, f"{SECOND}\n{ANSWER}", LAST)),
    "plays the tool": ("format", (FIRST, f"{SECOND}\n<tool_response>a bump</tool_response>", LAST)),
    "a picture mark": ("format", (FIRST.replace("bumps", "bumps <image>"), SECOND, LAST)),
    "a token of the template": ("format", (FIRST, SECOND, f"{LAST}<|im_end|>")),
    "a broken character": ("format", (FIRST, SECOND, LAST.replace("Hα and", "H\x03 and Hα and"))),
    "mended arguments": ("format", (FIRST, SECOND.replace("[4770, 4960]", "[4960, 4770]"), LAST)),
    "cut by length": ("format", (FIRST, SECOND, Reply(LAST, stop="length"))),
    "a call in a thought as well": ("format", (FIRST.replace("<think>", f"<think>{call(5000, 5100)}"), SECOND, LAST)),
    "an answer in a thought": ("format", (FIRST, SECOND, LAST.replace("as well", "as well <answer>\\boxed{NO}</answer>"))),
    "words after the answer": ("format", (FIRST, SECOND, f"{LAST}\nNow the next one.")),
    "words after a call": ("format", (FIRST, f"{SECOND}\nIt shows a bump.", LAST)),
    "a call left open": ("format", (FIRST, SECOND.replace("</tool_call>", ""), LAST)),
    "markup": ("format", (FIRST, SECOND, LAST.replace("as well", "as <b>well</b>"))),
    "another speaker": ("format", (FIRST, SECOND, LAST.replace("as well", "as well\nUser: go on"))),
    "a mark of another template": ("format", (FIRST, SECOND, LAST.replace("as well", "as well [/INST]"))),
    "turned text": ("format", (FIRST, SECOND, LAST.replace("as well", "as \u202ewell"))),
    "two alphabets": ("format", (FIRST, SECOND, LAST.replace("as well", "as w\u0435ll"))),
    "a picture mark in a field": ("format", (by_field("<image>"), SECOND, LAST)),
    "a token of the template in a field": ("format", (by_field("<|im_end|>"), SECOND, LAST)),
    "the end of a call in a field": ("format", (by_field("</tool_call>"), SECOND, LAST)),
    "outside the data": ("windows", (FIRST, SECOND.replace("[4770, 4960]", "[3300, 3900]").replace("Hβ", "the blue end"), LAST)),
    "in a gap": ("windows", (FIRST, f"<think>A look at one place.</think>\n{call(5000.1, 5000.2)}", *GOOD[1:])),
    "the same window again": ("repetition", (FIRST, f"<think>Once more.</think>\n{call(6401, 6740)}", SECOND, LAST)),
    "the whole view again": ("repetition", (FIRST, f"<think>All of it.</think>\n{call(3705, 9090)}", SECOND, LAST)),
    "a sentence over and over in other cases": (
        "repetition",
        (FIRST, SECOND, LAST.replace("</think>", " I have to look again. I HAVE to look again. i have to look again.</think>")),
    ),
    "a sentence over and over": (
        "repetition",
        (FIRST, SECOND, LAST.replace("</think>", " I have to look at it again." * 3 + "</think>")),
    ),
    "ground truth": ("leak", (FIRST, SECOND, LAST.replace("as well", "as well, as the ground truth has it"))),
    "was told": ("leak", (FIRST.replace("A blue", "I was told what it is. A blue"), SECOND, LAST)),
    "the file": ("leak", (FIRST, SECOND, LAST.replace("as well", f"as well in {FILE}"))),
    "the plan of the file": ("leak", (FIRST.replace("first", "first (EG012606N021203F)"), SECOND, LAST)),
    "the object": ("leak", (FIRST.replace("first", "first, of simulated-star-77123"), SECOND, LAST)),
    "a file in a label of a call": ("leak", (FIRST.replace('"Hα"', '"spec-56591"'), SECOND, LAST)),
    "told in an escape of a field": ("leak", (by_field("ground\\u0020truth"), SECOND, LAST)),
    "nothing there": ("evidence", (FIRST, SECOND, LAST.replace("as well", "as well. C2 5165 is strong"))),
    "a wrong width": ("evidence", (FIRST, SECOND, LAST.replace("Hα and Hβ are in broad", "Hα is in emission with FWHM 60 km/s. Hβ is in broad"))),
    "contradicted": ("evidence", (FIRST, SECOND, LAST.replace("as well", "as well. Hα is in absorption"))),
    "what is called absent is there": ("evidence", (FIRST, SECOND.replace("Hα is in broad emission", "Hα is absent"), "<think>Hβ is in broad emission.</think>\n<answer>\n\\boxed{YES}\nHβ is in broad emission.\n</answer>")),
    "nothing decisive": (
        "evidence",
        (
            FIRST,
            f"<think>I look further.</think>\n{call(4770, 4960)}",
            "<think>It looks like one.</think>\n<answer>\n\\boxed{YES}\nIt is blue.\n</answer>",
        ),
    ),
    "a wrong wavelength": ("evidence", (FIRST, SECOND, LAST.replace("Hβ is in broad emission as well", "Hβ at 5400 Å is in broad emission"))),
}  # fmt: skip


@pytest.mark.parametrize(("check", "replies"), DEFECTS.values(), ids=DEFECTS)
def test_a_single_defect_fails_exactly_its_check(check: str, replies: tuple[str | Reply, ...]) -> None:
    assert list(faults(replies)) == [check]


def test_calls_in_fields_pass_and_a_second_copy_in_the_text_does_not() -> None:
    arguments = '{"wavelength_range": [6400, 6740]}'
    field = ToolCall(id="a", name="spectral_visualization_tool", arguments=arguments)
    thought = FIRST[: FIRST.index("\n")]
    assert faults((Reply(thought, (field,), "tool_calls"), *GOOD[1:])) == {}
    assert list(faults((Reply(FIRST, (field,), "tool_calls"), *GOOD[1:]))) == ["format"]


def test_an_inspection_that_used_up_its_turns_is_no_example() -> None:
    looks = [f"<think>Window {n}.</think>\n{call(4000 + 300 * n, 4100 + 300 * n)}" for n in range(9)]
    assert {"answer", "format"} <= set(faults(tuple(looks)))


def test_a_no_needs_no_decisive_feature_but_no_contradiction() -> None:
    text = "<think>Nothing here.</think>\n<answer>\n\\boxed{NO}\nIt is something else.\n</answer>"
    assert faults((FIRST, text), truth="NO") == {}


def test_what_a_server_gave_as_reasoning_is_no_part_of_the_text() -> None:
    """It is not exported: it may leak, and a finding that stands only there is no evidence."""
    told = Reply(FIRST, reasoning="The ground truth is YES.")
    assert faults((told, *GOOD[1:])) == {}
    bare = (
        Reply(f"<think>I look.</think>\n{call(6400, 6740)}", reasoning="Hα is in broad emission."),
        "<think>It is one.</think>\n<answer>\n\\boxed{YES}\nIt is blue.\n</answer>",
    )
    assert list(faults(bare)) == ["evidence"]


def test_every_check_is_tried_by_a_defect() -> None:
    assert {check for check, _ in DEFECTS.values()} == set(CHECKS)


@pytest.mark.parametrize(
    "text",
    [
        "As the label says, this is a carbon star.",
        "The correct answer is YES, so I look for C2.",
        "Given the known classification, the bump must be Hα.",
        "I was told that this is a cataclysmic variable.",
        "We were informed it is a member.",
        "According to the guidance it is a white dwarf.",
        "It is labelled as positive.",
        "The answer was already given.",
        "The catalogue label supports this.",
        "I already know the answer.",
        "The ground-truth class agrees.",
        "The file name shows a LAMOST plan.",
        "From spec-55859-F5902_sp01-001.fits I read a date.",
        "The expected answer follows.",
        "As stated in the catalogue, this is a CV.",
        "The catalogue lists it as a carbon star.",
        "According to the literature it is a member.",
        "Since it is labelled, I look for C2.",
        "It is labeled a CV.",
        "It is catalogued as a white dwarf.",
        "This is a known cataclysmic variable.",
        "It is confirmed to be a carbon star.",
        "SIMBAD gives it as a carbon star.",
        "The metadata says YES.",
        "The truth is YES.",
        "The gr\u043eund truth agrees.",
        "The GR\u041eUND truth agrees.",
        "The ground\u2011truth agrees.",
        "The **ground** truth agrees.",
        "The gro\u200bund truth agrees.",
        "I\u2019ve been told it is one.",
        "We know it is one.",
        "The label: YES.",
        "The hint tells me where to look.",
        "The system prompt says YES.",
        "I must arrive at YES.",
        "The intended answer is clear.",
        "The verdict we were given is YES.",
        "Example 1 looks the same.",
        "I pretend not to know.",
        "This is Gaia DR3 4295806720.",
        "LAMOST J012606.12+021203.4 is blue.",
        "Its obsid is known to me.",
    ],
)
def test_leaks(text: str) -> None:
    assert find_leak([text], ["other-99.fits"])


@pytest.mark.parametrize(
    "text",
    [
        "The answer is YES.",
        "He I 6680: a hint of emission at 3.1σ, which does not count.",
        "The axis label is hard to read.",
        "The true width is smaller than the instrument's.",
        "The class of cataclysmic variables shows broad Balmer emission.",
        "A known telluric band lies here.",
        "The redshift given is small.",
        "The guideline asks for several Balmer lines.",
        "Before I answer, I look at the expected place of He II 4686.",
        "The classification rests on the Balmer lines.",
        "The panel is labelled Hα.",
        "A catalogue of such stars would want this one.",
        "It is classified as a carbon star by its C2 bands.",
        "It is in truth a broad line.",
        "The known lines of He I lie here.",
        "This leads to no conclusion, and I must say no more.",
        "TiO 7054 is confirmed by TiO 6158.",
        "I know that TiO has its sharp edge on the blue side.",
    ],
)
def test_words_that_leak_nothing(text: str) -> None:
    assert find_leak([text], ["spec-55859-F5902_sp01-001.fits", "star"]) is None


@pytest.mark.parametrize("name", ["evidence_sentences.txt", "evidence_sentences_other.txt"])
def test_no_sentence_on_spectra_is_taken_for_a_leak(name: str) -> None:
    lines = (Path(__file__).parents[1] / "data" / name).read_text().splitlines()
    sentences = [line for line in lines if line and not line.startswith("#")]
    assert len(sentences) > 100
    assert [line for line in sentences if find_leak([line], [])] == []


def test_short_names_and_plain_words_of_names_are_not_looked_for() -> None:
    assert find_leak(["At 155 km/s, sp05 of the carbon star."], ["carbon-star-155_sp05.fits"]) is None


def test_the_defects_are_single_changes_of_a_trace() -> None:
    """The kit's model gives what it is told to: the trace has these very texts."""
    trace: Trace = inspect(GOOD)
    assert [turn.text for turn in trace.turns if turn.role == "assistant"] == list(GOOD)
