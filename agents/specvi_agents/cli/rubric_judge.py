"""Let a model rate inspections by the rubric, or prefer between those of two runs."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from specvi_benchmark.errors import UserError

if TYPE_CHECKING:
    from specvi_agents.judge import Inspection
    from specvi_benchmark.rubric import Rater
    from specvi_benchmark.tasks import Task
    from specvi_benchmark.trace_page import RecordedRun
    from specvi_benchmark.traces import TraceRecord

IN_FLIGHT = 8

app = typer.Typer(add_completion=False)


@app.command()
def judge(
    runs: Annotated[list[Path], typer.Argument(help="One run to rate, or two to prefer between.")],
    model: Annotated[str, typer.Option(help="The judge, a vetter with a model, as openai:NAME.")],
    out: Annotated[Path, typer.Option(help="File of ratings; the same command goes on in it.")] = Path(
        "judged.jsonl"
    ),
    option: Annotated[
        list[str] | None, typer.Option(help="An option of the judge's backend, KEY=VALUE. May be repeated.")
    ] = None,
    number: Annotated[int, typer.Option(min=1, help="How many inspections, or pairs.")] = 20,
    seed: Annotated[int, typer.Option(help="Of the draw: as in `specvi rubric sheet`.")] = 0,
    judge_family: Annotated[
        str | None, typer.Option(help="Family of the judge, where its name does not tell.")
    ] = None,
    rated_family: Annotated[
        str | None, typer.Option(help="Family of the rated models, where their names do not tell.")
    ] = None,
    own_family: Annotated[
        bool, typer.Option("--own-family", help="Let it rate its own family; each rating will say so.")
    ] = False,
) -> None:
    """Ask the judge about inspections drawn at random: the same ones that a sheet with this seed lists."""
    from specvi_agents.agent import AgentVetter
    from specvi_agents.judge import JUDGE_PROMPT_VERSION, Judge, judge_all
    from specvi_benchmark.cli.run import options
    from specvi_benchmark.files import append_line, mend_log
    from specvi_benchmark.rubric import Rater, family_of
    from specvi_benchmark.trace_page import RecordedRun
    from specvi_benchmark.vetting import load_vetter

    if len(runs) not in {1, 2}:
        raise UserError("one run is rated, two are compared", got=f"{len(runs)} runs")
    agent = load_vetter(model, {"tool": "off", **options(option or [])})
    if not isinstance(agent, AgentVetter):
        raise UserError("this vetter has no model that could judge", where=f"--model {model}")
    rater = Rater(
        name=model,
        kind="model",
        family=judge_family or family_of(model),
        prompt_version=JUDGE_PROMPT_VERSION,
        config=dict(agent.model.config),
    )
    mend_log(out)
    jobs = _open_jobs([RecordedRun(run) for run in runs], rater, rated_family, number, seed, out)
    _refuse_own_family(rater, jobs, allowed=own_family)
    counts = {"rated": 0, "unreadable": 0}

    def take(entry: object) -> None:
        append_line(out, entry.model_dump(mode="json"))  # type: ignore[attr-defined]
        counts["unreadable" if entry.fault else "rated"] += 1  # type: ignore[attr-defined]

    asyncio.run(judge_all(Judge(agent.model, rater), jobs, take, getattr(agent, "in_flight", IN_FLIGHT)))
    typer.echo(f"{counts['rated']} rated, {counts['unreadable']} replies could not be read. Wrote {out}")
    typer.echo(f"Next: specvi rubric agree {out} YOUR_RATINGS.jsonl")


def _open_jobs(
    runs: "list[RecordedRun]", rater: "Rater", family: str | None, number: int, seed: int, out: Path
) -> "list[tuple[Task, list[Inspection]]]":
    """Return what is to be asked and not yet in the file; replies that could not be read are asked again."""
    from specvi_agents.judge import Inspection
    from specvi_benchmark.rubric import read_ratings
    from specvi_benchmark.rubric.ratings import keys_of
    from specvi_benchmark.rubric.sheet import draw, pairs, rated
    from specvi_benchmark.tasks import get_task

    chosen: Sequence[tuple[TraceRecord, ...]]
    if len(runs) == 1:
        chosen = [(one,) for one in draw(runs[0], number, seed)]
    else:
        first, second = runs
        chosen = pairs(first, second, number, seed)
    known = [entry for entry in read_ratings(out) if not entry.fault] if out.exists() else []
    done = {keys_of(entry) for entry in known if entry.rater == rater}
    jobs = []
    for traces in chosen:
        inspections = [
            Inspection(
                rated(run, trace, family),
                trace,
                dict(run.find(trace.id, trace.task).pictures),
            )
            for run, trace in zip(runs, traces, strict=True)
        ]
        key = tuple(sorted(one.rated.trace_sha256 for one in inspections))
        if key not in done:
            jobs.append((get_task(traces[0].task), inspections))
    return jobs


def _refuse_own_family(rater: "Rater", jobs: "list[tuple[Task, list[Inspection]]]", *, allowed: bool) -> None:
    """Raise where the judge would rate its own family and nobody said so; say where it is not known."""
    from specvi_benchmark.rubric import same_family

    same = {same_family(rater, *(one.rated for one in inspections)) for _, inspections in jobs}
    if True in same and not allowed:
        raise UserError(
            "a judge does not rate its own model's family without saying so",
            where=f"--model {rater.name}",
            got=f"judge and rated model are both {rater.family}",
            fix="choose another judge, or add --own-family: every rating will then say so",
        )
    if None in same:
        typer.echo(
            "It is not known whether judge and rated model are of one family: name them with --judge-family "
            "and --rated-family. The ratings will say so.",
            err=True,
        )
