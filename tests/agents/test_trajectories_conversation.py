"""A kept trajectory is the conversation that the evaluator held: the same text at every turn, the same pictures."""

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from specvi_agents.agent import AgentVetter
from specvi_agents.environment import EnvironmentOptions
from specvi_agents.messages import Message, Reply, ToolCall
from specvi_agents.options import AgentOptions
from specvi_agents.trajectories import Record, Store, Trajectory, read, to_messages
from specvi_agents.trajectories.records import SCHEMA_VERSION
from specvi_benchmark.errors import UserError
from specvi_benchmark.splits import Split
from specvi_benchmark.vetting import Verdict

CALL = '<tool_call>\n{{"name": "spectral_visualization_tool", "arguments": {{"wavelength_range": [{0}, {1}]}}}}\n</tool_call>'
IN_TEXT = (
    Reply(f"<think>A bump?</think>\n{CALL.format(6400, 6740)}"),
    Reply(f"<think>Two more.</think>\n{CALL.format(4770, 4960)}\n{CALL.format(1, 2)}"),
    Reply("<think>Broad.</think>\n<answer>\n\\boxed{YES}\nBroad Hα.\n</answer>"),
)
IN_FIELDS = (
    Reply(
        "<think>A bump?</think>",
        (
            ToolCall(
                id="call_0",
                name="spectral_visualization_tool",
                arguments='{"wavelength_range": [6400, 6740]}',
            ),
        ),
        "tool_calls",
    ),
    IN_TEXT[-1],
)


class Saying:
    """A model that says what it is told to, and keeps what it was sent."""

    def __init__(self, replies: Sequence[Reply]) -> None:
        self.config = {"name": "saying"}
        self.replies, self.sent = list(replies), []

    async def reply(self, messages: Sequence[Message], *, tools: bool, **_: int) -> Reply:
        self.sent.append((tuple(messages), tools))
        return self.replies[len(self.sent) - 1]

    async def close(self) -> None:
        pass


def inspected(
    split: Split,
    replies: Sequence[Reply],
    options: EnvironmentOptions,
    prompt: tuple[tuple[str, str], ...] = (),
) -> tuple[Verdict, Saying]:
    model = Saying(replies)
    vetter = AgentVetter(model, AgentOptions(options))
    question = replace(split.candidates[0].question, prompt=prompt)
    return asyncio.run(vetter.vet_one(question)), model


def kept(verdict: Verdict, folder: Path) -> Trajectory:
    trace = verdict.traces[0]
    record = Record(
        schema_version=SCHEMA_VERSION,
        id=verdict.id,
        task=verdict.task,
        truth="YES",
        source_name="spec.fits",
        object_id=None,
        split=None,
        teacher="saying",
        trace=trace.record(verdict.task, verdict.id),
    )
    Store.make(folder).add(record, trace.pictures)
    (found,) = read(folder)
    return found


@pytest.mark.parametrize("dialect", ["api", "hermes"])
@pytest.mark.parametrize("replies", [IN_TEXT, IN_FIELDS], ids=["calls in the text", "calls in fields"])
@pytest.mark.parametrize(
    "prompt", [(), (("user", "<image>\nIs it one?"),)], ids=["ours", "published, without system"]
)
def test_the_text_is_what_the_evaluator_sends_at_every_turn(
    tiny_folder: Path,
    make_split: Callable[..., Split],
    tmp_path: Path,
    dialect: str,
    replies: Sequence[Reply],
    prompt: tuple[tuple[str, str], ...],
) -> None:
    from specvi_agents.models.checkpoint import find_checkpoint
    from specvi_agents.models.local.model import LocalModel

    local = LocalModel.load(find_checkpoint(str(tiny_folder), "transformers"), device="cpu", dtype="auto")
    options = EnvironmentOptions(dialect=dialect, prompt="official" if prompt else "guideline")
    verdict, model = inspected(make_split(), replies, options, prompt)
    row = to_messages(kept(verdict, tmp_path / "store"))
    turns = [number for number, message in enumerate(row["messages"]) if message["role"] == "assistant"]
    assert len(turns) == len(model.sent) == len(replies)
    for (sent, tools), number in zip(model.sent, turns, strict=True):
        rendered = local.chat.processor.apply_chat_template(
            row["messages"][:number], chat_template=local.chat.template, add_generation_prompt=True
        )
        assert rendered == local.chat.text(sent, tools=tools)
        pictures = [picture.png for message in sent for picture in message.pictures]
        assert [image["bytes"] for image in row["images"]][: len(pictures)] == pictures
    whole = local.chat.processor.apply_chat_template(row["messages"], chat_template=local.chat.template)
    assert whole.endswith(f"{replies[-1].text}<|im_end|>\n")


def test_roles_parts_and_pictures(make_split: Callable[..., Split], tmp_path: Path) -> None:
    verdict, _ = inspected(make_split(), IN_TEXT, EnvironmentOptions())
    row = to_messages(kept(verdict, tmp_path / "store"))
    roles = [message["role"] for message in row["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "tool", "tool", "assistant"]
    kinds = [[part["type"] for part in message["content"]] for message in row["messages"]]
    assert kinds == [["text"], ["image", "text"], ["text"], ["image", "text"], ["text"], ["image", "text"], ["text"], ["text"]]  # fmt: skip
    assert row["messages"][2]["content"] == [{"type": "text", "text": IN_TEXT[0].text}]
    assert len(row["images"]) == 3
    for image in row["images"]:
        assert image["path"] == f"{hashlib.sha256(image['bytes']).hexdigest()}.png"


def test_a_damaged_picture_is_told(make_split: Callable[..., Split], tmp_path: Path) -> None:
    verdict, _ = inspected(make_split(), IN_TEXT, EnvironmentOptions())
    found = kept(verdict, tmp_path / "store")
    path = next((tmp_path / "store" / "views").iterdir())
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(UserError, match="damaged"):
        to_messages(found)
    path.unlink()
    with pytest.raises(UserError, match="no such file"):
        to_messages(found)


def test_an_inspection_that_broke_off_is_no_conversation(
    make_split: Callable[..., Split], tmp_path: Path
) -> None:
    class Gone(Saying):
        async def reply(self, *_: object, **__: object) -> Reply:
            from specvi_agents.messages import ModelError

            raise ModelError("the server is gone")

    verdict = asyncio.run(AgentVetter(Gone(())).vet_one(make_split().candidates[0].question))
    with pytest.raises(UserError, match="broke off"):
        to_messages(kept(verdict, tmp_path / "store"))
