"""Make a submission for a leaderboard of a finished run or a file of answers."""

from pathlib import Path
from typing import Annotated

import typer

from specvi_benchmark.tasks.task import AskedTrack

app = typer.Typer()

TEMPLATE = """\
name: My system 1.0            # letters, digits, blank . _ + ( ) -
authors: [Your Name]
date: 2026-01-31               # of the answers
kind: agent                    # constant, rules, classical, deep-learning, ensemble, vlm, agent or people
licence: Apache-2.0            # SPDX, or proprietary
training:                      # every set it has learnt from; leave out for constant, rules and people
  - name: SpecVI-Bench train
    link: https://huggingface.co/datasets/Maxwell-Jia/SpecVI-Bench
links:                         # each may be left out: paper, code, model, page
  code: https://example.org/code
model:                         # leave out where nothing public can be run again
  vetter: transformers
  hub_id: your-name/your-model
  revision: 0123456789abcdef0123456789abcdef01234567   # a commit, not a branch
  options: {temperature: 1, votes: 3}                  # as with `specvi run --option`; may be left out
hardware: 1 x H200             # may be left out
notes: Three samples a candidate, majority of votes.   # plain words; may be left out
"""


@app.command()
def submit(
    target: Annotated[
        Path | None, typer.Argument(metavar="RUN", help="Finished run folder, or file with id, task, answer.")
    ] = None,
    meta: Annotated[Path | None, typer.Option(help="Metadata: name, authors, kind, …")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder to write: submissions/ID. Its name is the id for good.")
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="Split of a file of answers; for a run, where it has moved.")
    ] = None,
    task: Annotated[str | None, typer.Option(help="Only this task, for a file of answers.")] = None,
    track: Annotated[
        AskedTrack | None, typer.Option(help="Track, for a file of answers; see specvi run.")
    ] = None,
    template: Annotated[
        bool, typer.Option("--template", help="Print metadata to fill in, and do nothing else.")
    ] = False,
) -> None:
    """Write a submission's folder, check it as a maintainer will, and print the scores it would get."""
    from specvi_benchmark.errors import UserError
    from specvi_benchmark.runs.record import choose_split
    from specvi_benchmark.tasks import get_task
    from specvi_leaderboard.cli.printed_check import print_check
    from specvi_leaderboard.submissions.submit import make_submission, read_description

    if template:
        typer.echo(TEMPLATE, nl=False)
        return
    if target is None or meta is None or out is None:
        raise UserError(
            "a submission is made of answers and metadata",
            expected="specvi submit RUN --meta model.yaml --out submissions/my-system",
            fix="specvi submit --template > model.yaml",
        )
    description = read_description(meta)
    reference = None
    if not target.is_dir() and split is not None:
        _, reference = choose_split(split, "test", get_task(task).key if task else None, track)
    checked = make_submission(target, description, out, reference, split)
    print_check(checked)
    typer.echo(f"Wrote {out}")
    typer.echo("Next: add the folder to the leaderboard's repository in a pull request (docs/submit.md)")
