"""What every text of a model comes to: strict and lenient reading, outcome, reward."""

import re
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from specvi_agents.lenient import read_leniently
from specvi_agents.parsing import (
    AssistantTurn,
    find_answer,
    is_refusal,
    is_well_formed,
    read,
    read_strictly,
    reward,
)
from specvi_agents.thinking import split_thinking
from specvi_benchmark.vetting import Outcome

YES = r"<answer>\boxed{YES}</answer>"
NO = r"<answer>\boxed{NO}</answer>"

# name, text, outcome of a turn that ended by itself, strict answer, lenient answer
TEXTS = [
    ("the form", f"<think>Broad Hα.</think>\n{YES}", "answered", "YES", "YES"),
    ("no", NO, "answered", "NO", "NO"),
    ("evidence beside the box", "<answer>\n\\boxed{YES}\nBroad Hα, no doubt.\n</answer>", "answered", "YES", "YES"),
    ("lower case", r"<answer>\boxed{yes}</answer>", "answered", "YES", "YES"),
    ("spaces in the box", "<answer>\\boxed{ \n\tNo }</answer>", "answered", "NO", "NO"),
    ("a text around the block", f"So:\n{NO}\nThank you.", "answered", "NO", "NO"),
    ("uncertain", r"<answer>\boxed{UNCERTAIN}</answer>", "abstained", None, None),
    ("uncertain, lower case", r"<answer>\boxed{uncertain}</answer>", "abstained", None, None),
    ("no tag", r"\boxed{YES}", "unparsed", None, "YES"),
    ("no box", "<answer>YES</answer>", "unparsed", None, "YES"),
    ("no box, with a reason", "<answer>No, the lines are narrow.</answer>", "unparsed", None, "NO"),
    ("two answers that agree", YES + YES, "unparsed", None, "YES"),
    ("two answers that do not", YES + NO, "unparsed", None, None),
    ("two boxes that agree", r"<answer>\boxed{NO} \boxed{NO}</answer>", "unparsed", None, "NO"),
    ("two boxes that do not", r"<answer>\boxed{YES} \boxed{NO}</answer>", "unparsed", None, None),
    ("the choice copied", r"<answer>\boxed{YES/NO}</answer>", "unparsed", None, None),
    ("the choice copied in words", r"<answer>\boxed{YES or NO}</answer>", "unparsed", None, None),
    ("upper-case tags", r"<ANSWER>\boxed{YES}</ANSWER>", "unparsed", None, "YES"),
    ("full-width marks", "＜answer＞\\boxed｛NO｝＜／answer＞", "unparsed", None, "NO"),
    ("full-width letters", "<answer>\\boxed{ＹＥＳ}</answer>", "unparsed", None, "YES"),
    ("a long s", "<answer>\\boxed{yeſ}</answer>", "unparsed", None, "YES"),
    ("a wide space in the box", "<answer>\\boxed{\u3000YES}</answer>", "unparsed", None, "YES"),
    ("a word in the box", r"<answer>\boxed{\text{YES}}</answer>", "unparsed", None, "YES"),
    ("bold in the box", r"<answer>\boxed{**NO**}</answer>", "unparsed", None, "NO"),
    ("a full stop in the box", r"<answer>\boxed{YES.}</answer>", "unparsed", None, "YES"),
    ("a reason in the box", r"<answer>\boxed{NO, an M dwarf}</answer>", "unparsed", None, "NO"),
    ("a negation in the reason", r"<answer>\boxed{NO, not a CV}</answer>", "unparsed", None, "NO"),
    ("doubt in the box", r"<answer>\boxed{YES, UNCERTAIN}</answer>", "unparsed", None, None),
    ("a choice in the box", r"<answer>\boxed{YES or maybe}</answer>", "unparsed", None, None),
    ("the class in the box", r"<answer>\boxed{CV}</answer>", "unparsed", None, None),
    ("maybe", r"<answer>\boxed{maybe}</answer>", "unparsed", None, None),
    ("denied in the box", r"<answer>\boxed{not YES}</answer>", "unparsed", None, None),
    ("denied before the box", r"It is not \boxed{YES}", "unparsed", None, None),
    ("backspace for \\b", "<answer>\x08oxed{YES}</answer>", "unparsed", None, "YES"),
    ("a block that is not closed", r"<answer>\boxed{YES}", "unparsed", None, "YES"),
    ("a box that is not closed", r"<answer>\boxed{NO</answer>", "unparsed", None, "NO"),
    ("boxes outside the block", rf"\boxed{{NO}} {YES}", "answered", "YES", "YES"),
    ("a number boxed before", rf"Hα at \boxed{{6564}}. {NO}", "answered", "NO", "NO"),
    ("an answer in a thought", f"<think>{YES}</think>", "unparsed", None, None),
    ("an answer in a thought and one outside", f"<think>{YES}</think>{NO}", "answered", "NO", "NO"),
    ("a thought within a thought", f"<think>a<think>{YES}</think>b</think>{NO}", "answered", "NO", "NO"),
    ("a thought without end", f"<think>It is broad. {YES}", "unparsed", None, "YES"),
    ("a thought without end, no block", r"<think>It would be \boxed{YES}", "unparsed", None, None),
    ("a second thought without end", f"{YES}<think>or", "unparsed", None, "YES"),
    ("a thought without beginning", rf"It could be \boxed{{NO}}.</think>{YES}", "answered", "YES", "YES"),
    ("a sentence", "The answer is YES.", "unparsed", None, "YES"),
    ("a bold sentence", "**Final answer:** No", "unparsed", None, "NO"),
    ("a verdict", "Verdict: NO - narrow lines only", "unparsed", None, "NO"),
    ("a denied sentence", "The answer is not YES.", "unparsed", None, None),
    ("neither", "The answer is neither YES nor NO.", "unparsed", None, None),
    ("sentences in conflict", "The answer is YES. On reflection, the answer is NO.", "unparsed", None, None),
    ("the instruction repeated", "Answer YES for broad lines. Answer NO for narrow ones.", "unparsed", None, None),
    ("a plain no in a sentence", "There is no emission, and yes, the noise is high.", "unparsed", None, None),
    ("a sentence that goes on", "Classification: no emission lines", "unparsed", None, None),
    ("one word", "yes", "unparsed", None, "YES"),
    ("one word with marks", "**NO.**", "unparsed", None, "NO"),
    ("both words", "YES NO", "unparsed", None, None),
    ("uncertain in words", "The answer is UNCERTAIN.", "unparsed", None, None),
    ("a guess beside uncertainty", r"\boxed{UNCERTAIN} but \boxed{YES}", "unparsed", None, None),
    ("nothing", "", "unparsed", None, None),
    ("white space", " \n\t ", "unparsed", None, None),
    ("refusal", "I'm sorry, but I can't assist with that.", "refused", None, None),
    ("refusal, typographic", "I’m unable to help with identifying this.", "refused", None, None),
    ("refusal, polite", "I must respectfully decline to answer.", "refused", None, None),
    ("refusal, then an answer", f"I can't help with that. {NO}", "answered", "NO", "NO"),
    ("refusal, then half an answer", r"I can't assist with that. \boxed{NO}", "unparsed", None, "NO"),
    ("can't help but", "I can't help but notice how broad Hα is.", "unparsed", None, None),
    ("can't tell", "I cannot determine the class from this spectrum.", "unparsed", None, None),
    ("a question back", "Which line should I look at?", "unparsed", None, None),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "outcome", "answer", "lenient"), [row[1:] for row in TEXTS], ids=[r[0] for r in TEXTS]
)
def test_a_text_that_ended_by_itself(text, outcome, answer, lenient):
    reading = read(text, "stop")
    assert (reading.outcome, reading.answer, reading.answer_lenient) == (outcome, answer, lenient)
    assert read(text, "tool_calls") == reading


