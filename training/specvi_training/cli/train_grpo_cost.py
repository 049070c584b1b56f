"""Work out memory and time of a GRPO from its configuration, without weights or a GPU."""

from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command(name="grpo-cost")
def grpo_cost(
    config: Annotated[str, typer.Argument(help="A YAML file, or a shipped one by name.")],
    gpus: Annotated[int, typer.Option(min=1, help="How many share the work.")] = 8,
    zero: Annotated[int, typer.Option(min=0, max=3, help="ZeRO stage: 0 for none, 2 or 3.")] = 3,
    questions: Annotated[int, typer.Option(min=1, help="Candidates of an epoch.")] = 3108,
    tokens: Annotated[int, typer.Option(min=1, help="Tokens of a mean row, pictures included.")] = 6000,
    written: Annotated[int, typer.Option(min=1, help="Tokens of it that the model writes.")] = 1200,
    rate: Annotated[float, typer.Option(min=1, help="Tokens that a GPU writes a second, all rows.")] = 2000,
    gpu_gib: Annotated[float, typer.Option(min=1, help="Memory of a GPU, GiB.")] = 80,
    tflops: Annotated[float, typer.Option(min=0.1, help="Peak of a GPU in bfloat16: 989 of an H100.")] = 989,
    share: Annotated[float, typer.Option(min=0.01, max=1, help="Share of the peak that is reached.")] = 0.35,
    usd_hour: Annotated[float | None, typer.Option(help="Price of a GPU and hour.")] = None,
) -> None:
    """Work out memory a GPU, time and price of a GRPO. Numbers of weights are exact, the rest is an estimate."""
    from rich.console import Console
    from rich.table import Table

    from specvi_benchmark.cli.printing import print_whole
    from specvi_training.config import load_config
    from specvi_training.cost import GIB, Workload, count, table
    from specvi_training.grpo.config import GrpoConfig
    from specvi_training.grpo.cost import Generation, grpo_cost

    chosen = load_config(config, GrpoConfig)
    # A configuration names its own SFT as base; its shapes are those of what that began with.
    model = chosen.model.model_copy(update={"base": _origin(chosen.model.base)})
    shapes = count(model)
    load = Workload(gpus, zero, tokens, questions, tflops * 1e12 * share)
    found = grpo_cost(chosen, questions, shapes, load, Generation(written, rate, gpu_gib * GIB))
    told = Table(
        "", config, title=f"{gpus} GPUs, ZeRO-{zero}, {tokens} tokens a row, {written} of them written"
    )
    told.add_row("weights in all", f"{shapes.weights:,}")
    told.add_row("trained", f"{shapes.trained:,}")
    for name, value in table(found.whole).items():
        told.add_row(name, value)
    told.add_row("held by vLLM", f"{found.generating_bytes / GIB:.1f} GiB")
    told.add_row("a round", f"{found.seconds_a_round:.0f} s, generating {found.generating_seconds:.0f} s")
    if usd_hour is not None:
        hours = found.whole.seconds_a_step * found.whole.steps / 3600
        told.add_row("price", f"{hours * gpus * usd_hour:.0f} $")
    print_whole(Console(), told)


def _origin(base: str | None) -> str | None:
    """Return the released model behind the shipped configurations' own SFT checkpoints."""
    return {
        "sft-3b/model": "Qwen/Qwen2.5-VL-3B-Instruct",
        "sft-7b/model": "Qwen/Qwen2.5-VL-7B-Instruct",
    }.get(base or "", base)
