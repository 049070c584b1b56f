"""Reads trajectories as training data: chosen, told apart from dev, and named by one fingerprint."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specvi_agents.environment import EnvironmentOptions
from specvi_agents.parsing import find_answer
from specvi_agents.rereading import reread
from specvi_agents.trajectories.conversation import Said, conversation
from specvi_agents.trajectories.records import Trajectory
from specvi_agents.trajectories.store import read
from specvi_benchmark.errors import UserError, examples
from specvi_benchmark.files import canonical_json
from specvi_benchmark.splits import Split
from specvi_benchmark.splits.weak import draw
from specvi_training.model import Boilerplate
from specvi_training.sft.config import DataPart

_SHOWN = ("prompt", "tool", "view")
"""Settings of an inspection that change what the model sees; budget and dialect change no word of a finished one."""

_SHORTEST_LINE = 20
_KEPT_IN_PIECES = re.compile(r"boxed|<image>|^.{0,4}$")


@dataclass(frozen=True, slots=True)
class Lesson:
    """A trajectory as it is learnt. Pictures are read when they are needed."""

    trajectory: Trajectory
    messages: tuple[Said, ...]

    @property
    def id(self) -> str:
        """Return what names it."""
        return self.trajectory.id

    @property
    def pngs(self) -> list[bytes]:
        """Return the PNG bytes of every picture, in order."""
        return [self.trajectory.png(shown.sha256) for said in self.messages for shown in said.pictures]


def read_lessons(part: DataPart) -> tuple[Lesson, ...]:
    """Return the trajectories of a configuration, in the order of folders and ids.

    Raises
    ------
    UserError
        A folder can't be read, or nothing is left to learn from.
    """
    found = [
        trajectory
        for folder in part.trajectories
        for trajectory in read(Path(folder).expanduser(), at_least=part.at_least)
        if trajectory.state != "rejected" and (not part.tasks or trajectory.record.task in part.tasks)
    ]
    if not found:
        raise UserError(
            "there is nothing to learn from",
            where=f"data.trajectories: {', '.join(part.trajectories)}",
            expected=f"trajectories that are at least {part.at_least}"
            + (f", of {', '.join(part.tasks)}" if part.tasks else ""),
            fix="screen and accept some (`specvi trajectories`), or lower data.at_least",
        )
    there = {one.record.task for one in found}
    if missing := [task for task in part.tasks if task not in there]:
        raise UserError(
            "a task that is named has no trajectory",
            where=f"data.tasks: {', '.join(missing)}",
            expected=f"tasks among {', '.join(sorted(there))}",
        )
    chosen = found if part.limit is None else _limited(found, part.limit)
    lessons = tuple(Lesson(one, conversation(one.record, one.trace)) for one in chosen)
    if twice := [
        one for (one, _), count in Counter((one.id, one.messages) for one in lessons).items() if count > 1
    ]:
        raise UserError(
            "trajectories would be learnt twice, word for word",
            where=f"data.trajectories: {', '.join(part.trajectories)}",
            got=examples(twice),
            fix="name each folder once, and no copy of one",
        )
    return lessons


def _limited(found: Sequence[Trajectory], limit: int) -> list[Trajectory]:
    """Return at most so many of each task, YES and NO by turns, in the order of a hash."""
    chosen: list[Trajectory] = []
    for task in dict.fromkeys(one.record.task for one in found):
        mine = sorted(
            (one for one in found if one.record.task == task), key=lambda one: draw(f"sft {one.id}")
        )
        places: Counter[str] = Counter()
        ranked = []
        for one in mine:
            places[one.record.truth] += 1
            ranked.append((places[one.record.truth], one))
        chosen += [one for _, one in sorted(ranked, key=lambda pair: pair[0])][:limit]
    return chosen


def refuse_one_sided(lessons: Sequence[Lesson]) -> None:
    """Raise if of a task no lesson answers YES, or none NO, and is right."""
    right: dict[str, Counter[str]] = {}
    for lesson in lessons:
        record, said = lesson.trajectory.record, reread([lesson.trajectory.trace])
        counts = right.setdefault(record.task, Counter(YES=0, NO=0))
        counts[record.truth] += (said.answer or said.answer_lenient) == record.truth
    if one_sided := {task: counts for task, counts in sorted(right.items()) if not all(counts.values())}:
        raise UserError(
            "a task is taught with one answer only, and a model learns to say that of everything",
            where=f"data: {', '.join(one_sided)}",
            expected="of each task some lessons that rightly answer YES, and some that rightly answer NO",
            got="; ".join(
                f"{task}: {had['YES']} rightly YES, {had['NO']} rightly NO" for task, had in one_sided.items()
            ),
            fix="draft, screen or accept more of the task, raise data.limit, or leave the task out with data.tasks; "
            "if one answer is what you mean to teach, write data.one_sided: true",
        )


def refuse_without_answer(lessons: Sequence[Lesson]) -> None:
    """Raise if a lesson has no word that says YES or NO, for that is what `answer_weight` weighs."""
    if without := [lesson.id for lesson in lessons if not find_answer(lesson.messages[-1].text)]:
        raise UserError(
            "answer_weight weighs the YES or NO of the answer's box, and there is none",
            where=f"trajectories {examples(without)}",
            expected=r"an end with <answer> and one \boxed{YES} or \boxed{NO} in it",
            fix="learn from screened ones (data.at_least: screened), or leave answer_weight out",
        )


def refuse_other_inspection(lessons: Sequence[Lesson], options: EnvironmentOptions) -> None:
    """Raise if trajectories show other pictures or words than the model will be asked with."""
    asked = options.config
    for lesson in lessons:
        if lesson.trajectory.record.imported is not None:
            continue  # its pictures and words are somebody else's, and known to be
        was = lesson.trajectory.trace.environment
        if differing := [name for name in _SHOWN if name in was and was[name] != asked[name]]:
            name = differing[0]
            raise UserError(
                "a trajectory was drawn with other settings than the model will be asked with",
                where=f"trajectory {lesson.id}",
                expected=f"{name} {asked[name]} (the configuration's `inspection`)",
                got=was[name],
                fix="give `inspection` the options that the trajectories were drafted with",
            )


def refuse_overlap(lessons: Sequence[Lesson], dev: Split) -> None:
    """Raise if an object, or a spectrum's file, is learnt from and watched on too."""
    watched = {name for c in dev.candidates for name in (c.object_id, c.spectrum.name) if name}
    records = [lesson.trajectory.record for lesson in lessons]
    both = sorted({name for r in records for name in (r.object_id, r.source_name) if name in watched})
    if both:
        raise UserError(
            "objects are both learnt from and watched on",
            where="dev",
            expected="candidates whose objects are in no trajectory",
            got=examples(both),
            fix="take another part for dev, or leave these trajectories out",
        )


