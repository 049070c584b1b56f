"""What a rollout sees, says, and earns is what an evaluation sees, hears, and scores; whatever the model writes."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("trl", reason="trl is not installed")

import grpo_kit as kit  # noqa: E402

from specvi_agents.agent import AgentVetter  # noqa: E402
from specvi_agents.dialects import as_sent  # noqa: E402
from specvi_agents.environment import InspectionEnvironment  # noqa: E402
from specvi_agents.messages import Message, Reply  # noqa: E402
from specvi_agents.parsing import AssistantTurn, read, reward  # noqa: E402
from specvi_agents.replay import replay_run  # noqa: E402
from specvi_benchmark.files import read_lines  # noqa: E402
from specvi_benchmark.trace_page import RecordedRun  # noqa: E402

CALL = '<tool_call>\n{"name": "spectral_visualization_tool", "arguments": {"wavelength_range": [4000, 4600]}}\n</tool_call>'
YES = "<think>Broad.</think>\n<answer>\n\\boxed{YES}\nIt is one.\n</answer>"
NO = "<think>Flat.</think>\n<answer>\n\\boxed{NO}\nNothing is there.\n</answer>"
BARE_NO = "<answer>\\boxed{NO}</answer>"

INSPECTIONS: dict[str, list[str]] = {
    "two zooms": [f"<think>I look.</think>\n{CALL}", f"<think>Again.</think>\n{CALL}", NO],
    "calls cut, unknown and doubled": [
        '<think>Hm.</think>\n<tool_call>\n{"name": "spectral_visualization_tool", "arguments": {"wavele',
        '<tool_call>\n{"name": "magnifier", "arguments": {}}\n</tool_call>',
        f"<think>Two.</think>{CALL}\n{CALL}",
        NO,
    ],
    "arguments that can't be used": [
        "<tool_call>\nnot JSON at all\n</tool_call>",
        CALL.replace("4000", "null"),
        CALL.replace("4600", "99999"),
        "I do not know.",
    ],
    "a call in a thought, and none": [f"<think>{CALL}</think>", ""],
    "ten calls in five turns": [f"<think>Two.</think>{CALL}\n{CALL}"] * 5 + [YES],
    "a call in every turn": [f"<think>More.</think>{CALL}"] * 9,
    "nothing at all": [""],
    "an answer and a call": [f"{YES}\n{CALL}", BARE_NO],
}


class Spoken:
    """A model that says what it is told to, and keeps what it was asked with."""

    def __init__(self, replies: Sequence[str]) -> None:
        self.config = {"name": "spoken"}
        self.replies = replies
        self.asked: list[tuple[tuple[Message, ...], bool]] = []

    async def reply(self, messages: Sequence[Message], *, tools: bool, **_: int) -> Reply:
        self.asked.append((tuple(messages), tools))
        return Reply(self.replies[len(self.asked) - 1])

    async def close(self) -> None: ...


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory, _own_home: None) -> Any:
    """Return a maker of trainers; those of the same settings are the same."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("grpo")
    asked = kit.write_asked(folder / "asked")
    made: dict[str, Any] = {}

    def trainer(**inspection: str) -> Any:
        name = "-".join(inspection.values()) or "plain"
        if name not in made:
            config = kit.small_config(asked, inspection=inspection)
            made[name] = kit.small_trainer(config, folder / name)
        return made[name]

    return trainer


def scored(trainer: Any, questions: Sequence[int], said: Sequence[Sequence[str]]) -> dict[str, Any]:
    kit.speak(trainer, lambda rollout, turn: said[rollout][turn])
    return trainer._generate_and_score_completions(kit.rows(trainer, questions))


def row_of(output: dict[str, Any], number: int) -> list[int]:
    ids = torch.cat([output["prompt_ids"], output["completion_ids"]], 1)[number]
    mask = torch.cat([output["prompt_mask"], output["completion_mask"]], 1)[number]
    return ids[mask.bool()].tolist()


