"""What the tests of GRPO share: a small training, and a trainer whose model says what it is told to."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from specvi_benchmark.files import validate
from specvi_benchmark.spectrum import clean_spectrum
from specvi_benchmark.splits import Candidate, Split
from specvi_benchmark.splits.io import write_split
from specvi_benchmark.tasks import get_task

SMALL = {
    "model": {"tiny": {"hidden_size": 32, "vision_hidden_size": 32, "layers": 1}, "trained": "all"},
    "inspection": {"prompt": "official"},
    "rollouts": {"prompts": 2, "group": 2, "completion_tokens": 4000},
    "epochs": 1,
    "optimiser": {
        "learning_rate": 1e-3,
        "batch_per_device": 2,
        "schedule": "constant",
        "warmup": 0.0,
        "precision": "fp32",
        "checkpointing": False,
    },
    "kept": {"every": 1, "log_every": 1},
}
"""Rounds of two questions, two rollouts each, a step a round."""


def write_asked(folder: Path, count: int = 6, part: str = "train") -> Path:
    """Write a split of flat, noisy spectra, every third of them a YES; return its folder."""
    rng = np.random.default_rng(7)
    wavelength_AA = 3700.0 * 10 ** (1e-3 * np.arange(390))
    candidates = tuple(
        Candidate(
            id=f"{part}-{number:03d}",
            task=get_task("cv"),
            track="main",
            part=part,  # type: ignore[arg-type]
            spectrum=clean_spectrum(
                wavelength_AA, rng.normal(10, 1, 390), np.ones(390), name=f"spectrum {number}"
            ),
            redshift=None,
            truth="YES" if number % 3 == 0 else "NO",
            object_id=f"{part}-object-{number}",
            object_id_source="simulated",
            label_source="test",
        )
        for number in range(count)
    )
    write_split(Split(part, "1", candidates, {"made": "by a test"}), folder)
    return folder


def small_config(split: Path, **parts: Any) -> Any:
    """Return a small training on a split; parts replace or add to those of `SMALL`."""
    from specvi_training.grpo.config import GrpoConfig

    content: dict[str, Any] = {**SMALL, "questions": {"split": str(split)}}
    for key, value in parts.items():
        merged = isinstance(content.get(key), dict) and isinstance(value, dict)
        content[key] = {**content[key], **value} if merged else value
    return validate(GrpoConfig, content, "test")


def small_trainer(config: Any, out: Path) -> Any:
    """Return the trainer of a configuration, as `train` makes it."""
    from specvi_training.folder import TrainFolder
    from specvi_training.grpo.questions import order, read_questions
    from specvi_training.grpo.train import make_arguments, make_trainer
    from specvi_training.model import Boilerplate, find_base, load_base

    folder = TrainFolder(out)
    out.mkdir(exist_ok=True)
    options = config.agent_options()
    asked = read_questions(config.questions)
    arguments = make_arguments(config, folder, options)
    base = load_base(find_base(config.model, folder.base, Boilerplate(), config.seed), dtype="float32")
    trainer = make_trainer(
        config, folder, base, asked, order(asked.candidates, config), arguments, options, None, lambda _: None
    )
    trainer.journal.open({}, asked, 0, 0)
    trainer.model.train()
    return trainer


def rows(trainer: Any, questions: Sequence[int]) -> list[dict[str, Any]]:
    """Return what the trainer's loader gives of these questions."""
    return [{"prompt": [{"role": "user", "content": ""}], "question": number} for number in questions]


Say = Callable[[int, int], str | None]
"""(rollout of the round, turn from 0) → what is said; None: the model speaks for itself."""


def speak(trainer: Any, say: Say) -> None:
    """Make the trainer's model say what it is told to, tokenised anew; everything else stays TRL's."""
    generate = type(trainer)._generate_single_turn.__get__(trainer)
    alive: list[int] = []
    turn = 0

    def told(
        prompt_ids: Any, images: Any, fields: Any, num_generations: int, has_tool_images: bool = False
    ) -> Any:
        nonlocal turn
        if not has_tool_images and len(prompt_ids) == len(trainer.environments) and turn_is_first(trainer):
            alive[:], turn = range(len(prompt_ids)), 0
        words = [say(rollout, turn) for rollout in alive]
        if any(word is None for word in words):
            ids, _ = generate(prompt_ids, images, fields, num_generations, has_tool_images)
        else:
            end = trainer.turns.chat.tokenizer.convert_tokens_to_ids("<|im_end|>")
            ids = [[*tokens(trainer, str(word)), end] for word in words]
        alive[:] = [
            rollout
            for rollout, said in zip(alive, ids, strict=True)
            if "tool_calls" in trainer.turns.read(said)
        ]
        turn += 1
        return ids, None

    trainer._generate_single_turn = told


def turn_is_first(trainer: Any) -> bool:
    return not any(rollout.inspection.turns for rollout in trainer.environments)


def tokens(trainer: Any, text: str) -> list[int]:
    """Return the ids of a text, names of special tokens spelt in ordinary ones."""
    return list(trainer.turns.chat.tokenizer(text, split_special_tokens=True)["input_ids"])
