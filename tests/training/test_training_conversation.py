"""What is trained on: the evaluator's ids, whatever the model wrote, and loss on its own words alone."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("trl", reason="trl is not installed")

from trajectory_kit import GOOD, folder_of, inspect, star  # noqa: E402

from specvi_agents.agent import AgentVetter  # noqa: E402
from specvi_agents.dialects import as_sent  # noqa: E402
from specvi_agents.environment import EnvironmentOptions  # noqa: E402
from specvi_agents.messages import Message, Reply, ToolCall  # noqa: E402
from specvi_agents.models.checkpoint import find_checkpoint  # noqa: E402
from specvi_agents.models.local.model import LocalModel  # noqa: E402
from specvi_agents.options import AgentOptions  # noqa: E402
from specvi_agents.trajectories.conversation import conversation  # noqa: E402
from specvi_agents.trajectories.exporting import export  # noqa: E402
from specvi_agents.trajectories.importing import import_released  # noqa: E402
from specvi_agents.trajectories.records import Record  # noqa: E402
from specvi_agents.trajectories.screening import screen_all  # noqa: E402
from specvi_agents.trajectories.store import Store, read  # noqa: E402
from specvi_benchmark.errors import UserError  # noqa: E402
from specvi_training.conversation import IGNORED, collate, encode  # noqa: E402
from specvi_training.sft.config import DataPart  # noqa: E402
from specvi_training.sft.data import Lesson, read_lessons  # noqa: E402

CALL = '<tool_call>\n{"name": "spectral_visualization_tool", "arguments": {"wavelength_range": [4000, 4600]}}\n</tool_call>'
FIELDS = ToolCall(id="c", name="spectral_visualization_tool", arguments='{"wavelength_range": [5000, 5600]}')
FINAL = "<think>Flat.</think>\n<answer>\n\\boxed{NO}\nNothing is there.\n</answer>"
INSPECTIONS = {
    "two zooms": [f"<think>I look.</think>\n{CALL}", f"<think>Again.</think>\n{CALL}", FINAL],
    "calls cut, unknown and doubled": [
        '<think>Hm.</think>\n<tool_call>\n{"name": "spectral_visualization_tool", "arguments": {"wavele',
        '<tool_call>\n{"name": "magnifier", "arguments": {}}\n</tool_call>',
        f"<think>Two.</think>{CALL}\n{CALL}",
        FINAL,
    ],
    "arguments that can't be used": [
        "<tool_call>\nnot JSON at all\n</tool_call>",
        CALL.replace("4000", "null"),
        CALL.replace("4600", "99999"),
        "I do not know.",
    ],
    "names of special tokens": [f"<|im_end|>\n<|im_start|>user <|image_pad|>{CALL}", FINAL],
    "nothing at all": [""],
    "blanks around": [f"  <think>I look.</think>\n\n{CALL}  ", f"{FINAL}\n"],
}


class Spoken:
    """A model that says what it is told to, and keeps what it was asked with."""

    def __init__(self, replies: Sequence[Reply]) -> None:
        self.config = {"name": "spoken"}
        self.replies = list(replies)
        self.asked: list[tuple[Message, ...]] = []
        self.tools: list[bool] = []

    async def reply(self, messages: Sequence[Message], *, tools: bool, **_: int) -> Reply:
        self.asked.append(tuple(messages))
        self.tools.append(tools)
        return self.replies[len(self.asked) - 1]

    async def close(self) -> None: ...


@pytest.fixture(scope="module")
def local(tiny_folder: Path) -> LocalModel:
    return LocalModel.load(find_checkpoint(str(tiny_folder), "transformers"), device="cpu", dtype="float32")


def inspected(replies: Sequence[Reply], make_split, folder: Path, **settings) -> tuple[Spoken, Lesson]:
    """Hold an inspection as an evaluation does, keep it as a trajectory, and read that back."""
    (candidate,) = make_split(1, part="train").candidates
    model = Spoken(replies)
    vetter = AgentVetter(model, AgentOptions(environment=EnvironmentOptions(**settings)))
    verdict = asyncio.run(vetter.vet_one(candidate.question))
    (trace,) = verdict.traces
    record = Record(
        schema_version=1,
        id=candidate.id,
        task="cv",
        truth=candidate.truth,
        source_name="x.fits",
        object_id=candidate.object_id,
        split=None,
        teacher="spoken",
        trace=trace.record("cv", candidate.id),
    )
    Store.make(folder).add(record, trace.pictures)
    (trajectory,) = read(folder)
    return model, Lesson(trajectory, conversation(trajectory.record, trajectory.trace))


@pytest.mark.parametrize("dialect", ["api", "hermes"])
@pytest.mark.parametrize("name", INSPECTIONS)
def test_every_row_begins_with_each_prompt_of_the_evaluator(
    local: LocalModel, make_split, tmp_path: Path, name: str, dialect: str
) -> None:
    said = [Reply(text) for text in INSPECTIONS[name]]
    model, lesson = inspected(said, make_split, tmp_path, dialect=dialect, prompt="official")
    row = encode(local.chat, lesson, tools=False)
    ids = row.inputs["input_ids"][0]
    assert len(model.asked) == len(said)
    for messages, tools, reply in zip(model.asked, model.tools, said, strict=True):
        prompt = local.prompt(messages, tools=tools, seed=0)
        length = prompt.length
        if reply.text[:1].isspace():  # the template's line break and the blanks become one token
            length -= 1
        assert torch.equal(prompt.inputs["input_ids"][0, :length], ids[:length])
        n = len(prompt.inputs["pixel_values"])
        assert torch.equal(prompt.inputs["pixel_values"], row.inputs["pixel_values"][:n])
        assert row.labels[length] != IGNORED or reply.text[:1].isspace()
        assert (row.labels[length - 3 : length] == IGNORED).all()


def test_calls_in_fields_are_learnt_as_they_are_shown_again(
    local: LocalModel, make_split, tmp_path: Path
) -> None:
    said = [Reply("<think>I look.</think>", (FIELDS,)), Reply(FINAL)]
    model, lesson = inspected(said, make_split, tmp_path)
    row = encode(local.chat, lesson, tools=False)
    last = local.prompt(as_sent(model.asked[-1]), tools=model.tools[-1], seed=0)
    assert torch.equal(last.inputs["input_ids"][0], row.inputs["input_ids"][0, : last.length])


@pytest.mark.parametrize("name", ["two zooms", "calls cut, unknown and doubled", "names of special tokens"])
def test_loss_falls_on_the_models_words_and_nothing_else(
    local: LocalModel, make_split, tmp_path: Path, name
) -> None:
    """Token by token, by a count of turns of its own: between <|im_start|>assistant and <|im_end|>."""
    said = [Reply(text) for text in INSPECTIONS[name]]
    _, lesson = inspected(said, make_split, tmp_path, dialect="hermes", prompt="official")
    row = encode(local.chat, lesson, tools=False)
    tokenizer = local.chat.tokenizer
    start, end, picture = map(
        tokenizer.convert_tokens_to_ids, ("<|im_start|>", "<|im_end|>", "<|image_pad|>")
    )
    head = tokenizer("<|im_start|>assistant\n")["input_ids"]
    ids, place, expected = row.inputs["input_ids"][0].tolist(), 0, []
    while place < len(ids):
        if ids[place : place + len(head)] == head:
            expected += [IGNORED] * len(head)
            place += len(head)
            while True:
                expected.append(ids[place])
                place += 1
                if ids[place - 1] == end:
                    break
        else:
            expected.append(IGNORED)
            place += 1
    assert row.labels.tolist() == expected
    trained = [token for token in row.labels.tolist() if token != IGNORED]
    assert picture in ids
    assert picture not in trained
    assert start not in trained
    assert trained.count(end) == len(said)
    told = tokenizer.decode(trained)
    written = "".join(reply.text.replace("<|", "<| ").replace("|>", " |>") + "<|im_end|>" for reply in said)
    assert told == written
    assert "tool_response" not in told
    assert "flux" not in told


def test_the_word_that_decides_is_the_one_the_evaluator_reads(
    local: LocalModel, make_split, tmp_path: Path
) -> None:
    """Not a word in a thought, nor one after the answer: counted in the text, token by token."""
    end = "<think>Is it \\boxed{YES}?</think>\n<answer>\n\\boxed{NO}\n</answer>\nNot \\boxed{YES}."
    _, lesson = inspected(
        [Reply(CALL), Reply(end)], make_split, tmp_path, dialect="hermes", prompt="official"
    )
    row = encode(local.chat, lesson, tools=False)
    pieces = [local.chat.tokenizer.decode([token]) for token in row.inputs["input_ids"][0]]
    begin = "".join(pieces).rindex("{NO}") + 1
    place, expected = 0, []
    for piece in pieces:
        expected.append(place < begin + 2 and place + len(piece) > begin)
        place += len(piece)
    assert row.decides.tolist() == expected
    assert 1 <= sum(expected) <= 2


def lessons_of(folders: Sequence[Path]) -> tuple[Lesson, ...]:
    return read_lessons(DataPart(trajectories=tuple(map(str, folders)), at_least="draft"))


def test_a_batch_is_its_rows(local: LocalModel, make_split, draft_lessons) -> None:
    """Loss of a padded batch = mean over its trained tokens of rows read alone."""
    tasks = ("cv", "mg", "o")
    lessons = lessons_of([draft_lessons(make_split(1, task, "train"), task) for task in tasks])
    rows = [encode(local.chat, lesson, tools=False) for lesson in lessons]
    assert len({row.length for row in rows}) > 1
    batch = collate(rows, pad=local.chat.tokenizer.pad_token_id)
    assert batch["pixel_values"].shape[0] == sum(len(row.inputs["pixel_values"]) for row in rows)
    sums, count = 0.0, 0
    with torch.no_grad():
        together = local._model(**batch).loss
        for row in rows:
            logits = local._model(**row.inputs).logits[0, :-1].log_softmax(-1)
            wanted = row.labels[1:]
            kept = wanted != IGNORED
            sums -= float(logits[kept].gather(1, wanted[kept][:, None]).sum())
            count += int(kept.sum())
    assert float(together) == pytest.approx(sums / count, rel=1e-5)


def test_another_picture_is_another_loss(local: LocalModel, make_split, draft_lessons) -> None:
    folder = draft_lessons(make_split(2, part="train"))
    first, second = (encode(local.chat, lesson, tools=False) for lesson in lessons_of([folder]))
    with torch.no_grad():
        own = local._model(**first.inputs, labels=first.labels[None]).loss
        n = len(first.inputs["pixel_values"])
        other = {**first.inputs, "pixel_values": torch.roll(second.inputs["pixel_values"][:n], 1, 0)}
        swapped = local._model(**other, labels=first.labels[None]).loss
    assert abs(float(own - swapped)) > 1e-4


def test_a_row_too_long_is_refused_by_name(local: LocalModel, make_split, draft_lessons) -> None:
    folder = draft_lessons(make_split(1, part="train"))
    (lesson,) = lessons_of([folder])
    with pytest.raises(UserError, match="longer than a row") as error:
        encode(local.chat, lesson, tools=False, max_tokens=100)
    assert lesson.id in str(error.value)


def test_a_template_that_rewrites_earlier_turns_is_refused(
    local: LocalModel, make_split, tmp_path: Path
) -> None:
    """As templates of thinking models do, which take thoughts out of all turns but the last."""
    from specvi_agents.models.local.chat import Chat

    template = local.chat.template.replace(
        "{{- parts(message.content) -}}\n        {%- for call",
        "{{- parts(message.content) if loop.last -}}\n        {%- for call",
    )
    assert template != local.chat.template
    said = [Reply(text) for text in INSPECTIONS["two zooms"]]
    _, lesson = inspected(said, make_split, tmp_path, dialect="hermes")
    with pytest.raises(UserError, match="writes earlier turns anew"):
        encode(Chat(local.chat.processor, template), lesson, tools=False)


def test_files_in_the_released_form_are_the_same_lesson(local: LocalModel, tmp_path: Path) -> None:
    """Written as the released set is, and imported again: the same ids, labels and pixels."""
    made = folder_of(tmp_path / "made", [inspect(GOOD)])
    screen_all(made, {"star-0": star().question})
    export(made, tmp_path / "out", "released", at_least="screened", repo_id="me/set")
    import_released(tmp_path / "out" / "trajectories.jsonl", tmp_path / "again")
    first, second = (
        encode(local.chat, lessons_of([folder])[0], tools=False)
        for folder in (tmp_path / "made", tmp_path / "again")
    )
    assert torch.equal(first.labels, second.labels)
    assert first.inputs.keys() == second.inputs.keys()
    assert all(torch.equal(first.inputs[name], second.inputs[name]) for name in first.inputs)
    assert (first.labels != IGNORED).sum() > 100
