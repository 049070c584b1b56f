"""A log of inspect_ai becomes a run folder: predictions, traces and pictures, to be scored as any run."""

import base64
import binascii
import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from inspect_ai.log import EvalLog, EvalSample, read_eval_log
from inspect_ai.model import ChatMessage, ContentImage

from specvi_agents.inspect_model import call_of, reply_of, words_of
from specvi_agents.inspect_task import SPLIT_KEY, TRACES_KEY
from specvi_agents.parsing import PARSER_VERSION
from specvi_agents.rereading import reread
from specvi_benchmark.errors import UserError, examples
from specvi_benchmark.files import validate
from specvi_benchmark.runs.log import Log, entry_of
from specvi_benchmark.runs.record import (
    SCHEMA_VERSION,
    RunRecord,
    SplitReference,
    choose_split,
    environment,
    load_split,
    write_run_record,
)
from specvi_benchmark.runs.runner import VERSIONS
from specvi_benchmark.splits import Part, Split
from specvi_benchmark.traces import Trace, TraceRecord, Turn
from specvi_benchmark.vetting import Outcome, Verdict

PNG_PREFIX = "data:image/png;base64,"


def import_log(
    path: Path, folder: Path, *, place: str | None = None, part: Part = "test", task: str | None = None
) -> RunRecord:
    """Make a run folder of a log.

    Logs of `specvi_agents.inspect_task` name their split and hold the traces. Those of any other task need the split
    named; their samples must have its ids, and the last turn is read by the suite's parser. Epochs are votes.

    Parameters
    ----------
    path
        A ``.eval`` or ``.json`` log.
    folder
        New, or empty.
    place, part, task
        The split, for a log that does not name one, or where it has moved.

    Raises
    ------
    UserError
        No such log, no split, ids that are not in it, or a folder that is not empty.
    """
    log = _read(path)
    split, reference = _split_of(log, place, part, task)
    samples = _by_id(log, split, path)
    if folder.exists() and any(folder.iterdir()):
        raise UserError("the run folder is not empty", where=folder, fix="name another folder with --out")
    folder.mkdir(parents=True, exist_ok=True)
    record = _record(log, reference)
    write_run_record(folder, record)
    tasks = {candidate.id: candidate.task.key for candidate in split.candidates}
    outcomes: Counter[str] = Counter()
    with Log(folder) as out:
        for name, epochs in samples.items():
            verdict = _verdict(tasks[name], name, epochs, log)
            outcomes[verdict.outcome.value] += 1
            out.write(entry_of(verdict))
    if len(samples) == len(split.candidates):
        counts = {outcome.value: outcomes[outcome.value] for outcome in Outcome}
        record = record.model_copy(update={"ended": log.stats.completed_at, "counts": counts})
        write_run_record(folder, record)
    return record


def _read(path: Path) -> EvalLog:
    if not path.is_file():
        raise UserError("no such log", where=path, fix="inspect_ai writes its logs under logs/")
    try:
        return read_eval_log(str(path), resolve_attachments=True)
    except Exception as error:
        raise UserError(
            "not a log of inspect_ai", where=path, got=f"{type(error).__name__}: {error}"
        ) from error


def _split_of(log: EvalLog, place: str | None, part: Part, task: str | None) -> tuple[Split, SplitReference]:
    known = (log.eval.metadata or {}).get(SPLIT_KEY)
    if known is not None:
        reference = validate(SplitReference, known, "the log's metadata")
        return load_split(reference, place), reference
    if place is None:
        raise UserError(
            "the log does not say which split it is about",
            fix="name it: --split mini, a split folder, or an official parquet file",
        )
    return choose_split(place, part, task)


def _by_id(log: EvalLog, split: Split, path: Path) -> dict[str, list[EvalSample]]:
    """Return the samples of each question, in the order of their epochs."""
    ids = {candidate.id for candidate in split.candidates}
    found: dict[str, list[EvalSample]] = {}
    for sample in log.samples or ():
        found.setdefault(str(sample.id), []).append(sample)
    strangers = [name for name in found if name not in ids]
    if strangers:
        raise UserError(
            "the log has samples that are not in the split",
            where=path,
            expected=f"ids of split {split.name}",
            got=examples(strangers),
            fix="name the right split with --split",
        )
    if not found:
        raise UserError("the log has no samples", where=path, fix="run the evaluation again")
    return {name: sorted(epochs, key=lambda sample: sample.epoch) for name, epochs in found.items()}