CASES = [
    *((name, {}) for name in INSPECTIONS),
    ("calls cut, unknown and doubled", {"dialect": "hermes"}),
    ("two zooms", {"tool": "off"}),
    ("two zooms", {"profile": "released-code"}),
]


@pytest.mark.parametrize(("name", "inspection"), CASES, ids=str)
def test_the_trainers_row_is_the_evaluators_conversation(make, name: str, inspection: dict[str, str]) -> None:
    """Same ids up to the last word, same verdict, same reward; a turn the evaluator would not ask for is not asked."""
    trainer = make(prompt="official", **inspection)
    said = INSPECTIONS[name]
    output = scored(trainer, [0, 0], [said, said])
    rollout = trainer.environments[0]
    candidate = rollout.inspection.candidate
    model = Spoken(said)
    options = kit.small_config(
        Path("unread"), inspection={"prompt": "official", **inspection}
    ).agent_options()
    verdict = asyncio.run(AgentVetter(model, options).vet_one(candidate.question))
    messages, tools = model.asked[-1]
    asked = len(model.asked)
    local = trainer.turns.chat
    pngs = [picture.png for message in messages for picture in message.pictures]
    prompt = local.tensors(local.text(as_sent(messages), tools=tools), pngs)["input_ids"][0].tolist()
    last = kit.tokens(trainer, said[asked - 1])
    end = local.tokenizer.convert_tokens_to_ids("<|im_end|>")
    assert row_of(output, 0) == [*prompt, *last, end]
    assert len(rollout.inspection.turns) == asked
    (trace,) = verdict.traces
    mine = rollout.inspection._record.trace({}, 0)
    plain = [(t.role, t.text, t.tool_calls, t.views, t.stop) for t in trace.turns]
    assert [(t.role, t.text, t.tool_calls, t.views, t.stop) for t in mine.turns] == plain
    environment = InspectionEnvironment(options.environment)
    environment.reset(candidate.question)
    turns = [turn for turn in trace.turns if turn.role == "assistant"]
    reading = read(turns[-1].text, turns[-1].stop or "stop")  # type: ignore[arg-type]
    spoken = [AssistantTurn(turn.text) for turn in turns]
    assert rollout.get_reward() == reward(candidate.truth, spoken, reading)
    assert rollout.inspection.parts()["calls"] == verdict.tool_calls
    assert (rollout.inspection.parts()["answered"] == 1) == (verdict.answer is not None)


def test_the_ninth_call_is_refused(make) -> None:
    trainer = make(prompt="official")
    said = INSPECTIONS["ten calls in five turns"]
    scored(trainer, [0, 0], [said, said])
    answers = [m for m in trainer.environments[0].inspection.messages if m.role == "tool"]
    assert [bool(answer.pictures) for answer in answers] == [True] * 8 + [False] * 2
    assert "all 8 calls are used" in answers[8].text
    assert trainer.environments[0].inspection.parts()["calls"] == 10
    said = INSPECTIONS["a call in every turn"]
    scored(trainer, [0, 0], [said, said])
    assert len(trainer.environments[0].inspection.turns) == 9  # and not a tenth


def test_loss_falls_on_the_models_words_and_nothing_else(make) -> None:
    trainer = make(prompt="official")
    names = ("two zooms", "calls cut, unknown and doubled")
    said = [INSPECTIONS[name] for name in names]
    output = scored(trainer, [0, 0], said)
    active = (output["completion_mask"] * output["tool_mask"]).bool()
    picture = trainer.turns.chat.processor.image_token_id
    for number, turns in enumerate(said):
        ids = output["completion_ids"][number]
        learnt = ids[active[number]].tolist()
        assert picture in ids
        assert picture not in learnt
        end = trainer.turns.chat.tokenizer.convert_tokens_to_ids("<|im_end|>")
        assert learnt == [token for turn in turns for token in [*kit.tokens(trainer, turn), end]]
    assert int(output["num_items_in_batch"]) == int(active.sum())


