"""Whom a GRPO asks, and when: balance, epochs, difficulty, the cost of none of it in a resume."""

import json
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("trl", reason="trl is not installed")

import grpo_kit as kit

from specvi_benchmark.errors import UserError
from specvi_training.grpo.questions import order, read_questions


def asked(folder: Path, balance: str, **parts: object) -> tuple[list[str], list[str]]:
    """Return ids and truths in the order they are asked."""
    config = kit.small_config(folder, questions={"split": str(folder), "balance": balance}, **parts)
    split = read_questions(config.questions)
    chosen = [split.candidates[number] for number in order(split.candidates, config)]
    return [c.id for c in chosen], [c.truth for c in chosen]


def test_as_is_asks_each_once_an_epoch_in_another_order(tmp_path: Path) -> None:
    folder = kit.write_asked(tmp_path / "asked")
    ids, _ = asked(folder, "as_is", epochs=2)
    assert len(ids) == 12
    assert sorted(ids[:6]) == sorted(ids[6:]) == [f"train-{n:03d}" for n in range(6)]
    assert ids[:6] != ids[6:]
    assert asked(folder, "as_is", epochs=2)[0] == ids
    assert asked(folder, "as_is", epochs=2, seed=1)[0] != ids


def test_classes_take_turns_and_the_rarer_one_is_asked_again(tmp_path: Path) -> None:
    """Six candidates, two of them YES: four NO and each YES twice, one of each in every round of two."""
    ids, truths = asked(kit.write_asked(tmp_path / "asked"), "class")
    assert len(ids) == 8
    assert all(set(truths[n : n + 2]) == {"YES", "NO"} for n in range(0, 8, 2))
    assert sorted(Counter(ids).values()) == [1, 1, 1, 1, 2, 2]


def test_a_rest_that_fills_no_round_is_left_out(tmp_path: Path) -> None:
    ids, _ = asked(kit.write_asked(tmp_path / "asked"), "as_is", rollouts={"prompts": 4})
    assert len(ids) == 4


def test_questions_that_were_always_right_or_wrong_are_left_out(tmp_path: Path) -> None:
    folder = kit.write_asked(tmp_path / "asked")
    earlier = tmp_path / "earlier"
    (earlier / "rollouts").mkdir(parents=True)
    shares = {0: [1, 1], 1: [0, 0], 2: [1, 0], 3: [1, 1]}
    lines = [
        json.dumps({"task": "cv", "id": f"train-{number:03d}", "correct": values})
        for number, values in [*shares.items(), (3, [0, 1])]
    ]
    (earlier / "rollouts" / "groups.jsonl").write_text("".join(f"{line}\n" for line in lines))
    part = {"split": str(folder), "difficulty": {"rollouts": str(earlier), "least": 0.1, "most": 0.9}}
    kept = read_questions(kit.small_config(folder, questions=part).questions)
    assert sorted(c.id for c in kept.candidates) == ["train-002", "train-003", "train-004", "train-005"]
    none = {**part, "limit": 1, "difficulty": {"rollouts": str(tmp_path)}}
    with pytest.raises(UserError, match="has no rollouts"):
        read_questions(kit.small_config(folder, questions=none).questions)