def _record(log: EvalLog, reference: SplitReference) -> RunRecord:
    """Return run.json. The model's arguments are left out: they may hold a key."""
    settings = log.eval.model_generate_config.model_dump(mode="json", exclude_none=True)
    settings = {key: value for key, value in settings.items() if not key.startswith("extra_")}
    config = {
        "inspect_task": log.eval.task,
        "inspect_task_args": log.eval.task_args,
        "inspect_model": log.eval.model,
        "inspect_generate_config": settings,
        "inspect_packages": log.eval.packages,
    }
    return RunRecord(
        schema_version=SCHEMA_VERSION,
        vetter=f"inspect:{log.eval.model}",
        config=config,
        split=reference,
        versions={**VERSIONS, "parser_version": PARSER_VERSION},
        environment=environment(),
        seed=0,
        started=log.eval.created,
    )


def _verdict(task: str, name: str, epochs: Sequence[EvalSample], log: EvalLog) -> Verdict:
    """Return the verdict that the words of a question's samples come to, with their traces."""
    records: list[TraceRecord] = []
    pictures: dict[str, bytes] = {}
    for sample in epochs:
        pictures |= dict(_pictures(sample.messages))
        records += _records(task, name, sample, log)
    records = [record.model_copy(update={"sample": number}) for number, record in enumerate(records)]
    traces = tuple(_trace(record, pictures) for record in records)
    return replace(reread(records), traces=traces)


def _records(task: str, name: str, sample: EvalSample, log: EvalLog) -> list[TraceRecord]:
    kept = sample.store.get(TRACES_KEY)
    if kept:
        return [validate(TraceRecord, value, f"sample {name}, its store") for value in kept]
    settings = {"inspect_task": log.eval.task, "parser_version": PARSER_VERSION}
    turns = tuple(_turns(sample))
    return [TraceRecord(schema_version=1, id=name, task=task, sample=0, environment=settings, turns=turns)]


def _turns(sample: EvalSample) -> Iterator[Turn]:
    """Yield the turns of a sample of any task, without its pictures, of which nothing is known.

    Why the last turn of the model was the last is what its output says.
    """
    last = max(
        (number for number, message in enumerate(sample.messages) if message.role == "assistant"), default=-1
    )
    for number, message in enumerate(sample.messages):
        text, reasoning, refusal = words_of(message)
        calls = tuple(map(call_of, getattr(message, "tool_calls", None) or ()))
        is_model = message.role == "assistant"
        yield Turn(
            role=message.role,
            text=text,
            tool_calls=calls,
            tool_call_id=getattr(message, "tool_call_id", None),
            reasoning=reasoning if is_model else None,
            refusal=refusal if is_model else None,
            stop=reply_of(sample.output).stop if number == last and sample.output.choices else None,
        )
    if sample.error is not None:
        yield Turn(role="error", text=sample.error.message)


def _pictures(messages: Sequence[ChatMessage]) -> Iterator[tuple[str, bytes]]:
    """Yield the PNG files in the messages, by their SHA-256."""
    for message in messages:
        for part in () if isinstance(message.content, str) else message.content:
            if isinstance(part, ContentImage) and part.image.startswith(PNG_PREFIX):
                try:
                    png = base64.b64decode(part.image.removeprefix(PNG_PREFIX), validate=True)
                except binascii.Error:
                    continue
                yield hashlib.sha256(png).hexdigest(), png


def _trace(record: TraceRecord, pictures: Mapping[str, bytes]) -> Trace:
    """Return a trace with its pictures; views whose picture the log has lost are left out."""
    turns = tuple(
        turn.model_copy(update={"views": tuple(view for view in turn.views if view.png_sha256 in pictures)})
        for turn in record.turns
    )
    shown: dict[str, Any] = {
        view.png_sha256: pictures[view.png_sha256] for turn in turns for view in turn.views
    }
    return Trace(turns, record.environment, record.sample, shown)
