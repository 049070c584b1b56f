"""Runs an SFT on TRL's trainer, from a configuration to a model folder; killed at any moment, it goes on."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from datasets import Dataset
from transformers import PrinterCallback
from trl import SFTConfig, SFTTrainer

from specvi_agents.models.local.chat import Chat
from specvi_training.conversation import Encoded, collate, encode
from specvi_training.dev import DevScorer, dev_candidates
from specvi_training.folder import TrainFolder, TrainRecord
from specvi_training.model import (
    Base,
    find_base,
    freeze,
    load_base,
    lora_config,
    weights_dtype,
)
from specvi_training.sft.config import DataPart, SftConfig
from specvi_training.sft.data import (
    Lesson,
    boilerplate,
    describe,
    read_lessons,
    refuse_one_sided,
    refuse_other_inspection,
    refuse_overlap,
    refuse_without_answer,
)
from specvi_training.watched import Report, WatchedTrainer, callbacks, finish, shared_arguments


class WatchedSftTrainer(WatchedTrainer, SFTTrainer):  # type: ignore[misc]  # a foreign class
    """TRL's trainer, watched on dev; the answer's word may weigh more than the others."""

    answer_weight = 1.0

    def compute_loss(
        self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """Return TRL's loss of weighted log-probabilities: their sum over the number of tokens that are learnt."""
        weights = 1 + (self.answer_weight - 1) * inputs.pop("decides")[:, 1:]  # of the next token

        def weighted(**named: Any) -> Any:
            outputs = model(**named)
            outputs.log_probs = outputs.log_probs * weights
            return outputs

        asked = model if self.answer_weight == 1 else weighted
        return super().compute_loss(asked, inputs, return_outputs, num_items_in_batch)


class Rows:
    """Conversations as rows, encoded when they are needed; ``batch`` is the trainer's collator."""

    def __init__(self, chat: Chat, lessons: Sequence[Lesson], part: DataPart) -> None:
        self._chat = chat
        self._lessons = lessons
        self._part = part
        self._kept: dict[int, Encoded] = {}

    def row(self, number: int) -> Encoded:
        """Return a conversation as ids and labels."""
        if number in self._kept:
            return self._kept[number]
        # The system turn of a trajectory tells of the tool, so the template is handed none.
        row = encode(self._chat, self._lessons[number], tools=False, max_tokens=self._part.max_tokens)
        if self._part.in_memory:
            self._kept[number] = row
        return row

    def batch(self, chosen: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the batch of the rows that the trainer's dataset names."""
        return collate([self.row(item["row"]) for item in chosen], pad=self._chat.tokenizer.pad_token_id)


def train(config: SftConfig, out: Path, report: Report = lambda _: None) -> TrainRecord:
    """Train, or go on, or find it done; ``out/model`` is the result.

    Raises
    ------
    UserError
        Configuration, data, base or folder can't be used.
    """
    folder = TrainFolder(out)
    with folder.held():
        options = config.agent_options()
        lessons = read_lessons(config.data)
        if not config.data.one_sided:
            refuse_one_sided(lessons)
        if config.answer_weight != 1:
            refuse_without_answer(lessons)
        refuse_other_inspection(lessons, options.environment)
        dev = None if config.dev is None else dev_candidates(config.dev)
        if dev is not None:
            refuse_overlap(lessons, dev)
        arguments = _arguments(config, folder)  # before the model: DeepSpeed shards it as it is loaded
        with arguments.main_process_first(local=False):
            checkpoint = find_base(config.model, folder.base, boilerplate(lessons), config.seed)
            record, last = folder.begin(config, base=checkpoint.identity, data=describe(lessons), dev=dev)
        if record.ended is not None:
            return record
        base = load_base(checkpoint, dtype=weights_dtype(config))
        scorer = None
        if config.dev is not None and dev is not None:
            scorer = DevScorer(dev, base.chat, options, config.dev)
        trainer = make_trainer(config, folder, base, lessons, arguments, scorer, report)
        trainer.train(resume_from_checkpoint=None if last is None else str(last))
        return finish(trainer, config, folder, base, record)


def make_trainer(
    config: SftConfig,
    folder: TrainFolder,
    base: Base,
    lessons: Sequence[Lesson],
    arguments: SFTConfig,
    scorer: DevScorer | None,
    report: Report,
) -> WatchedSftTrainer:
    """Return the trainer, frozen and adapted as the configuration says."""
    freeze(base.model, config.model)
    rows = Rows(base.chat, lessons, config.data)
    dataset = Dataset.from_dict({"row": list(range(len(lessons)))})
    trainer = WatchedSftTrainer(
        model=base.model,
        args=arguments,
        train_dataset=dataset,
        eval_dataset=None
        if scorer is None
        else dataset,  # asked for by the base class; `evaluate` does not use it
        data_collator=rows.batch,
        processing_class=base.chat.processor,
        peft_config=lora_config(config.model.lora),
        callbacks=callbacks(config, folder, report),
    )
    trainer.remove_callback(PrinterCallback)  # the log tells it better
    trainer.scorer = scorer
    trainer.answer_weight = config.answer_weight
    # Qwen-VL's own loss can't be told how many tokens a step has, and says so; TRL's, which is used, can. Untold, it would
    # be a mean of the means of devices and passes, in which a token counts more the fewer stand beside it.
    trainer.model_accepts_loss_kwargs = True
    return trainer


def _arguments(config: SftConfig, folder: TrainFolder) -> SFTConfig:
    return SFTConfig(
        **shared_arguments(config, folder),
        num_train_epochs=config.epochs,
        max_length=None,
        dataset_kwargs={"skip_prepare_dataset": True},
    )
