"""What every recipe's trainer shares: arguments, the log, scores on dev in place of a loss, the best one kept."""

from collections.abc import Callable, Mapping
from typing import Any

from transformers import Trainer, TrainerCallback

from specvi_training.card import write_card
from specvi_training.config import Recipe
from specvi_training.dev import METRIC, DevScorer
from specvi_training.folder import TrainFolder, TrainRecord, now
from specvi_training.model import Base, count_weights, save_model

Report = Callable[[Mapping[str, Any]], None]

_KEPT = (
    "loss",
    "grad_norm",
    "learning_rate",
    "mean_token_accuracy",
    "entropy",
    "reward",
    "reward_std",
    "frac_reward_zero_std",
)

OWN_METRICS = "rollout/"
"""How the names begin of what a recipe itself finds of interest."""


def shared_arguments(recipe: Recipe, folder: TrainFolder) -> dict[str, Any]:
    """Return the arguments of `transformers.TrainingArguments` that every recipe sets alike."""
    optimiser, kept = recipe.optimiser, recipe.kept
    has_gpu = _has_gpu()
    watched: dict[str, Any] = {}
    if recipe.dev is not None:
        watched = {
            "eval_strategy": "steps",
            "eval_steps": kept.every,
            "load_best_model_at_end": True,
            "metric_for_best_model": METRIC,
            "greater_is_better": True,
        }
    return {
        "output_dir": str(folder.checkpoints),
        "learning_rate": optimiser.learning_rate,
        "lr_scheduler_type": "constant_with_warmup"
        if optimiser.schedule == "constant"
        else optimiser.schedule,
        "warmup_steps": optimiser.warmup,
        "adam_beta2": optimiser.beta2,
        "weight_decay": optimiser.weight_decay,
        "max_grad_norm": optimiser.max_grad_norm,
        "per_device_train_batch_size": optimiser.batch_per_device,
        "gradient_accumulation_steps": optimiser.accumulation,
        "bf16": optimiser.precision == "bf16",
        "gradient_checkpointing": optimiser.checkpointing,
        "save_strategy": "steps",
        "save_steps": kept.every,
        "save_total_limit": kept.checkpoints,
        "logging_steps": kept.log_every,
        "seed": recipe.seed,
        "data_seed": recipe.seed,
        "use_cpu": not has_gpu,
        "dataloader_pin_memory": has_gpu,
        "remove_unused_columns": False,
        "report_to": "none",
        "disable_tqdm": True,
        **watched,
    }


def callbacks(recipe: Recipe, folder: TrainFolder, report: Report) -> list[TrainerCallback]:
    """Return the log, and the end of a training that no longer gets better."""
    found: list[TrainerCallback] = [LogCallback(folder, report)]
    if recipe.dev is not None and recipe.dev.patience is not None:
        found.append(Patience(recipe.dev.patience))
    return found


class Patience(TrainerCallback):  # type: ignore[misc]  # a foreign class
    """Ends a training when so many scores in a row are no better than the best one before.

    transformers' own callback counts in memory, so that a resumed training would begin to count anew. This one reads
    the log, which a checkpoint holds.
    """

    def __init__(self, patience: int) -> None:
        self._patience = patience

    def on_train_begin(self, _args: Any, state: Any, control: Any, **_: Any) -> None:
        """End at once where a kill came between the last score and the model."""
        self._judge(state, control)

    def on_evaluate(self, _args: Any, state: Any, control: Any, **_: Any) -> None:
        """Judge the score that has come."""
        self._judge(state, control)

    def _judge(self, state: Any, control: Any) -> None:
        name = f"eval_{METRIC}"
        scores = [line[name] for line in state.log_history if name in line]
        if scores and len(scores) - 1 - scores.index(max(scores)) >= self._patience:
            control.should_training_stop = True


