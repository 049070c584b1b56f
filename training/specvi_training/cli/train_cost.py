"""Work out memory and time of an SFT from its configuration, without weights or a GPU."""

from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command()
def cost(
    config: Annotated[str, typer.Argument(help="A YAML file, or a shipped one by name.")],
    gpus: Annotated[int, typer.Option(min=1, help="How many share the work.")] = 8,
    zero: Annotated[int, typer.Option(min=0, max=3, help="ZeRO stage: 0 for none, 2 or 3.")] = 3,
    tokens: Annotated[int, typer.Option(min=1, help="Tokens of a mean row, pictures included.")] = 4000,
    rows: Annotated[int, typer.Option(min=1, help="Trajectories.")] = 942,
    tflops: Annotated[float, typer.Option(min=0.1, help="Peak of a GPU in bfloat16: 989 of an H100.")] = 989,
    share: Annotated[float, typer.Option(min=0.01, max=1, help="Share of the peak that is reached.")] = 0.35,
    usd_hour: Annotated[float | None, typer.Option(help="Price of a GPU and hour.")] = None,
) -> None:
    """Work out memory a GPU, time and price of an SFT. Numbers of weights are exact, the rest is an estimate."""
    from rich.console import Console
    from rich.table import Table

    from specvi_benchmark.cli.printing import print_whole
    from specvi_training.config import load_config
    from specvi_training.cost import Workload, count, table
    from specvi_training.cost import cost as work_out
    from specvi_training.sft.config import SftConfig

    chosen = load_config(config, SftConfig)
    shapes = count(chosen.model)
    found = work_out(chosen, chosen.epochs, shapes, Workload(gpus, zero, tokens, rows, tflops * 1e12 * share))
    told = Table("", config, title=f"{gpus} GPUs, ZeRO-{zero}, {tokens} tokens a row")
    told.add_row("weights in all", f"{shapes.weights:,}")
    told.add_row("trained", f"{shapes.trained:,}")
    for name, value in table(found).items():
        told.add_row(name, value)
    if usd_hour is not None:
        told.add_row("price", f"{found.seconds_a_step * found.steps / 3600 * gpus * usd_hour:.0f} $")
    print_whole(Console(), told)
