"""Work out memory and time of an SFT or a GRPO from its configuration, without weights or a GPU."""

from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command()
def cost(
    config: Annotated[str, typer.Argument(help="A YAML file, or a shipped one by name: sft_7b, grpo_7b, …")],
    gpus: Annotated[int, typer.Option(min=1, help="How many share the work.")] = 8,
    zero: Annotated[int, typer.Option(min=0, max=3, help="ZeRO stage: 0 for none, 2 or 3.")] = 3,
    tokens: Annotated[
        int | None,
        typer.Option(
            min=1, help="Tokens of a mean row, pictures included. Default: 4000 of an SFT, 6000 of a GRPO."
        ),
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Trajectories of an SFT (942), or questions of an epoch of a GRPO (3108): the released ones.",
        ),
    ] = None,
    written: Annotated[
        int, typer.Option(min=1, help="GRPO: tokens of a mean row that the model writes.")
    ] = 1200,
    rate: Annotated[
        float, typer.Option(min=1, help="GRPO: tokens that a GPU writes a second, all rows together.")
    ] = 2000,
    gpu_gib: Annotated[
        float, typer.Option(min=1, help="GRPO: memory of a GPU, of which vLLM has a share, GiB.")
    ] = 80,
    tflops: Annotated[float, typer.Option(min=0.1, help="Peak of a GPU in bfloat16: 989 of an H100.")] = 989,
    share: Annotated[float, typer.Option(min=0.01, max=1, help="Share of the peak that is reached.")] = 0.35,
    usd_hour: Annotated[float | None, typer.Option(help="Price of a GPU and hour.")] = None,
) -> None:
    """Work out memory a GPU, time and price. Numbers of weights are exact, the rest is an estimate."""
    from rich.console import Console
    from rich.table import Table

    from specvi_benchmark.cli.printing import print_whole
    from specvi_training.config import load_config, recipe_of
    from specvi_training.cost import GIB, Workload, count, table
    from specvi_training.cost import cost as work_out
    from specvi_training.grpo.config import GrpoConfig
    from specvi_training.grpo.cost import Generation, grpo_cost, origin
    from specvi_training.sft.config import SftConfig

    is_grpo = recipe_of(config) == "grpo"
    row_tokens = tokens or (6000 if is_grpo else 4000)
    load = Workload(gpus, zero, row_tokens, rows or (3108 if is_grpo else 942), tflops * 1e12 * share)
    title = f"{gpus} GPUs, ZeRO-{zero}, {row_tokens} tokens a row"
    more: dict[str, str] = {}
    if is_grpo:
        chosen = load_config(config, GrpoConfig)
        shapes = count(chosen.model.model_copy(update={"base": origin(chosen.model.base)}))
        drawn = grpo_cost(chosen, load.rows, shapes, load, Generation(written, rate, gpu_gib * GIB))
        found = drawn.whole
        title += f", {written} of them written"
        more = {
            "held by vLLM": f"{drawn.generating_bytes / GIB:.1f} GiB",
            "a round": f"{drawn.seconds_a_round:.0f} s, generating {drawn.generating_seconds:.0f} s",
        }
    else:
        taught = load_config(config, SftConfig)
        shapes = count(taught.model)
        found = work_out(taught, taught.epochs, shapes, load)
    if usd_hour is not None:
        more["price"] = f"{found.seconds_a_step * found.steps / 3600 * gpus * usd_hour:.0f} $"
    told = Table("", config, title=title)
    counts = {"weights in all": f"{shapes.weights:,}", "trained": f"{shapes.trained:,}"}
    for name, value in {**counts, **table(found), **more}.items():
        told.add_row(name, value)
    print_whole(Console(), told)
