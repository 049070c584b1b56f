"""The benchmark as a task of inspect_ai: ``inspect eval specvi_agents/specvi --model …``, or this file in its place.

The model inspects through the suite's own loop and environment, so that an inspection is the same whichever program
runs it; inspect_ai brings its models, retries, limits, epochs and log viewer. ``specvi import-inspect LOG`` makes a
run of the log, with the full score.
"""

from functools import lru_cache
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import get_model
from inspect_ai.scorer import Score, Scorer, Target, accuracy, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver

from specvi_agents.agent import AgentVetter
from specvi_agents.inspect_model import ModelOfInspect
from specvi_agents.options import AgentOptions
from specvi_benchmark.runs.record import SplitReference, choose_split
from specvi_benchmark.splits import Candidate, Part, Split
from specvi_benchmark.tasks import get_task
from specvi_benchmark.vetting import Verdict

SPLIT_KEY = "specvi_split"
"""Key of the log's metadata under which the split's reference stands."""

TRACES_KEY, VERDICT_KEY = "specvi_traces", "specvi_verdict"
"""Keys of a sample's store: the traces as the suite keeps them, and the verdict."""


@task  # type: ignore[untyped-decorator,unused-ignore]  # no types where inspect_ai is not installed
def specvi(
    split: str = "mini",
    part: Part = "test",
    task: str | None = None,  # the option's name everywhere
    style: str = "clean",
    title: str | None = None,
    prompt: str = "guideline",
    dialect: str = "api",
    profile: str = "default",
    tool: bool = True,
) -> Task:
    """Ask every question of a part of a split. The options are those of every agent (docs/agents.md)."""
    key = None if task is None else get_task(task).key
    options = {
        "style": style,
        "prompt": prompt,
        "dialect": dialect,
        "profile": profile,
        "tool": "on" if tool else "off",
        **({} if title is None else {"title": title}),
    }
    environment = AgentOptions.read(options)[0].environment
    chosen, reference = _chosen(split, part, key)
    return Task(
        dataset=MemoryDataset([_sample(candidate) for candidate in chosen.candidates], name=chosen.name),
        solver=inspection(split, part, key, options),
        scorer=right(),
        metadata={
            SPLIT_KEY: reference.model_dump(mode="json"),
            "specvi_environment": dict(environment.config),
        },
    )


@solver  # type: ignore[untyped-decorator,unused-ignore]
def inspection(split: str, part: Part, task: str | None, options: dict[str, str]) -> Solver:
    """Inspect a candidate through the suite's environment; the sample's own messages are not used."""
    agent = AgentOptions.read(options)[0]
    questions = {c.id: c.question for c in _chosen(split, part, task)[0].candidates}

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001  # the loop is our own
        model = ModelOfInspect(get_model())
        verdict = await AgentVetter(model, agent).vet_one(questions[str(state.sample_id)])
        state.messages = model.messages
        if model.last is not None:
            state.output = model.last
        state.store.set(TRACES_KEY, [_kept(verdict, number) for number in range(len(verdict.traces))])
        state.store.set(VERDICT_KEY, {"outcome": verdict.outcome.value, "answer": verdict.answer})
        return state

    return solve


@scorer(metrics=[accuracy(), stderr()])  # type: ignore[untyped-decorator,unused-ignore]
def right() -> Scorer:
    """Score 1 where the answer is the truth; whatever is no answer scores 0, as in the ranked rule."""

    async def score(state: TaskState, target: Target) -> Score:
        verdict = state.store.get(VERDICT_KEY) or {}
        answer = verdict.get("answer")
        return Score(
            value=1 if answer is not None and answer == target.text else 0,
            answer=answer,
            explanation=verdict.get("outcome", "no verdict"),
        )

    return score


@lru_cache(maxsize=1)
def _chosen(split: str, part: Part, task: str | None) -> tuple[Split, SplitReference]:
    return choose_split(split, part, task)


def _sample(candidate: Candidate) -> Sample:
    """Return a sample: what the viewer lists. Pictures are drawn when the sample is asked."""
    return Sample(
        id=candidate.id,
        input=candidate.task.question,
        target=candidate.truth,
        metadata={"task": candidate.task.key, "track": candidate.track, "object_id": candidate.object_id},
    )


def _kept(verdict: Verdict, number: int) -> dict[str, Any]:
    record: dict[str, Any] = verdict.traces[number].record(verdict.task, verdict.id).model_dump(mode="json")
    return record
