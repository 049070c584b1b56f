import re

import pytest

from specvi_benchmark.splits.prompt import task_prompt
from specvi_benchmark.tasks import all_tasks


@pytest.mark.parametrize("task", all_tasks(), ids=lambda task: task.key)
def test_the_prompt_has_the_official_shape(task):
    system, user = task_prompt(task)
    assert (system.role, user.role) == ("system", "user")
    assert "\n" not in system.content
    first, second, _, *bullets = user.content.split("\n")
    assert first == "<image>"
    assert re.findall(r"\*\*(.+?)\*\*", second) == [
        task.class_name
    ]  # readers recover the task from this line
    assert len(bullets) == len(task.indicators)
    for bullet, indicator in zip(bullets, task.indicators, strict=True):
        rank, text = re.fullmatch(r"- \((Primary|Secondary|Supporting)\) (.+)", bullet).groups()
        assert rank.lower() == indicator.rank
        assert text == (f"{indicator.state}: {indicator.text}" if indicator.state else indicator.text)
