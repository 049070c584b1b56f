"""Time and memory of a GRPO, beside those of its steps: what generating costs, by vLLM or by transformers."""

from dataclasses import dataclass, replace

from specvi_training.cost import BF16, Cost, Shapes, Workload, cost
from specvi_training.grpo.config import GrpoConfig


@dataclass(frozen=True, slots=True)
class Generation:
    """What is assumed of generation.

    Attributes
    ----------
    written
        Tokens that the model writes in a mean rollout; the rest of its row is read.
    tokens_a_second
        Tokens one GPU writes, over all conversations at once.
    gpu_bytes
        Memory of a GPU, of which vLLM takes its share.
    """

    written: int
    tokens_a_second: float
    gpu_bytes: float


@dataclass(frozen=True, slots=True)
class GrpoCost:
    """A training's cost, and the part of a round that is generation.

    Attributes
    ----------
    whole
        Memory of one GPU while weights move, and seconds of a mean step with its share of a round's generation.
    generating_bytes
        Memory of one GPU that vLLM holds all the while, in colocate mode.
    seconds_a_round, generating_seconds
        Of a round: in all; writing and reading.
    """

    whole: Cost
    generating_bytes: float
    seconds_a_round: float
    generating_seconds: float


def grpo_cost(
    config: GrpoConfig, questions: int, shapes: Shapes, load: Workload, made: Generation
) -> GrpoCost:
    """Return the cost of a training on so many questions an epoch.

    Reading a conversation costs 2 FLOP a weight and token, once, since the cache keeps what was read. With more than
    one step a round, or with vLLM, every row is read once more for its old log-probabilities (TRL), before any step.
    """
    rollouts = config.rollouts
    rounds = max(1, questions * config.epochs // rollouts.prompts)
    a_round = rollouts.prompts * rollouts.group
    optimiser = config.optimiser.model_copy(
        update={
            "accumulation": max(
                1, a_round // rollouts.updates // (config.optimiser.batch_per_device * load.gpus)
            )
        }
    )
    step = cost(config.model_copy(update={"optimiser": optimiser}), 1, shapes, load)
    passes = 1 + (rollouts.updates > 1 or rollouts.vllm is not None)
    reading = 2 * shapes.language * load.tokens * a_round * passes / load.gpus / load.flops
    writing = a_round * made.written / load.gpus / made.tokens_a_second
    generating = reading + writing
    seconds = generating + rollouts.updates * step.seconds_a_step
    part = rollouts.vllm
    held = 0.0
    if part is not None and part.mode == "colocate":
        held = max(part.gpu_memory * made.gpu_bytes, BF16 * shapes.weights / part.tensor_parallel)
    steps = rounds * rollouts.updates
    whole = replace(step, seconds_a_step=seconds / rollouts.updates, steps=steps)
    return GrpoCost(whole, held, seconds, generating)
