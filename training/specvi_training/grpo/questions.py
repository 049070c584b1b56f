"""Puts the questions of a GRPO in the order they are asked, for all epochs at once, so that a resume needs no more."""

import hashlib
import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from specvi_benchmark.errors import UserError, examples
from specvi_benchmark.files import canonical_json
from specvi_benchmark.splits import Candidate, Split
from specvi_benchmark.splits.named import find_split
from specvi_training.config import DevPart
from specvi_training.dev import dev_candidates
from specvi_training.grpo.config import DifficultyPart, GrpoConfig, QuestionsPart
from specvi_training.grpo.journal import shares_right


def read_questions(part: QuestionsPart) -> Split:
    """Return the candidates that are asked.

    Raises
    ------
    UserError
        The split has none, or difficulty leaves none.
    """
    find_split(part.split)
    chosen = dev_candidates(DevPart(split=part.split, part=part.part, tasks=part.tasks, limit=part.limit))
    if part.difficulty is None:
        return chosen
    kept = tuple(_of_use(chosen.candidates, part.difficulty))
    if not kept:
        raise UserError(
            "no question is left",
            where=f"questions.difficulty: {part.difficulty.rollouts}",
            expected=f"a share of right answers from {part.difficulty.least:g} to {part.difficulty.most:g}",
            got=f"none of {len(chosen.candidates)} candidates",
        )
    return Split(chosen.name, chosen.version, kept, chosen.recipe)


def _of_use(candidates: Sequence[Candidate], part: DifficultyPart) -> list[Candidate]:
    shares = shares_right(Path(part.rollouts).expanduser())
    return [
        candidate
        for candidate in candidates
        if (share := shares.get((candidate.task.key, candidate.id))) is None
        or part.least <= share <= part.most
    ]


def refuse_overlap(asked: Split, dev: Split) -> None:
    """Raise if an object that is asked about is watched on too."""
    watched = {candidate.object_id for candidate in dev.candidates}
    if both := sorted({candidate.object_id for candidate in asked.candidates} & watched):
        raise UserError(
            "objects are both trained and watched on",
            where="dev",
            expected="candidates whose objects are in no question of the training",
            got=examples(both),
            fix="take another part for dev",
        )


def order(candidates: Sequence[Candidate], config: GrpoConfig) -> list[int]:
    """Return the numbers of the candidates in the order they are asked, whole rounds of them.

    Every epoch is drawn anew from the seed. With a balance, classes take turns, so that each round has as many of both.

    Raises
    ------
    UserError
        There are too few for a single round.
    """
    drawn = random.Random(config.seed)  # noqa: S311  # no secret
    asked: list[int] = []
    for _ in range(config.epochs):
        asked += _epoch(candidates, config.questions.balance, drawn)
    whole = len(asked) - len(asked) % config.rollouts.prompts
    if not whole:
        raise UserError(
            "the questions do not fill one round",
            where=f"rollouts.prompts: {config.rollouts.prompts}",
            expected="at most as many as are asked in all epochs",
            got=f"{len(asked)} questions",
            fix="lower rollouts.prompts, or ask more",
        )
    return asked[:whole]


def _epoch(candidates: Sequence[Candidate], balance: str, drawn: random.Random) -> list[int]:
    numbers = list(range(len(candidates)))
    if balance == "as_is":
        drawn.shuffle(numbers)
        return numbers
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number in numbers:
        groups[candidates[number].task.key, candidates[number].truth].append(number)
    largest: dict[str, int] = Counter()
    for (task, _), members in groups.items():
        largest[task] = max(largest[task], len(members))
    most = max(largest.values())
    drawn_by_class: dict[str, list[int]] = defaultdict(list)
    for (task, truth), members in sorted(groups.items()):
        drawn_by_class[truth] += _repeated(members, most if balance == "task" else largest[task], drawn)
    for members in drawn_by_class.values():
        drawn.shuffle(members)
    return _by_turns(list(drawn_by_class.values()))


def _repeated(members: Sequence[int], count: int, drawn: random.Random) -> list[int]:
    """Return ``count`` of them, each as often as any other or once more."""
    whole, rest = divmod(count, len(members))
    return [*members] * whole + drawn.sample(members, rest)


def _by_turns(classes: list[list[int]]) -> list[int]:
    """Return one of each class by turns as long as there are both, then the rest."""
    turns = [number for pair in zip(*classes, strict=False) for number in pair]
    shortest = min(map(len, classes))
    return turns + [number for members in classes for number in members[shortest:]]


def describe(asked: Split, plan: Sequence[int]) -> Mapping[str, Any]:
    """Return counts by task and truth, and the fingerprints of the candidates and of their order."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for candidate in asked.candidates:
        counts[candidate.task.key][candidate.truth] += 1
    ids = [asked.candidates[number].id for number in plan]
    return {
        "split": asked.name,
        "candidates": len(asked.candidates),
        "counts": {task: dict(sorted(truths.items())) for task, truths in sorted(counts.items())},
        "questions": len(plan),
        "fingerprint": asked.fingerprint,
        "order": hashlib.sha256(canonical_json(ids)).hexdigest(),
    }
