"""`transformers:<folder or Hub id>`: a local model in this process, many conversations a batch, on CPU or GPU."""

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from specvi_agents.messages import Message, ModelError, Reply
from specvi_agents.models.batching import Batcher
from specvi_agents.models.checkpoint import Checkpoint
from specvi_agents.models.decoding import Decoding
from specvi_agents.models.local_model import LocalModel, Prompt


class TransformersModel:
    """A `Model` on a checkpoint in this process.

    Two threads work off the event loop: one makes tensors of conversations, the other generates, so that a GPU
    does not wait for pictures to be prepared.
    """

    def __init__(
        self, local: LocalModel, checkpoint: Checkpoint, decoding: Decoding, *, seed: int, batch_size: int
    ) -> None:
        self._local = local
        self._seed = seed
        self._preparer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="prepare")
        self._batcher: Batcher[Prompt, Reply] = Batcher(
            lambda prompts: local.replies(prompts, decoding), batch_size
        )
        self._config = {
            "backend": "transformers",
            "checkpoint": dict(checkpoint.identity),
            "dtype": local.dtype,
            "max_tokens": decoding.max_tokens,
            "temperature": decoding.temperature,
            "top_p": decoding.top_p,
            "stop": list(decoding.stop),
        } | ({"seed": seed} if decoding.temperature else {})

    @property
    def config(self) -> Mapping[str, Any]:
        """Return what changes a reply. Device and batch size change nothing but rounding."""
        return self._config

    async def reply(self, messages: Sequence[Message], *, tools: bool, sample: int) -> Reply:
        """Return the next turn; see `Model`. Greedy samples are all alike."""
        try:
            prompt = await asyncio.get_running_loop().run_in_executor(
                self._preparer, lambda: self._local.prompt(messages, tools=tools, seed=self._seed + sample)
            )
            return await self._batcher.submit(prompt)
        except Exception as error:
            raise ModelError(f"{type(error).__name__}: {error}") from error

    async def close(self) -> None:
        """Stop generating at the next token."""
        self._local.stopping.set()
        await self._batcher.close()
        self._preparer.shutdown()