@pytest.mark.parametrize(
    ("text", "outcome", "answer"),
    [
        (f"<think>a</think>{YES}", "answered", "YES"),  # a whole block before the cut counts
        (f"{YES} and further", "answered", "YES"),
        (r"<answer>\boxed{UNCERTAIN}</answer>", "abstained", None),
        (r"<answer>\boxed{maybe}</answer>", "unparsed", None),  # whole, and wrong
        (r"<answer>\boxed{YES}", "truncated", None),
        (f"<think>{YES}", "truncated", None),
        ("no " * 500, "truncated", None),
        ("", "truncated", None),
        ("I can't assist with that", "truncated", None),
    ],
)
@pytest.mark.parametrize("ended", ["length", "budget"])
def test_a_text_that_was_cut(text, outcome, answer, ended):
    reading = read(text, ended)
    assert (reading.outcome, reading.answer) == (outcome, answer)


def test_a_filter_or_a_refusal_field_is_a_refusal_whatever_the_text_says():
    for reading in (
        read(YES, "content_filter"),
        read(YES, "stop", refusal="no"),
        read("", "stop", refusal="no"),
    ):
        assert (reading.outcome, reading.answer, reading.answer_lenient) == ("refused", None, None)
    assert read(YES, "stop", refusal="").answer == "YES"


