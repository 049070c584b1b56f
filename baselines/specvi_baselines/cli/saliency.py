"""Show what a trained network looked at in one candidate, drawn on the spectrum with line markers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from specvi_benchmark.errors import UserError

if TYPE_CHECKING:
    from specvi_baselines.networks.saliency import Saliency, Share
    from specvi_benchmark.splits import Candidate, Split

app = typer.Typer(add_completion=False)


@app.command()
def saliency(
    model: Annotated[Path, typer.Argument(help="Folder of a trained network.")],
    split: Annotated[str, typer.Argument(help="Split of the candidates, for example mini.")],
    candidate: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="Candidate. Without: shares only, see --task.")
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="Without ID: the members of this task in the part test.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Picture to write. Default: saliency-ID.png.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Without ID: at most so many candidates.")] = 50,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON instead of sentences.")] = False,
) -> None:
    """Attribute the answer of a network to wavelengths (integrated gradients), and say how much falls where it should.

    With ID one candidate is drawn; without it, shares are averaged over the members of a task that the network
    calls more likely a member than not.
    """
    from specvi_baselines.networks.folder import read_model, read_record
    from specvi_baselines.networks.saliency import saliency as attribute
    from specvi_benchmark.splits.named import find_split

    record = read_record(model)
    network = read_model(model, record)
    chosen = _chosen(find_split(split), candidate, task, limit)
    found = [attribute(network, one.question, record.tasks, record.settings.grid) for one in chosen]
    if candidate is None:
        _tell_many(found, task or "", json_)
        return
    from specvi_baselines.networks.figure import draw
    from specvi_benchmark.files import write_bytes

    picture = out or Path(f"saliency-{candidate}.png")
    write_bytes(picture, draw(found[0], chosen[0].question))
    _tell_one(found[0], picture, json_)


def _chosen(split: "Split", candidate: str | None, task: str | None, limit: int) -> "list[Candidate]":
    from specvi_benchmark.tasks import get_task

    if candidate is not None:
        chosen = [one for one in split.candidates if one.id == candidate]
        if not chosen:
            raise UserError("no such candidate", where=f"split {split.name}", got=candidate)
        return chosen
    if task is None:
        raise UserError("name a candidate, or a task with --task", where="ID")
    of_task = split.select(part="test", task=get_task(task).key).candidates
    members = [one for one in of_task if one.truth == "YES"][:limit]
    if not members:
        raise UserError("the part test has no member of this task", where=f"split {split.name}", got=task)
    return members


def _tell_one(found: "Saliency", picture: Path, json_: bool) -> None:
    import json

    if json_:
        typer.echo(json.dumps(_numbers(found) | {"picture": str(picture)}, indent=2))
        return
    typer.echo(f"P(YES) {found.p_yes:.3f} at equal shares")
    for name, share in (("the task's windows", found.windows), ("deciding stretches", found.decisive)):
        if share is not None:
            typer.echo(
                f"{share.share:.0%} of the attribution falls on {name}, which hold {share.width:.0%} of the pixels"
            )
    typer.echo(f"Wrote {picture}")


def _tell_many(found: "list[Saliency]", task: str, json_: bool) -> None:
    import json

    import numpy as np

    seen = [one for one in found if one.p_yes >= 0.5]
    rows = {}
    for name in ("windows", "decisive"):
        shares: list[Share] = [share for one in seen if (share := getattr(one, name)) is not None]
        if shares:
            each = np.array([share.share for share in shares])
            error = float(each.std(ddof=1) / np.sqrt(len(each))) if len(each) > 1 else float("nan")
            width = float(np.mean([share.width for share in shares]))
            rows[name] = {"share": float(each.mean()), "standard_error": error, "width": width}
    if json_:
        typer.echo(json.dumps({"task": task, "members": len(found), "called": len(seen), **rows}, indent=2))
        return
    typer.echo(
        f"{task}: {len(seen)} of {len(found)} members are more likely members than not to this network"
    )
    for name, row in rows.items():
        typer.echo(
            f"  {row['share']:.0%} ± {row['standard_error']:.0%} of the attribution on {name}, {row['width']:.0%} of the pixels"
        )


def _numbers(found: "Saliency") -> dict[str, object]:
    shares = {"windows": found.windows, "decisive": found.decisive}
    return {"p_yes": found.p_yes, "residue": found.residue} | {
        name: None if share is None else {"share": share.share, "width": share.width, "lift": share.lift}
        for name, share in shares.items()
    }