def describe(lessons: Sequence[Lesson]) -> Mapping[str, Any]:
    """Return counts by task and truth, and the fingerprint of everything that is learnt."""
    digest = hashlib.sha256()
    for lesson in lessons:
        said = [[one.role, one.text, [shown.sha256 for shown in one.pictures]] for one in lesson.messages]
        digest.update(canonical_json([lesson.id, lesson.trajectory.record.task, said]))
    counts: dict[str, Counter[str]] = {}
    for lesson in lessons:
        record = lesson.trajectory.record
        counts.setdefault(record.task, Counter())[record.truth] += 1
    return {
        "trajectories": len(lessons),
        "counts": {task: dict(sorted(truths.items())) for task, truths in sorted(counts.items())},
        "pictures": sum(len(said.pictures) for lesson in lessons for said in lesson.messages),
        "teachers": dict(Counter(lesson.trajectory.record.teacher for lesson in lessons)),
        "fingerprint": digest.hexdigest(),
    }


def boilerplate(lessons: Sequence[Lesson]) -> Boilerplate:
    """Return what a tiny model's tokenizer is made for: every text, and phrases that become one token each.

    Phrases are the lines that come before the first turn, and of the assistant the calls and sentences that come back.
    Copying a call digit by digit is what so small a model learns last. Anything with a box stays in pieces, or a
    random model would draw an answer whole.
    """
    texts = [said.text for lesson in lessons for said in lesson.messages]
    told = {
        line.strip()
        for lesson in lessons
        for said in lesson.messages[:2]
        if said.role in {"system", "user"}
        for line in said.text.split("\n")
        if len(line.strip()) >= _SHORTEST_LINE
    }
    written = Counter(
        phrase
        for lesson in lessons
        for said in lesson.messages
        if said.role == "assistant"
        for phrase in _phrases(said.text)
    )
    often = max(2, len(lessons) // 50)
    phrases = told | {phrase for phrase, count in written.items() if count >= often}
    return Boilerplate(texts, sorted(phrase for phrase in phrases if not _KEPT_IN_PIECES.search(phrase)))


def _phrases(text: str) -> Iterator[str]:
    """Yield the calls and sentences of an assistant's turn."""
    for line in re.sub(r"</?(think|answer|tool_call)>", "\n", text).split("\n"):
        yield from ([line] if line.startswith("{") else re.split(r"(?<=\.) ", line.strip()))