def test_thoughts_are_taken_out():
    assert split_thinking("a<think>b</think>c<think>d</think>e").outside == "ace"
    nested = split_thinking("a<think>b<think>c</think>d</think>e")
    assert (nested.outside, nested.pairs, nested.is_balanced) == ("ae", 2, True)
    opened = split_thinking("a<think>b</think>c<think>d")
    assert (opened.outside, opened.is_closed, opened.is_balanced) == ("ac<think>d", False, False)
    stray = split_thinking("b</think>c")
    assert (stray.outside, stray.is_closed, stray.is_balanced) == ("b</think>c", True, False)


# Texts that come near the rules from every side.
FRAGMENTS = st.sampled_from(
    ["<think>", "</think>", "<answer>", "</answer>", "<ANSWER>", "\\boxed{", "\\boxed {", "{", "}", "YES", "NO", "yes",
     "no", "No", "UNCERTAIN", "not ", "neither ", " or ", "/", " ", "\n", ".", ":", ",", "answer", "The answer is ",
     "Verdict: ", "**", "＜answer＞", "｛", "｝", "ＹＥＳ", "ＮＯ", "\x08oxed{", "I can't help", "n't ", "\\text{", "$",
     "<tool_call>", "6564", "\ud800", "ſ", "\u3000", "- "]
)  # fmt: skip
TEXT = st.one_of(st.text(), st.lists(FRAGMENTS, max_size=14).map("".join))
ENDED = st.sampled_from(["stop", "tool_calls", "length", "content_filter", "budget"])


@given(text=TEXT, ended=ENDED, refusal=st.sampled_from([None, "", "no"]))
@settings(max_examples=300)
def test_any_text_has_one_reading(text, ended, refusal):
    reading = read(text, ended, refusal)
    assert (reading.answer is not None) == (reading.outcome is Outcome.ANSWERED)
    assert reading.outcome is not Outcome.ERROR
    assert reading.is_sound == (reading.outcome in {Outcome.ANSWERED, Outcome.ABSTAINED})
    if reading.outcome is Outcome.ANSWERED:
        assert reading.answer_lenient in {reading.answer, None}
    if reading.outcome is Outcome.REFUSED:
        assert reading.answer_lenient is None


def exchanged(text):
    """YES for NO and NO for YES, in the case they are written in."""
    other = {"yes": "no", "no": "yes"}

    def swap(match):
        word = other[match[0].lower()]
        return word.upper() if match[0].isupper() else word.capitalize() if match[0][0].isupper() else word

    return re.sub(r"\b(?:yes|no)\b", swap, unicodedata.normalize("NFKC", text), flags=re.IGNORECASE)


OTHER = {"YES": "NO", "NO": "YES", None: None}


@given(text=TEXT)
@example(text="The answer is NO, not YES.")
@example(text="<answer>\\boxed{YES")
@example(text="\\boxed{YES, " + "." * 109 + "YES NO}")  # no rule may hang on the words' lengths
@example(text="\\boxed{YES}" * 51)
@example(text="Answer: no NO or The answer is no:")
@settings(max_examples=400)
def test_exchanging_yes_and_no_exchanges_the_lenient_reading(text):
    assert read_leniently(exchanged(text)) == OTHER[read_leniently(text)]


@pytest.mark.parametrize("row", TEXTS, ids=[row[0] for row in TEXTS])
def test_the_table_too_is_symmetric(row):
    assert read_leniently(exchanged(row[1])) == OTHER[row[4]]


