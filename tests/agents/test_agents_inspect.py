"""Tasks and logs of inspect_ai. Run by ``make test-inspect``: inspect_ai lives in an environment of its own."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("inspect_ai", reason="inspect_ai lives in an environment of its own: make test-inspect")

from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessage, ContentReasoning, ContentText, ModelOutput, ModelUsage, get_model
from inspect_ai.model import Model as InspectModel

from specvi_agents.environment import InspectionEnvironment
from specvi_agents.inspect_log import import_log
from specvi_agents.inspect_model import reply_of, zoom_tool
from specvi_agents.inspect_task import specvi
from specvi_agents.replay import replay_run
from specvi_benchmark.errors import UserError
from specvi_benchmark.runs.evaluate import match_run, score_matched
from specvi_benchmark.splits import Split
from specvi_benchmark.splits.io import write_split
from specvi_benchmark.trace_page import RecordedRun, audit
from specvi_benchmark.views.tool import TOOL_NAME, TOOL_SCHEMA

YES, NO = (f"<think>Seen.</think>\n<answer>\\boxed{{{word}}}</answer>" for word in ("YES", "NO"))


@pytest.fixture
def split(make_split: Callable[..., Split], tmp_path: Path) -> str:
    folder = tmp_path / "split"
    write_split(make_split(6), folder)
    return str(folder)


def playing(part: Callable[[list[ChatMessage]], ModelOutput]) -> InspectModel:
    """Return a model that plays a part; tokens are stated, so that nothing is fetched to count them."""

    def answer(messages, tools, tool_choice, config):
        output = part(messages)
        output.usage = ModelUsage(
            input_tokens=90, input_tokens_cache_read=10, output_tokens=7, total_tokens=107
        )
        return output

    return get_model("mockllm/model", custom_outputs=answer, memoize=False)


def says(text: str) -> ModelOutput:
    return ModelOutput.from_content("mockllm", text)


def looks(window: object) -> ModelOutput:
    return ModelOutput.for_tool_call(
        "mockllm", TOOL_NAME, {"wavelength_range": window}, content="<think>I look.</think>"
    )


def turn(messages: list[ChatMessage]) -> int:
    return sum(message.role == "assistant" for message in messages)


def looks_then_says(text: str) -> InspectModel:
    return playing(lambda messages: says(text) if turn(messages) else looks([4800, 4900]))


def log_of(task: Task, model: InspectModel, tmp_path: Path, **more: object) -> Path:
    (log,) = evaluate(task, model=model, log_dir=str(tmp_path / "logs"), display="none", **more)
    assert log.status == "success", log.error
    return Path(log.location)


def test_the_tool_is_described_as_everywhere() -> None:
    assert zoom_tool().model_dump(exclude_none=True)["name"] == TOOL_NAME
    described = zoom_tool().parameters.model_dump(exclude_none=True)
    assert described["required"] == TOOL_SCHEMA["function"]["parameters"]["required"]
    assert set(described["properties"]) == set(TOOL_SCHEMA["function"]["parameters"]["properties"])


def test_an_evaluation_becomes_a_run_with_pictures_that_scores_as_any(split: str, tmp_path: Path) -> None:
    log = log_of(specvi(split=split), looks_then_says(YES), tmp_path)
    folder = tmp_path / "run"
    record = import_log(log, folder)
    assert record.counts is not None
    assert record.counts["answered"] == 6
    assert record.vetter == "inspect:mockllm/model"
    matched = match_run(folder)
    results = score_matched(matched)
    (task,) = results.tasks
    assert task.ledger["YES"]["YES"] == 2
    assert task.ledger["NO"]["YES"] == 4
    for row in matched.predictions:
        assert (row.tool_calls, row.tokens_in, row.tokens_out) == (1, 200, 14)
    run = RecordedRun(folder)
    assert replay_run(run).same == 6
    checked = audit(run, matched.split)
    assert (checked.same, checked.changed, checked.faulty) == (12, (), ())  # the full view and one zoom, each


def test_the_model_sees_what_the_environment_says(split: str, tmp_path: Path) -> None:
    heard: list[list[ChatMessage]] = []

    def part(messages: list[ChatMessage]) -> ModelOutput:
        heard.append(messages)
        return says(NO) if turn(messages) else looks(["4900", 4800])

    log_of(specvi(split=split), playing(part), tmp_path, limit=1)
    from specvi_benchmark.splits.named import find_split

    environment = InspectionEnvironment()
    opening = environment.reset(find_split(split).candidates[0].question)
    answer = environment.call(TOOL_NAME, json.dumps({"wavelength_range": ["4900", 4800]}))
    first, second = heard
    assert first[0].text == opening[0].text
    assert first[1].text.strip() == opening[1].text.replace("<image>", "").strip()
    # inspect_ai moves a tool's pictures into a user turn where a provider takes them nowhere else.
    told = next(message for message in second if message.role == "tool")
    asked = next(message for message in second if message.role == "assistant")
    assert answer.text in told.text
    assert told.tool_call_id == asked.tool_calls[0].id
    images = [part.image for message in second for part in message.content if getattr(part, "image", "")]
    assert len(images) == 2
    assert images[0] != images[1]


def test_the_score_of_inspect_counts_non_answers_as_wrong(split: str, tmp_path: Path) -> None:
    from inspect_ai.log import read_eval_log

    log = log_of(specvi(split=split), playing(lambda _: says("I cannot tell.")), tmp_path)
    read = read_eval_log(str(log))
    assert read.results.scores[0].metrics["accuracy"].value == 0
    log = log_of(specvi(split=split), playing(lambda _: says(NO)), tmp_path)
    assert read_eval_log(str(log)).results.scores[0].metrics["accuracy"].value == pytest.approx(4 / 6)


def test_epochs_become_votes(split: str, tmp_path: Path) -> None:
    counts: dict[str, int] = {}

    def part(messages: list[ChatMessage]) -> ModelOutput:
        picture = str(messages[1].content)
        counts[picture] = counts.get(picture, 0) + 1
        return says(YES if counts[picture] < 3 else NO)

    log = log_of(specvi(split=split), playing(part), tmp_path, epochs=3)
    folder = tmp_path / "run"
    import_log(log, folder)
    for row in match_run(folder).predictions:
        assert row.answer == "YES"
        assert sorted(row.votes) == ["NO", "YES", "YES"]
        assert row.p_yes == pytest.approx(2 / 3)


def test_reasoning_apart_from_the_text_holds_no_answer() -> None:
    output = ModelOutput.from_content(
        "m", [ContentReasoning(reasoning=YES), ContentText(text="nothing")], stop_reason="max_tokens"
    )
    reply = reply_of(output)
    assert (reply.text, reply.stop) == ("nothing", "length")
    assert reply.reasoning == YES


def test_a_log_of_another_task_is_read_by_the_same_parser(split: str, tmp_path: Path) -> None:
    samples = [Sample(id=f"cv-{number:03d}", input="Is it one?", target="NO") for number in range(6)]
    other = Task(dataset=MemoryDataset(samples))
    log = log_of(other, playing(lambda _: says(NO)), tmp_path)
    with pytest.raises(UserError, match="which split"):
        import_log(log, tmp_path / "run")
    record = import_log(log, tmp_path / "run", place=split)
    assert record.counts["answered"] == 6
    assert [turn.role for turn in RecordedRun(tmp_path / "run").find("cv-000").samples[0].turns] == [
        "user",
        "assistant",
    ]
    with pytest.raises(UserError, match="not empty"):
        import_log(log, tmp_path / "run", place=split)


def test_ids_of_another_split_are_refused(split: str, tmp_path: Path) -> None:
    other = Task(dataset=MemoryDataset([Sample(id="stranger", input="Is it one?", target="NO")]))
    log = log_of(other, playing(lambda _: says(NO)), tmp_path)
    with pytest.raises(UserError, match="not in the split"):
        import_log(log, tmp_path / "run", place=split)


def test_a_model_that_breaks_costs_its_sample_only(split: str, tmp_path: Path) -> None:
    seen: list[int] = []

    def part(messages: list[ChatMessage]) -> ModelOutput:
        seen.append(1)
        if len(seen) == 1:
            raise RuntimeError("the server is gone")
        return says(NO)

    log = log_of(specvi(split=split), playing(part), tmp_path, fail_on_error=False, max_samples=1)
    record = import_log(log, tmp_path / "run")
    assert record.counts["error"] == 1
    assert record.counts["answered"] == 5


def test_what_is_no_log_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such log"):
        import_log(tmp_path / "none.eval", tmp_path / "run")
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(UserError, match="not a log"):
        import_log(tmp_path / "bad.json", tmp_path / "run")
