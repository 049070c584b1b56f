"""The two messages of a candidate whose prompt was not published: same shape as the official ones, own words."""

from specvi_benchmark.splits.split import Message
from specvi_benchmark.tasks import Task
from specvi_benchmark.tasks.task import Indicator

SYSTEM = "You are a careful assistant."


def task_prompt(task: Task) -> tuple[Message, Message]:
    """Return the system and the user message that put one task's question.

    The user message has the official shape: a line for the picture, a sentence that names the class in
    bold, then the indicators, one a line, tagged by rank.
    """
    lines = [
        "<image>",
        f"Analyse this spectrum and decide whether the object is a **{task.class_name}**.",
        "What to look for:",
        *(f"- {_indicator(indicator)}" for indicator in task.indicators),
    ]
    return Message("system", SYSTEM), Message("user", "\n".join(lines))


def _indicator(indicator: Indicator) -> str:
    state = f"{indicator.state}: " if indicator.state else ""
    return f"({indicator.rank.capitalize()}) {state}{indicator.text}"
