"""The messages an inspection begins with. Every word comes from the task, the view and the settings.

Nothing else of a spectrum is written out: names, classes and comments of a file are text of strangers, which
could give the label away, or orders.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

from jinja2 import Environment, PackageLoader, StrictUndefined

from specvi_agents.messages import IMAGE_MARK, Message, Picture
from specvi_benchmark.splits.prompt import task_prompt
from specvi_benchmark.tasks import Task
from specvi_benchmark.vetting import Question
from specvi_benchmark.views import View
from specvi_benchmark.views.tool import TOOL_NAME

PROMPT_VERSION = 1
"""Raised whenever a byte of what the environment says can change: opening, tool answers, budget notes."""

PromptName = Literal["guideline", "official"]
"""``guideline``: all that the task knows, and how to answer. ``official``: the published messages of the
question, or where none were published the task's in the same shape; the released checkpoints were trained on
these, and know the answer format without being told."""


def opening(
    question: Question, view: View, picture: Picture, frame: str, *, name: PromptName, **settings: Any
) -> tuple[Message, ...]:
    """Return system and user message, the picture of the whole spectrum with the latter.

    Parameters
    ----------
    question, view, picture
        What is asked, and the full view.
    frame
        A sentence that says which redshift was used.
    name
        Which prompt.
    settings
        ``has_tool`` and ``budget``, for the guideline.
    """
    if name == "official":
        return _with_picture(_official(question), picture)
    system = guideline(question.task, settings)
    return Message("system", system), Message(
        "user", f"{IMAGE_MARK}\n{_asked(question, view, frame)}", (picture,)
    )


def guideline(task: Task, settings: Mapping[str, Any]) -> str:
    """Return the system turn of the guideline prompt; the same for every question of a task."""
    template = _templates().get_template("guideline.jinja")
    return template.render(task=task, tool_name=TOOL_NAME, **settings).strip()


@cache
def _templates() -> Environment:
    return Environment(  # noqa: S701  # plain text for a model: nothing to escape
        loader=PackageLoader("specvi_agents", "prompts"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _asked(question: Question, view: View, frame: str) -> str:
    """Return what is said of the full view, and the question."""
    low, high = view.window_AA
    bad = f", {view.n_masked} bad ones left out" if view.n_masked else ""
    return (
        f"The whole spectrum: {low:.1f} to {high:.1f} Å, {view.n_points} pixels{bad}; {frame}.\n"
        f"{question.task.question}"
    )


def _official(question: Question) -> tuple[Message, ...]:
    if not question.prompt:
        return tuple(_message(message.role, message.content) for message in task_prompt(question.task))
    return tuple(_message(role, text) for role, text in question.prompt)


def _message(role: str, text: str) -> Message:
    if role == "system":
        return Message("system", text)
    return Message("user", text)


def _with_picture(messages: tuple[Message, ...], picture: Picture) -> tuple[Message, ...]:
    """Give the picture to the last user message: the published ones have one, and its mark is there."""
    *before, last = messages
    return *before, Message(last.role, last.text, (picture,))
