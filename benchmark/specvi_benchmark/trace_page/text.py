"""A recorded inspection as plain text. Nothing in it can move a cursor or turn the direction of reading."""

import unicodedata
from collections.abc import Iterator

from specvi_benchmark.tasks import TASK_KEYS, get_task
from specvi_benchmark.trace_page.recorded import Recorded, Shown
from specvi_benchmark.traces import TraceRecord, Turn

PROMPT_CHARACTERS = 400
"""Of system and user turns so much is shown, unless all is asked for."""

_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
_KEPT = {"\n", "\t"}


def render_text(recorded: Recorded, *, full: bool = False) -> str:
    """Return the inspection as text; long prompts are cut unless ``full``."""
    lines = [f"{recorded.task} {visible(recorded.id)}: {question_of(recorded.task)}", *facts(recorded)]
    for sample in recorded.samples:
        if len(recorded.samples) > 1:
            lines += ["", f"═══ sample {sample.sample} ═══"]
        lines += _sample(recorded, sample, full=full)
    return "\n".join(lines)


def question_of(task: str) -> str:
    """Return the question of a task; that of an unknown one is not known."""
    return get_task(task).question if task in TASK_KEYS else "a task this version does not know"


def facts(recorded: Recorded) -> Iterator[str]:
    """Yield what was run on what, and what came out, a line each."""
    split = recorded.run.split
    yield f"{visible(recorded.run.vetter)} over {visible(split.name)} {visible(split.version)} ({split.part or 'all parts'})"
    row = recorded.prediction
    if row is None:
        yield "No prediction: the run was stopped between trace and prediction."
        return
    parts = [f"Verdict: {row.answer or 'none'} ({row.outcome.value})"]
    if row.answer_lenient != row.answer:
        parts.append(f"read leniently {row.answer_lenient or 'none'}")
    if row.votes:
        parts.append(f"votes {', '.join(row.votes)}")
    if row.p_yes is not None:
        parts.append(f"P(YES) {row.p_yes:.2f}")
    if recorded.truth is not None:
        parts.append(f"truth {recorded.truth}")
    if row.tool_calls:
        parts.append(f"{row.tool_calls} tool call{'' if row.tool_calls == 1 else 's'}")
    if row.tokens_out:
        parts.append(f"{row.tokens_in or 0:,} tokens in, {row.tokens_out:,} out")
    if row.cost_usd:
        parts.append(f"${row.cost_usd:.4f}")
    if row.seconds is not None:
        parts.append(f"{row.seconds:.2f} s")
    yield ", ".join(parts)


def view_words(shown: Shown) -> str:
    """Say what a picture shows and how large it is, or why it can't be shown."""
    view = shown.record
    low, high = view.window_AA
    size = f"{view.size_px[0]} × {view.size_px[1]} px"
    words = f"{low:.1f} to {high:.1f} Å, {view.frame} frame, style {visible(view.style)}, {size}"
    if shown.fault:
        return f"{words}; NOT SHOWN: {shown.fault}"
    return f"{words}, {len(shown.png):,} bytes, {view.png_sha256[:12]}"


def visible(text: str) -> str:
    """Return the text with everything unseen written out: control signs, marks of direction, lone surrogates.

    Line breaks and tabs stay; a carriage return before a line break goes.
    """
    return "".join(
        sign if sign in _KEPT or unicodedata.category(sign) not in _UNSEEN else f"⟨U+{ord(sign):04X}⟩"
        for sign in text.replace("\r\n", "\n")
    )


def _sample(recorded: Recorded, sample: TraceRecord, *, full: bool) -> Iterator[str]:
    for number, turn in enumerate(sample.turns, start=1):
        yield ""
        yield f"── {number} {turn.role}{_aside(turn)} ──"
        for view in turn.views:
            yield f"[picture: {view_words(recorded.pictures[view.png_sha256])}]"
        if turn.reasoning:
            yield f"[reasoning field] {visible(turn.reasoning)}"
        if turn.text:
            yield _shortened(turn, full=full)
        if turn.refusal:
            yield f"[refusal field] {visible(turn.refusal)}"
        for call in turn.tool_calls:
            yield f"[call {visible(call.id)}] {visible(call.name)}({visible(call.arguments)})"


def _aside(turn: Turn) -> str:
    parts = [f"answers {visible(turn.tool_call_id)}"] if turn.tool_call_id else []
    if turn.stop not in (None, "stop", "tool_calls"):
        parts.append(f"ended by {visible(turn.stop)}")
    return f" ({', '.join(parts)})" if parts else ""


def _shortened(turn: Turn, *, full: bool) -> str:
    text = visible(turn.text)
    if full or turn.role not in ("system", "user") or len(text) <= PROMPT_CHARACTERS:
        return text
    return (
        f"{text[:PROMPT_CHARACTERS]}… ({len(text) - PROMPT_CHARACTERS:,} more characters; --full shows them)"
    )
