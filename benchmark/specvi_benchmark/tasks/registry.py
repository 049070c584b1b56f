"""Finds tasks by key or by any spelling the official data uses."""

from functools import cache
from importlib.resources import files

from specvi_benchmark.errors import UserError
from specvi_benchmark.files import parse_yaml, validate
from specvi_benchmark.tasks.task import Task

TASK_KEYS: tuple[str, ...] = ("cv", "cs", "ss", "mg", "wd", "o", "b", "a", "qso")


@cache
def get_task(spelling: str) -> Task:
    """Return the task with this key or official spelling, in any case.

    Raises
    ------
    UserError
        No task is spelled so.
    """
    key = _spellings().get(_fold(spelling))
    if key is None:
        raise UserError(
            "no such task",
            where=f"task {spelling!r}",
            expected=f"one of {', '.join(TASK_KEYS)}",
            got=spelling,
            fix="`specvi tasks` lists them with their official spellings",
        )
    return _load(key)


def all_tasks() -> tuple[Task, ...]:
    """Return every task, in the order of `TASK_KEYS`."""
    return tuple(_load(key) for key in TASK_KEYS)


@cache
def _load(key: str) -> Task:
    source = files("specvi_benchmark.tasks") / f"{key}.yaml"
    return validate(Task, parse_yaml(source.read_text(encoding="utf-8"), source), source)


@cache
def _spellings() -> dict[str, str]:
    return {
        _fold(name): task.key
        for task in all_tasks()
        for name in (task.key, task.class_name, task.data_source, *task.aliases)
    }


def _fold(spelling: str) -> str:
    return spelling.strip().casefold().replace("_", " ").replace("-", " ")
