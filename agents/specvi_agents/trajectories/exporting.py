"""Export of trajectories: parquet of TRL messages with pictures, or the released form, with a card."""

import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from specvi_agents.trajectories.conversation import to_messages
from specvi_agents.trajectories.importing import REPORT_FILE, ImportReport
from specvi_agents.trajectories.overlap import Overlap
from specvi_agents.trajectories.records import State, Trajectory
from specvi_agents.trajectories.released import to_row
from specvi_agents.trajectories.review import person
from specvi_agents.trajectories.screening import Funnel, funnel
from specvi_agents.trajectories.store import Store
from specvi_benchmark.errors import UserError
from specvi_benchmark.files import json_line, read_json_model, write_bytes, write_once, write_text
from specvi_benchmark.hub.export import CARD
from specvi_benchmark.hub.trajectory_card import TrajectoryFacts, trajectory_card
from specvi_benchmark.runs.record import RUN_FILE, read_run_record
from specvi_benchmark.splits.io import check_free

Form = Literal["messages", "released"]

DATA: Mapping[Form, str] = {"messages": "train.parquet", "released": "trajectories.jsonl"}

_ROWS_AT_ONCE = 64


def export(
    store: Store,
    folder: Path,
    form: Form,
    *,
    at_least: State = "accepted",
    repo_id: str,
    overlap: Sequence[Overlap] = (),
    compared_with: Sequence[str] = (),
) -> int:
    """Write trajectories into a new folder, which appears whole; return how many.

    ``messages``: ``train.parquet`` with the columns ``id, task, truth, source_name, state, teacher, messages, images``,
    pictures inside; ``datasets.load_dataset(folder)`` reads it. ``released``: ``trajectories.jsonl`` and ``images/``.

    Parameters
    ----------
    at_least
        Only those that have come so far.
    repo_id
        ``OWNER/NAME`` that the card names.
    overlap, compared_with
        What is shared with candidates outside of train, and the splits that were looked through: for the card.

    Raises
    ------
    UserError
        There is nothing to export, or the folder holds something.
    """
    check_free(folder)
    items = chosen(store, at_least)
    folder = folder.resolve()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.", suffix=".tmp") as made:
        building = Path(made) / folder.name
        building.mkdir()
        _write_messages(items, building) if form == "messages" else _write_released(items, building)
        facts = _facts(store, items, form, repo_id, overlap, compared_with)
        write_text(building / CARD, str(trajectory_card(facts)))
        check_free(folder)  # another export may have come meanwhile
        if folder.exists():
            folder.rmdir()
        building.rename(folder)
    return len(items)


def chosen(store: Store, at_least: State) -> list[Trajectory]:
    """Return what an export takes: rejected ones never.

    Raises
    ------
    UserError
        There is nothing, or no such state.
    """
    reached: list[State] = ["draft", "screened", "revised", "audited", "accepted"]
    if at_least not in reached:
        raise UserError(
            "not a state to export", where="--at-least", expected=f"one of {', '.join(reached)}", got=at_least
        )
    wanted = reached[reached.index(at_least) :]
    every = store.trajectories().values()
    items = [item for item in every if item.state in wanted]
    if not items:
        counts = Counter(item.state for item in every)
        raise UserError(
            f"no trajectory is {at_least} or further",
            where=store.folder,
            got=", ".join(f"{count} {state}" for state, count in counts.items()) or "an empty folder",
            fix="review them, or name an earlier state with --at-least",
        )
    return items