def log_probabilities(trainer: Any, output: dict[str, Any], **changed: Any) -> Any:
    used = {**output, **changed}
    with torch.no_grad():
        found, _, _ = trainer._get_per_token_logps_and_entropies(
            trainer.model,
            torch.cat([used["prompt_ids"], used["completion_ids"]], 1),
            torch.cat([used["prompt_mask"], used["completion_mask"]], 1),
            used["completion_ids"].shape[1],
            **{
                name: used[name]
                for name in ("pixel_values", "image_grid_thw", "num_images", "mm_token_type_ids")
            },
        )
    return found


def test_drawn_words_have_the_training_pass_s_probabilities(make, monkeypatch) -> None:
    """The last turns are drawn for real, after a zoom, padded and with a cache; then read in one pass."""
    trainer = make(prompt="official")
    trainer.generation_config.max_new_tokens = 10
    drawn: list[Any] = []
    model = trainer.model
    generate = type(model).generate

    def watched(self: Any, **inputs: Any) -> Any:
        result = generate(self, **inputs, return_dict_in_generate=True, output_logits=True)
        drawn.append((result, inputs["input_ids"].shape[1]))
        return result.sequences

    monkeypatch.setattr(type(model), "generate", watched)
    zoom = INSPECTIONS["two zooms"][0]
    kit.speak(trainer, lambda _, turn: zoom if turn == 0 else None)
    output = trainer._generate_and_score_completions(kit.rows(trainer, [0, 1]))
    found = log_probabilities(trainer, output)
    (result, start) = drawn[-1]
    logits = torch.stack(result.logits, 1).float().log_softmax(-1)
    compared = 0
    for number in range(2):
        own = output["completion_mask"][number].bool()
        length = int(own.sum())
        drawn_ids = result.sequences[number, start:].tolist()
        row = output["completion_ids"][number, :length].tolist()
        tail = next(n for n in range(len(drawn_ids), 0, -1) if row[-n:] == drawn_ids[:n])
        expected = logits[number, :tail].gather(1, torch.tensor(drawn_ids[:tail])[:, None])[:, 0]
        assert torch.allclose(found[number, length - tail : length], expected, atol=2e-4)
        compared += tail
    assert compared >= 10


def test_an_unpadded_pass_of_the_evaluators_tensors_gives_the_same(make) -> None:
    trainer = make(prompt="official")
    said = [INSPECTIONS["two zooms"], INSPECTIONS["nothing at all"]]
    output = scored(trainer, [0, 0], said)
    found = log_probabilities(trainer, output)
    inspection = trainer.environments[0].inspection
    pngs = [picture.png for message in inspection.messages for picture in message.pictures]
    chat = trainer.turns.chat
    last = Message("assistant", said[0][-1])
    text = chat.text([*as_sent(inspection.messages), last], tools=True, is_next=False).rstrip()
    tensors = chat.tensors(text, pngs)
    with torch.no_grad():
        logits = trainer.model(**tensors).logits[0].float().log_softmax(-1)
    ids = tensors["input_ids"][0]
    assert ids.tolist() == row_of(output, 0)
    length = int(output["completion_mask"][0].sum())
    alone = logits[:-1].gather(1, ids[1:, None])[-length:, 0]
    learnt = output["tool_mask"][0, :length].bool()
    assert torch.allclose(found[0, :length][learnt], alone[learnt], atol=2e-4)


def test_another_picture_is_another_probability(make) -> None:
    trainer = make(prompt="official")
    said = INSPECTIONS["two zooms"]
    output = scored(trainer, [0, 1], [said, said])
    own = log_probabilities(trainer, output)
    half = output["pixel_values"].shape[0] // 2
    swapped = log_probabilities(trainer, output, pixel_values=output["pixel_values"].roll(half, 0))
    active = (output["completion_mask"] * output["tool_mask"]).bool()
    assert (own - swapped)[active].abs().max() > 1e-3


