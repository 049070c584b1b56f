"""`transformers:<folder or Hub id>`: a local model in this process, many conversations a batch, on CPU or GPU."""

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

from pydantic import Field, field_validator

from specvi_agents.agent import AgentVetter
from specvi_agents.messages import Message, ModelError, Reply
from specvi_agents.models.batching import Batcher
from specvi_agents.models.checkpoint import find_checkpoint
from specvi_agents.models.local.decoding import Decoding
from specvi_agents.models.local.model import LocalModel, Prompt
from specvi_agents.options import AgentOptions, refuse_rest
from specvi_benchmark.errors import UserError
from specvi_benchmark.files import StrictModel, validate
from specvi_benchmark.vetting import VetterUnusable


class LocalOptions(StrictModel):
    """The options of this backend, beside those of every agent.

    Attributes
    ----------
    device
        ``cpu``, ``cuda``, ``cuda:1``…; None: a GPU if there is one.
    dtype
        Number format of the weights; ``auto``: as in the checkpoint.
    batch_size
        Conversations that are answered together.
    top_p
        Draw from the likeliest tokens that together have this probability.
    stop
        A string that ends a reply, and stays in it.
    p_yes
        Work out P(YES) of each answer, from the probabilities of YES and NO in its box.
    revision
        Commit, branch or tag of a Hub repository.
    """

    device: str | None = None
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    batch_size: int = Field(default=8, ge=1, le=4096)
    top_p: float = Field(default=1.0, gt=0, le=1)
    stop: tuple[str, ...] = ()
    p_yes: bool = False
    revision: str | None = None

    @field_validator("stop", mode="before")
    @classmethod
    def _one_string(cls, value: object) -> object:
        return (value,) if isinstance(value, str) else value


class TransformersModel:
    """A `Model` on a checkpoint in this process.

    Two threads work off the event loop: one makes tensors of conversations, the other generates, so that a GPU
    does not wait for pictures to be prepared.

    Parameters
    ----------
    local, decoding
        The loaded model, and how it picks tokens.
    seed
        Of draws; sample ``k`` uses ``seed + k``.
    batch_size
        Most conversations answered together.
    config
        What else changes a reply, for run.json.
    """

    expected_usd = 0.0

    def __init__(
        self,
        local: LocalModel,
        decoding: Decoding,
        *,
        seed: int = 0,
        batch_size: int = 8,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        self._local = local
        self._decoding = decoding
        self._seed = seed
        self._batch_size = batch_size
        self._config = dict(config or {})
        self._preparer: ThreadPoolExecutor | None = None
        self._batcher: Batcher[Prompt, Reply] | None = None

    @property
    def config(self) -> Mapping[str, Any]:
        """Return what changes a reply. Device and batch size change nothing but rounding."""
        return {
            "backend": "transformers",
            **self._config,
            "dtype": self._local.dtype,
            "chat_template_sha256": hashlib.sha256(self._local.chat.template.encode()).hexdigest(),
            "top_p": self._decoding.top_p,
            "stop": list(self._decoding.stop),
            "p_yes": self._decoding.p_yes,
        }

    @property
    def in_flight(self) -> int:
        """Return how many conversations keep it busy: a batch at work, and one whose tools are at work."""
        return 2 * self._batch_size

    async def reply(self, messages: Sequence[Message], *, tools: bool, sample: int) -> Reply:
        """Return the next turn; see `Model`. At temperature 0 all samples are alike."""
        if self._batcher is None or self._preparer is None:
            self._preparer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="prepare")
            self._batcher = Batcher(
                lambda prompts: self._local.replies(prompts, self._decoding), self._batch_size
            )
        batcher = self._batcher
        try:
            prompt = await asyncio.get_running_loop().run_in_executor(
                self._preparer, lambda: self._local.prompt(messages, tools=tools, seed=self._seed + sample)
            )
            return await batcher.submit(prompt)
        except Exception as error:
            told = f"{type(error).__name__}: {error}"
            if "CUDA error" in told:  # after one, everything on that GPU fails in this process
                raise VetterUnusable("the GPU failed", got=told, fix="run the same command again") from error
            raise ModelError(told) from error

    async def close(self) -> None:
        """Stop at the next token and end the threads; the next `reply` begins anew."""
        if self._batcher is not None and self._preparer is not None:
            self._local.stopping.set()
            await self._batcher.close()
            self._preparer.shutdown()
            self._local.stopping.clear()
        self._batcher = self._preparer = None


def create(argument: str | None, options: Mapping[str, str]) -> AgentVetter:
    """Make the vetter of ``transformers:<folder or Hub id>``; the model is loaded.

    Raises
    ------
    UserError
        An option or the checkpoint can't be used.
    """
    agent, rest = AgentOptions.read(options)
    known = tuple(LocalOptions.model_fields)
    refuse_rest({key: rest[key] for key in rest if key not in known}, "transformers", known)
    own = validate(LocalOptions, rest, "--option")
    sampling = agent.sampling
    if sampling.temperature is None:
        raise UserError(
            "a local model has no temperature of its own",
            where="option temperature",
            expected="a number; 0 is greedy",
            got="none",
        )
    checkpoint = find_checkpoint(argument, "transformers", revision=own.revision)
    local = LocalModel.load(checkpoint, device=own.device, dtype=own.dtype)
    model = TransformersModel(
        local,
        Decoding(sampling.max_tokens, sampling.temperature, own.top_p, own.stop, own.p_yes),
        seed=sampling.seed,
        batch_size=own.batch_size,
        config={"checkpoint": dict(checkpoint.identity)},
    )
    return AgentVetter(model, agent)
