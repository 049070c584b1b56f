"""The nine YES/NO questions, each one readable file in this folder."""

from specvi_benchmark.tasks.registry import TASK_KEYS, all_tasks, get_task
from specvi_benchmark.tasks.task import BorderCase, Confuser, Indicator, Task, Window

__all__ = [
    "TASK_KEYS",
    "BorderCase",
    "Confuser",
    "Indicator",
    "Task",
    "Window",
    "all_tasks",
    "get_task",
]