@given(texts=st.lists(TEXT, min_size=1, max_size=4), ended=ENDED, truth=st.sampled_from(["YES", "NO"]))
@settings(max_examples=150)
def test_the_reward_takes_four_values(texts, ended, truth):
    turns = [AssistantTurn(text) for text in texts]
    reading = read(texts[-1], ended)
    value = reward(truth, turns, reading)
    correct = reading.answer_lenient == truth
    assert value == {(True, True): 1.0, (True, False): 0.8, (False, True): 0.0, (False, False): -0.2}[
        correct, is_well_formed(turns, reading)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([f"<think>a</think>{YES}"], 1.0),
        (["<think>a</think><tool_call>{}</tool_call>", YES], 1.0),  # one thought in all is enough
        ([YES], 0.8),  # no thought
        (["<think>a", f"<think>b</think>{YES}"], 0.8),  # a thought left open in an earlier turn
        (["a</think>", f"<think>b</think>{YES}"], 0.8),
        (["</think><think>", f"<think>b</think>{YES}"], 0.8),  # as many tags, in the wrong order
        ([r"<think>a</think>\boxed{YES}"], 0.8),
        ([f"<think>a</think>{NO}"], 0.0),
        ([r"<think>a</think><answer>\boxed{UNCERTAIN}</answer>"], 0.0),
        ([NO], -0.2),
        ([""], -0.2),
        ([f"<think>a</think>{YES}{NO}"], -0.2),
    ],
)
def test_rewards_by_hand(texts, expected):
    assert reward("YES", [AssistantTurn(text) for text in texts], read(texts[-1], "stop")) == expected


def test_a_reasoning_field_counts_as_a_thought_and_never_as_an_answer():
    turns = [AssistantTurn(YES, reasoning=r"It may be \boxed{NO}.")]
    assert reward("YES", turns, read(YES, "stop")) == 1.0
    assert reward("YES", [AssistantTurn("", reasoning=YES)], read("", "stop")) == -0.2


@pytest.mark.parametrize(
    "text",
    ["<" + " " * 200_000, "<think>" * 50_000, "<answer>" * 50_000, "\\boxed{" * 50_000, "answer: " * 50_000,
     "{" * 200_000, "not " * 50_000, "yes " * 50_000, "</think>" * 50_000, "a" + "\u0316\u0300" * 100_000, "can't " * 50_000, "<answer>" + "\n" * 200_000],
    ids=lambda text: text[:9],
)  # fmt: skip
def test_endless_repetition_is_read_at_once(text):
    """Each would take hours if any pattern went back over what it has seen."""
    assert read(text, "length").outcome is Outcome.TRUNCATED
    assert read(text, "stop").answer is None


def test_strict_reading_keeps_what_was_whole():
    assert read_strictly(r"<answer>\boxed{maybe}</answer>").has_block
    assert not read_strictly("</answer><answer>").has_block
    assert read_strictly(f"{YES}</answer>").said is None


@pytest.mark.parametrize(("text", "answer"), [(row[1], row[3]) for row in TEXTS], ids=[r[0] for r in TEXTS])
def test_the_word_of_the_answer_is_found_where_there_is_one(text, answer):
    found = find_answer(text)
    assert (found is None) == (answer is None)
    if found:
        assert text[found[0] : found[1]].upper() == answer


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", r"</answer> Or \boxed{NO}?"),
        (r"<think>Not \boxed{NO}, but \boxed{YES}?</think><answer>", "</answer>"),
        (f"<think>{NO}<think>{YES}</think></think><answer>So: ", f" it is</answer><think>{NO}</think>"),
        (r"\boxed{NO} <answer>at 6563 it rises, ", r"</answer> \boxed{YES}"),
    ],
)
def test_it_is_the_word_in_the_block_and_no_other(before, after):
    before = before or "<answer>"
    assert find_answer(rf"{before}\boxed{{ yes }}{after}") == (len(before) + 8, len(before) + 11)


def test_a_refusal_stands_at_the_beginning():
    assert is_refusal("<think>They ask for a class.</think>I won't help with this.")
    assert not is_refusal("x" * 300 + " I can't help with this.")
