"""Runs a GRPO on TRL's trainer, from a configuration to a model folder; killed at any moment, it goes on."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from datasets import Dataset
from transformers import PrinterCallback
from trl import GRPOConfig
from trl.import_utils import is_vllm_available

from specvi_agents.models.local.model import LocalModel
from specvi_agents.options import AgentOptions
from specvi_benchmark.errors import UserError
from specvi_benchmark.splits import Split
from specvi_training.dev import DevScorer, dev_candidates
from specvi_training.folder import TrainFolder, TrainRecord
from specvi_training.grpo.config import GrpoConfig, RolloutsPart
from specvi_training.grpo.journal import Journal
from specvi_training.grpo.questions import describe, order, read_questions, refuse_overlap
from specvi_training.grpo.rollout import Rollout
from specvi_training.grpo.trainer import InspectingTrainer
from specvi_training.grpo.turns import Turns
from specvi_training.model import (
    Base,
    Boilerplate,
    find_base,
    freeze,
    load_base,
    lora_config,
    weights_dtype,
)
from specvi_training.watched import Report, callbacks, finish, shared_arguments


def train(config: GrpoConfig, out: Path, report: Report = lambda _: None) -> TrainRecord:
    """Train, or go on, or find it done; ``out/model`` is the result.

    Raises
    ------
    UserError
        Configuration, questions, base or folder can't be used.
    """
    folder = TrainFolder(out)
    with folder.held():
        options = config.agent_options()
        asked = read_questions(config.questions)
        dev = None if config.dev is None else dev_candidates(config.dev)
        if dev is not None:
            refuse_overlap(asked, dev)
        plan = order(asked.candidates, config)
        arguments = make_arguments(
            config, folder, options
        )  # before the model: DeepSpeed shards it as it is loaded
        with arguments.main_process_first(local=False):
            checkpoint = find_base(config.model, folder.base, Boilerplate(), config.seed)
            record, last = folder.begin(config, base=checkpoint.identity, data=describe(asked, plan), dev=dev)
        if record.ended is not None:
            return record
        base = load_base(checkpoint, dtype=weights_dtype(config))
        scorer = None
        if config.dev is not None and dev is not None:
            scorer = DevScorer(dev, base.chat, options, config.dev)
        trainer = make_trainer(config, folder, base, asked, plan, arguments, options, scorer, report)
        if trainer.is_world_process_zero():
            step = 0 if last is None else int(last.name.rpartition("-")[2])
            trainer.journal.open(record.config, asked, config.seed, step)
        trainer.train(resume_from_checkpoint=None if last is None else str(last))
        return finish(trainer, config, folder, base, record)


def make_trainer(
    config: GrpoConfig,
    folder: TrainFolder,
    base: Base,
    asked: Split,
    plan: Sequence[int],
    arguments: GRPOConfig,
    options: AgentOptions,
    scorer: DevScorer | None,
    report: Report,
) -> InspectingTrainer:
    """Return the trainer, frozen and adapted as the configuration says."""
    freeze(base.model, config.model)
    LocalModel(base.model, base.chat)  # ends and settings of generation as in an evaluation
    settings = options.environment
    turns = Turns(
        base.chat,
        tools=settings.has_tool and settings.dialect == "api",
        ends=base.model.generation_config.eos_token_id,
    )
    arguments.generation_kwargs = _suppressed(turns.unwritten(), config.rollouts)
    rows = Dataset.from_dict(
        {"prompt": [[{"role": "user", "content": ""}]] * len(plan), "question": list(plan)}
    )
    trainer = InspectingTrainer(
        turns=turns,
        journal=Journal(folder.path),
        traced=config.rollouts.traced,
        model=base.model,
        args=arguments,
        train_dataset=rows,
        eval_dataset=None
        if scorer is None
        else rows,  # asked for by the base class; `evaluate` does not use it
        environment_factory=lambda: Rollout(settings, asked.candidates),
        peft_config=lora_config(config.model.lora),
        callbacks=callbacks(config, folder, report),
    )
    trainer.remove_callback(PrinterCallback)  # the log tells it better
    trainer.scorer = scorer
    return trainer


def _suppressed(ids: list[int], rollouts: RolloutsPart) -> dict[str, Any]:
    if rollouts.vllm is None:
        return {"suppress_tokens": ids}
    return {"logit_bias": dict.fromkeys(ids, -100.0)}


def accumulation(config: GrpoConfig, processes: int) -> int:
    """Return how many passes make a step.

    Raises
    ------
    UserError
        Rounds can't be shared evenly among the devices.
    """
    rollouts, each = config.rollouts, config.optimiser.batch_per_device
    if rollouts.prompts % processes:
        raise UserError(
            "the questions of a round can't be shared evenly among the devices",
            where="rollouts.prompts",
            expected=f"a multiple of {processes} (devices)",
            got=rollouts.prompts,
        )
    rows = rollouts.prompts * rollouts.group // rollouts.updates
    if rows % (each * processes):
        raise UserError(
            "the rollouts of a step can't be shared evenly among the passes",
            where="optimiser.batch_per_device",
            expected=f"a divisor of {rows // processes} (rollouts of a step on one device)",
            got=each,
        )
    return rows // (each * processes)


def make_arguments(config: GrpoConfig, folder: TrainFolder, options: AgentOptions) -> GRPOConfig:
    """Return what TRL's trainer is told."""
    rollouts, budget = config.rollouts, options.environment.budget
    if budget.max_tokens_out is not None and rollouts.completion_tokens > budget.max_tokens_out:
        raise UserError(
            "an inspection would go on in training where an evaluation ends it",
            where="rollouts.completion_tokens",
            expected=f"at most {budget.max_tokens_out} (profile {options.environment.profile})",
            got=rollouts.completion_tokens,
        )
    if rollouts.vllm is not None and not is_vllm_available():
        raise UserError(
            "vLLM is not installed",
            where="rollouts.vllm",
            fix="install vllm, or let transformers generate: --set rollouts.vllm=null",
        )
    passes = accumulation(config, int(os.environ.get("WORLD_SIZE", "1")))
    told = {**shared_arguments(config, folder), "gradient_accumulation_steps": passes}
    os.environ.setdefault(
        "TRL_EXPERIMENTAL_SILENCE", "1"
    )  # environment_factory is experimental: pinned and tested
    return GRPOConfig(
        **told,
        num_train_epochs=1,  # the rows are those of all epochs, in their order
        shuffle_dataset=False,
        per_device_eval_batch_size=rollouts.group,
        num_generations=rollouts.group,
        steps_per_generation=passes * rollouts.updates,
        max_completion_length=rollouts.completion_tokens,
        max_tool_calling_iterations=budget.max_turns - 1,
        temperature=rollouts.temperature,
        top_p=rollouts.top_p,
        beta=0.0,
        loss_type=config.loss,
        epsilon=config.clip,
        scale_rewards=config.scale,
        **_vllm(rollouts),
    )


def _vllm(rollouts: RolloutsPart) -> dict[str, Any]:
    part = rollouts.vllm
    if part is None:
        return {}
    where: dict[str, Any] = {"vllm_server_host": part.host, "vllm_server_port": part.port}
    if part.mode == "colocate":
        where = {
            "vllm_gpu_memory_utilization": part.gpu_memory,
            "vllm_tensor_parallel_size": part.tensor_parallel,
            "vllm_max_model_length": part.max_length,
        }
    return {"use_vllm": True, "vllm_mode": part.mode, **where}