def test_rewards_are_those_of_the_recorded_words(make) -> None:
    """One rollout for each reward; read back from the folder that `specvi trace` opens, they score the same."""
    trainer = make(prompt="official")
    said = [
        [NO],
        [f"<think>I look.</think>{CALL}", BARE_NO.replace("<answer>", "</think><answer>")],
        [YES],
        ["x"],
    ]
    trainer.traced = 2
    output = scored(trainer, [1, 1, 3, 3], said)  # both are NO
    expected = [1.0, 0.8, 0.0, -0.2]
    assert [rollout.get_reward() for rollout in trainer.environments] == pytest.approx(expected)
    assert output["advantages"].tolist() == pytest.approx([0.7069, -0.7069] * 2, abs=2e-3)
    lines = [line for _, line in read_lines(trainer.journal.folder / "groups.jsonl")][-2:]
    assert [value for line in lines for value in line["reward"]] == pytest.approx(expected)
    run = RecordedRun(trainer.journal.folder)
    kept = []
    for first in (0, 2):
        found = run.find(trainer.environments[first].inspection.candidate.id)
        assert not [shown.fault for shown in found.pictures.values() if shown.fault]
        for sample in found.samples:
            turns = [turn for turn in sample.turns if turn.role == "assistant"]
            reading = read(turns[-1].text, turns[-1].stop)  # type: ignore[arg-type]
            kept.append(reward("NO", [AssistantTurn(turn.text) for turn in turns], reading))
    assert kept == pytest.approx(expected)
    replay = replay_run(run)
    assert (replay.changed, replay.unread, replay.missing) == ((), 0, 0)
    assert replay.same >= 2


@pytest.mark.parametrize("said", [BARE_NO, "x"])
def test_a_group_of_like_rewards_moves_nothing(make, said: str) -> None:
    """Eight times 0.8, or −0.2: in float32 the mean is another number, and Adam makes a whole step of any rest."""
    trainer = make(prompt="official")
    trainer.num_generations = 8
    try:
        output = scored(trainer, [1] * 8, [[said]] * 8)
    finally:
        trainer.num_generations = 2
    assert len({rollout.get_reward() for rollout in trainer.environments}) == 1
    assert output["advantages"].tolist() == [0.0] * 8
    assert trainer._metrics["train"]["frac_reward_zero_std"][-1] == 1.0


def test_an_answer_without_room_is_taken_back(make) -> None:
    """A tool's answer that would be too long is one the model has not seen: the inspection ends as cut off."""
    trainer = make(prompt="official")
    trainer.max_completion_length = 40
    try:
        said = INSPECTIONS["two zooms"]
        output = scored(trainer, [0, 0], [said, [NO]])
    finally:
        trainer.max_completion_length = 4000
    inspection = trainer.environments[0].inspection
    assert [message.role for message in inspection.messages][-1] == "assistant"
    assert trainer.environments[0].get_reward() == -0.2
    assert output["tool_mask"][0].all()


def test_a_fault_of_ours_is_not_told_to_the_model(make, monkeypatch) -> None:
    trainer = make(prompt="official")

    def broken(*_: object) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr(InspectionEnvironment, "call", broken)
    said = INSPECTIONS["two zooms"]
    with pytest.raises(OSError, match="the disk is gone"):
        scored(trainer, [0, 0], [said, said])


def test_special_tokens_are_never_drawn(make) -> None:
    trainer = make(prompt="official")
    suppressed = set(trainer.generation_config.suppress_tokens)
    tokenizer = trainer.turns.chat.tokenizer
    names = {"<|im_start|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|endoftext|>"}
    assert {tokenizer.convert_tokens_to_ids(name) for name in names} <= suppressed
    assert tokenizer.convert_tokens_to_ids("<|im_end|>") not in suppressed