class LogCallback(TrainerCallback):  # type: ignore[misc]  # a foreign class
    """Writes ``log.jsonl`` and reports progress; in the first process only."""

    def __init__(self, folder: TrainFolder, report: Report) -> None:
        self._folder = folder
        self._report = report

    def on_step_end(self, _args: Any, state: Any, control: Any, **_: Any) -> None:
        """Have the last steps told of, though they be fewer than those between two lines."""
        if state.global_step >= state.max_steps:
            control.should_log = True

    def on_log(
        self,
        _args: Any,
        state: Any,
        _control: Any,
        logs: Mapping[str, float] | None = None,
        **_: Any,
    ) -> None:
        """Keep what is of use of a line of the trainer's log."""
        kept = {
            name: float(value)
            for name, value in (logs or {}).items()
            if name in _KEPT or name.startswith(OWN_METRICS)
        }
        dev = {
            name.removeprefix("eval_"): float(v)
            for name, v in (logs or {}).items()
            if name.startswith("eval_")
        }
        if not (state.is_world_process_zero and (kept or dev)):
            return
        line = {"step": state.global_step, "of": state.max_steps, **kept, **({"dev": dev} if dev else {})}
        self._folder.log(line)
        self._report(line)


class WatchedTrainer:
    """Mixed into a trainer before its class: what it calls evaluation is inspecting dev candidates.

    It also loads whole checkpoints itself. transformers 5.20 writes weights under the names of the released files and
    reads a checkpoint by the names of the modules; for Qwen2.5-VL these differ, so that all but ``lm_head`` would stay
    as the base had it, with a warning.
    """

    scorer: DevScorer | None = None

    def evaluate(self: Any, *_: Any, **__: Any) -> dict[str, float]:
        """Return the scores of the model as it stands, under ``eval_``."""
        assert self.scorer is not None
        found = self.scorer.score(self.accelerator.unwrap_model(self.model))
        named = {f"eval_{name}": value for name, value in found.items()}
        Trainer.log(self, named)  # TRL's would add, and forget, its means since the last line
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, named)
        return named

    def _run_epoch(self: Any, *args: Any, **named: Any) -> None:
        """Make no step where a resumed training had ended."""
        if not self.control.should_training_stop:
            super()._run_epoch(*args, **named)  # type: ignore[misc]  # the trainer's

    def _load_from_checkpoint(self: Any, resume_from_checkpoint: str, model: Any = None) -> None:
        """Load the weights to go on from."""
        if self.is_deepspeed_enabled or hasattr(self.model, "peft_config"):
            super()._load_from_checkpoint(resume_from_checkpoint, model)  # type: ignore[misc]  # the trainer's
        else:
            _load_weights(self.model, resume_from_checkpoint)

    def _load_best_model(self: Any) -> None:
        """Load the weights that did best on dev."""
        if self.is_deepspeed_enabled or hasattr(self.model, "peft_config"):
            super()._load_best_model()  # type: ignore[misc]  # the trainer's
        else:
            _load_weights(self.model, self.state.best_model_checkpoint)


def finish(trainer: Any, recipe: Recipe, folder: TrainFolder, base: Base, record: TrainRecord) -> TrainRecord:
    """Write the model and its card, and close the record."""
    state = trainer.state
    weights = count_weights(trainer.model)
    outcome = {
        "steps": state.global_step,
        "best_step": state.best_global_step,
        "best_dev": state.best_metric,
        "weights": weights["all"],
        "trained_weights": weights["trained"],
    }
    finished = record.model_copy(update={"ended": now(), "outcome": outcome})
    save_model(trainer, base, folder.model, precision=recipe.optimiser.precision)
    if trainer.is_world_process_zero():
        write_card(folder.model, finished)
        folder.write(finished)
    trainer.accelerator.wait_for_everyone()
    return finished


def _load_weights(model: Any, folder: str) -> None:
    """Put the weights of a model folder into a model, every one of them."""
    read = type(model).from_pretrained(folder, dtype=model.dtype)
    model.load_state_dict(read.state_dict(), strict=True)


def _has_gpu() -> bool:
    import torch  # noqa: PLC0415  # asked when a training begins, not at import

    return bool(torch.cuda.is_available())