def _write_messages(items: Sequence[Trajectory], folder: Path) -> None:
    import pyarrow as pa  # noqa: PLC0415 -- slow to import
    import pyarrow.parquet as pq  # noqa: PLC0415
    from datasets import Features, Image, Value  # noqa: PLC0415

    text = Value("string")
    features = Features(
        {
            **dict.fromkeys(("id", "task", "truth", "source_name", "state", "teacher"), text),
            "messages": [{"role": text, "content": [{"type": text, "text": text}]}],
            "images": [Image()],
        }
    )
    schema = features.arrow_schema  # it carries the features, so that pictures are pictures when loaded
    with pq.ParquetWriter(folder / DATA["messages"], schema) as writer:
        for start in range(0, len(items), _ROWS_AT_ONCE):
            rows = [_message_row(item) for item in items[start : start + _ROWS_AT_ONCE]]
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))


def _message_row(item: Trajectory) -> dict[str, Any]:
    record = item.record
    return {
        "id": record.id,
        "task": record.task,
        "truth": record.truth,
        "source_name": record.source_name,
        "state": item.state,
        "teacher": record.teacher,
        **to_messages(item),
    }


def _write_released(items: Sequence[Trajectory], folder: Path) -> None:
    lines: list[bytes] = []
    owner: dict[str, str] = {}
    for number, item in enumerate(items):
        row, names = to_row(item, number)
        taken = {name: f"{sha}.png" for name, sha in names.items() if owner.setdefault(name, sha) != sha}
        row = row.model_copy(update={"images": tuple(taken.get(name, name) for name in row.images)})
        for name, sha256 in names.items():
            write_once(folder / "images" / taken.get(name, name), item.png(sha256))
        lines.append(json_line(row.plain()))
    write_bytes(folder / DATA["released"], b"".join(lines))


def _facts(
    store: Store,
    items: Sequence[Trajectory],
    form: Form,
    repo_id: str,
    overlap: Sequence[Overlap],
    compared_with: Sequence[str],
) -> TrajectoryFacts:
    counts: dict[str, Counter[str]] = {}
    for item in items:
        counts.setdefault(item.record.task, Counter())[item.record.truth] += 1
    changes = [change for item in items for change in item.changes]
    return TrajectoryFacts(
        repo_id=repo_id,
        form=form,
        data_file=DATA[form],
        counts={task: dict(found) for task, found in sorted(counts.items())},
        states=dict(Counter(item.state for item in items)),
        surveys=tuple(sorted({item.record.survey for item in items})),
        origin=tuple(_origin(store)),
        funnel=tuple(_funnel_row(one) for one in funnel(store.trajectories().values())),
        reviewers=len({person(change.by) for change in changes if change.action != "screen"}),
        rewritten=sum(any(change.edits for change in item.changes) for item in items),
        compared_with=tuple(compared_with),
        overlap=tuple(map(str, overlap)),
    )


def _origin(store: Store) -> Iterator[str]:
    """Yield where the trajectories come from, a sentence each."""
    if (store.folder / RUN_FILE).exists():
        run = read_run_record(store.folder)
        split = run.split
        yield f"Drafted by `{run.vetter}` on the train part of {split.name} {split.version} (fingerprint of the part and task taken: `{split.fingerprint}`)"
        told = run.config.get("guidance")
        if told:
            parts = [name for name in ("answer", "guideline") if told.get(name)]
            parts += [f"{len(told['seeds'])} seed examples"] if told.get("seeds") else []
            yield f"The teacher was told: {', '.join(parts)}. None of it is in the conversations"
        yield f"Versions: {', '.join(f'{name} {number}' for name, number in run.versions.items())}"
    if (store.folder / REPORT_FILE).exists():
        report = read_json_model(store.folder / REPORT_FILE, ImportReport)
        mended = sum(report.mended.values())
        yield f"Imported from `{report.source}`: {report.taken} of {report.rows} rows taken, {mended} damaged characters mended in {report.mended_rows} of them, {len(report.left_out)} rows left out"
        if report.overlap_allowed and report.overlapping:
            yield f"{len(report.overlapping)} of the rows taken show held-out candidates of the splits that the import was held against"


def _funnel_row(one: Funnel) -> dict[str, Any]:
    return json.loads(one.model_dump_json())  # type: ignore[no-any-return]
