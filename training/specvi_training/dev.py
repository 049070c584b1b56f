"""How a training is watched: dev candidates inspected by the model as it stands, and scored as every system is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from specvi_agents.models.local.chat import Chat
from specvi_agents.models.local.decoding import Decoding
from specvi_agents.models.local.model import LocalModel
from specvi_agents.options import AgentOptions
from specvi_benchmark.errors import UserError
from specvi_benchmark.runs.evaluate import rows_of
from specvi_benchmark.runs.foreign import PredictionFile, Row
from specvi_benchmark.runs.matching import match
from specvi_benchmark.runs.predictions import prediction_of
from specvi_benchmark.scoring.ledger import ledgers
from specvi_benchmark.scoring.metrics import Rule, metrics, tables
from specvi_benchmark.splits import Split
from specvi_benchmark.splits.named import find_split
from specvi_benchmark.vetting import Verdict
from specvi_training.config import DevPart
from specvi_training.rounds import inspect_in_rounds

METRIC = "f1"
"""What is compared between scores: F1, its mean over the tasks; a non-answer is wrong."""


def dev_candidates(part: DevPart) -> Split:
    """Return the candidates to be watched on: of each task the first ``limit``, YES and NO by turns.

    Raises
    ------
    UserError
        The split has none of a task that is named, or none at all.
    """
    asked = find_split(part.split).select(part=part.part)
    tasks = part.tasks or asked.tasks
    kept: list[Any] = []
    for task in tasks:
        mine = asked.select(task=task).candidates
        if not mine:
            raise UserError(
                "there is nothing to be watched on",
                where=f"dev: split {part.split}, part {part.part}, task {task}",
                expected=f"one of {', '.join(asked.tasks) or 'no task at all'}",
            )
        kept += _by_turns(mine)[: part.limit]
    return Split(asked.name, asked.version, tuple(kept), asked.recipe)


def _by_turns(candidates: Sequence[Any]) -> list[Any]:
    """Return YES and NO by turns as long as there are both, then the rest."""
    both = [[c for c in candidates if c.truth == truth] for truth in ("YES", "NO")]
    paired = [c for pair in zip(*both, strict=False) for c in pair]
    return [*paired, *(c for c in candidates if c not in paired)]


@dataclass(frozen=True, slots=True)
class DevScorer:
    """Scores a model that is being trained.

    Attributes
    ----------
    candidates, chat, options
        Whom to ask, and how.
    part
        Batch size and tokens of a reply.
    """

    candidates: Split
    chat: Chat
    options: AgentOptions
    part: DevPart

    def score(self, model: Any) -> dict[str, float]:
        """Return ``f1`` and ``accuracy``, means over tasks, ``answered``, ``calls``, and ``f1_<task>`` of each.

        The model is left as it was, and so are random numbers, lest watching change what is watched.
        """
        was_training, cached = (
            model.training,
            model.config.use_cache if hasattr(model.config, "use_cache") else None,
        )
        settings = model.generation_config
        devices = [model.device] if model.device.type == "cuda" else []
        model.eval()
        try:
            with torch.random.fork_rng(devices=devices), torch.no_grad():
                local = LocalModel(model, self.chat)
                questions = [candidate.question for candidate in self.candidates.candidates]
                verdicts = inspect_in_rounds(
                    local,
                    questions,
                    self.options.environment,
                    Decoding(self.part.max_tokens),
                    batch_size=self.part.batch_size,
                )
        finally:
            model.generation_config = settings
            if cached is not None:
                model.config.use_cache = cached
            model.train(was_training)
        return score_verdicts(verdicts, self.candidates)


def score_verdicts(verdicts: Sequence[Verdict], split: Split) -> dict[str, float]:
    """Return the scores of verdicts on these candidates; see `DevScorer.score`."""
    rows = tuple(Row(f"answer {number}", prediction_of(v)) for number, v in enumerate(verdicts, start=1))
    matched = match(PredictionFile(where="dev", rows=rows, faults={}), split)
    ranked = rows_of(matched)
    found = metrics(tables(ledgers(ranked), Rule.RANKED))
    by_task: Mapping[str, float] = {
        f"f1_{group.task}": float(value) for group, value in zip(ranked.groups, found.f1, strict=True)
    }
    count = len(verdicts)
    return {
        METRIC: float(found.f1.mean()),
        "accuracy": float(found.accuracy.mean()),
        "answered": sum(verdict.answer is not None for verdict in verdicts) / count,
        "calls": sum(verdict.tool_calls for verdict in verdicts) / count,
        **by_task,
    }
