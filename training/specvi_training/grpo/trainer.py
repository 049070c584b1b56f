"""TRL's GRPO trainer, made to hold the conversations that the evaluator holds, and to keep what came of them."""

import time
from collections.abc import Sequence
from typing import Any

import torch
from accelerate.utils import gather_object
from trl import GRPOTrainer

from specvi_agents.messages import Reply
from specvi_benchmark.vetting import Verdict
from specvi_training.grpo.journal import Group, Journal
from specvi_training.grpo.rollout import Rollout
from specvi_training.grpo.turns import Turns, images_of
from specvi_training.watched import WatchedTrainer

Batch = dict[str, Any]


class InspectingTrainer(WatchedTrainer, GRPOTrainer):  # type: ignore[misc]  # a foreign class
    """The loop, masks, advantages and loss are TRL's. Ours: how a turn is read, what ids follow it, and the journal."""

    turns: Turns
    journal: Journal
    traced: int

    def __init__(self, *, turns: Turns, journal: Journal, traced: int, **rest: Any) -> None:
        self.turns = turns
        self.journal = journal
        self.traced = traced
        self._drawing = self._spent = 0.0
        super().__init__(processing_class=turns.processor(), **rest)

    def training_step(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        """Time the step."""
        clock = time.perf_counter()
        loss: torch.Tensor = super().training_step(*args, **kwargs)
        self._spent += time.perf_counter() - clock
        return loss

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Add what share of the time since the last line went into pictures."""
        if self._spent:
            logs["rollout/drawing_share"] = self._drawing / self._spent
            self._drawing = self._spent = 0.0
        super().log(logs, start_time)

    def _tokenize_prompts(self, _prompts: Sequence[object]) -> tuple[list[list[int]], list[Any], Batch]:
        """Return ids and pictures of the openings. Rollouts of one question share what a processor made of it."""
        rollouts: list[Rollout] = self.environments
        made: dict[int, Any] = {}
        for rollout in rollouts:
            if rollout.inspection.number not in made:
                made[rollout.inspection.number] = self.turns.opening(rollout.inspection)
        rows = [made[rollout.inspection.number] for rollout in rollouts]
        ids = [row["input_ids"][0].tolist() for row in rows]
        images = [
            [image for message in rollout.inspection.opening for image in images_of(message)]
            for rollout in rollouts
        ]
        fields: Batch = {}
        for name in rows[0]:
            if name in {"input_ids", "attention_mask"}:
                continue
            tensors = [row[name] for row in rows]
            is_by_token = all(t.shape == row["input_ids"].shape for t, row in zip(tensors, rows, strict=True))
            fields[name] = [t[0].tolist() for t in tensors] if is_by_token else torch.cat(tensors)
        return ids, images, fields

    def _get_tool_suffix_ids(self, tool_messages: Sequence[Batch]) -> list[int]:
        """Return the ids that follow a turn with calls."""
        for rollout in self.environments:
            if rollout.fault is not None:
                raise rollout.fault
        (answer,) = tool_messages  # all calls of a turn are one call to TRL
        return self.turns.answer(answer["content"])

    def _generate(self, prompts: list[Any]) -> tuple[Any, ...]:
        """Let the trainer treat all pictures as the tool's, since it renders those of an opening by a template of its own."""
        *others, images, _ = super()._generate(prompts)
        return (*others, images, images)

    def _generate_and_score_completions(self, inputs: list[Batch]) -> Batch:
        output: Batch = super()._generate_and_score_completions(inputs)
        if "pixel_values" not in output:  # TRL drops all pictures, in silence, if they don't fit the ids
            raise RuntimeError("pictures and their tokens do not match: the model would be trained blind")
        # In float32 the mean of eight rewards of 0.8 is not 0.8: a rest, which Adam would make a whole step of.
        rewards = torch.tensor([rollout.get_reward() for rollout in self.environments])
        groups = rewards.view(-1, self.num_generations)
        alike = (groups == groups[:, :1]).all(1).repeat_interleave(self.num_generations)
        output["advantages"][alike] = 0.0
        share = self.accelerator.gather(alike.float().to(output["advantages"].device)).mean()
        mode = "train" if self.model.training else "eval"
        self._metrics[mode]["frac_reward_zero_std"][-1] = float(share)  # TRL's counts by the rounded spread
        return output

    def _calculate_rewards(
        self, inputs: list[Batch], prompts: list[Any], completions: list[list[Batch]], ids: list[list[int]]
    ) -> torch.Tensor:
        """End every inspection with what the model said last; its reward is then the environment's."""
        rollouts: list[Rollout] = self.environments
        verdicts = [_close(r, messages) for r, messages in zip(rollouts, completions, strict=True)]
        self._drawing += sum(rollout.inspection.seconds for rollout in rollouts)
        for rollout in rollouts:
            for name, value in rollout.inspection.parts().items():
                self._log_metric(f"rollout/{name}", value)
        rewards: torch.Tensor = super()._calculate_rewards(inputs, prompts, completions, ids)
        self._keep(rollouts, verdicts)
        return rewards

    def _keep(self, rollouts: Sequence[Rollout], verdicts: Sequence[Verdict]) -> None:
        size = self.num_generations
        starts = range(0, len(rollouts), size)
        mine = [self._group(rollouts[start : start + size]) for start in starts]
        every: list[Group] = gather_object(mine)
        if self.accelerator.is_main_process:
            self.journal.add(every)
            for start in list(starts)[: self.traced]:
                self.journal.trace(verdicts[start : start + size])

    def _group(self, rollouts: Sequence[Rollout]) -> Group:
        inspections = [rollout.inspection for rollout in rollouts]
        candidate = inspections[0].candidate
        return Group(
            step=self.state.global_step,
            task=candidate.task.key,
            id=candidate.id,
            truth=candidate.truth,
            rewards=tuple(inspection.reward() for inspection in inspections),
            parts=tuple(inspection.parts() for inspection in inspections),
        )


def _close(rollout: Rollout, completion: Sequence[Batch]) -> Verdict:
    """End an inspection by its messages as TRL kept them: the last turn may be cut, missing, or one already heard."""
    said = [message for message in completion if message["role"] == "assistant"]
    inspection = rollout.inspection
    if len(said) > len(inspection.turns):
        last = said[-1]
        return inspection.close(
            Reply(last["content"], stop=last["stop"], tokens_out=last["tokens"], cost_usd=0.0)
        )
    if completion[-1]["role"] == "tool":  # there was no room for a single token after the tool's answer
        return inspection.close(Reply("", stop="length", cost_usd=0.0))
    return inspection.close(None)
