"""The card of a trained vetter: everything in it is taken from the folder that `specvi fit` wrote."""

import json
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from specvi_benchmark.errors import UserError
from specvi_benchmark.files import parse_json, read_text, write_text
from specvi_benchmark.hub.card import PAPER
from specvi_benchmark.runs.fitting import FIT_FILE, FitRecord, read_fit_record
from specvi_benchmark.tasks import TASK_KEYS, get_task

if TYPE_CHECKING:
    from huggingface_hub import ModelCard

CARD = "README.md"
DESCRIPTION = "model.json"
_PICKLES = {".pkl", ".pickle", ".pt", ".pth", ".bin", ".ckpt", ".joblib"}


def write_system_card(folder: Path, repo_id: str) -> tuple[str, ...]:
    """Write ``README.md`` into the folder of a trained vetter; return the names of all its files.

    Raises
    ------
    UserError
        No folder of `specvi fit`, or one with a file that could run code when it is loaded.
    """
    if not (folder / FIT_FILE).is_file():
        raise UserError(
            "not a trained vetter", where=folder, expected=f"a folder with {FIT_FILE}, as specvi fit makes"
        )
    if unsafe := sorted(path.name for path in folder.iterdir() if path.suffix in _PICKLES):
        raise UserError("a file that can run code is not published", where=folder, got=", ".join(unsafe))
    write_text(folder / CARD, str(system_card(folder, repo_id)))
    return tuple(sorted(path.name for path in folder.iterdir() if path.is_file()))


def system_card(folder: Path, repo_id: str) -> "ModelCard":
    """Return the card of a trained vetter.

    ``model.json``, where the vetter wrote one, adds the tasks, what it measured on dev, and its settings.
    """
    from huggingface_hub import ModelCard, ModelCardData  # noqa: PLC0415 -- slow to import

    record = read_fit_record(folder)
    path = folder / DESCRIPTION
    about: Mapping[str, Any] = parse_json(read_text(path), path) if path.is_file() else {}
    simulated = bool(_find(about, "simulated")) or "simulated" in record.train
    template = files("specvi_benchmark.hub") / "system_card.md.jinja"
    card: ModelCard = ModelCard.from_template(
        card_data=ModelCardData(
            license="apache-2.0",
            library_name="specvi-bench",
            tags=["astronomy", "spectroscopy", record.vetter, PAPER, *(["simulated"] if simulated else [])],
        ),
        template_str=template.read_text(encoding="utf-8"),
        name=repo_id.rsplit("/", 1)[-1],
        repo_id=repo_id,
        record=record,
        simulated=simulated,
        rows=_rows(about),
        command=_command(record),
        settings=json.dumps(dict(record.config), indent=2, ensure_ascii=False),
    )
    return card


def _rows(about: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return a row a task: its class, candidates learnt from, and the AUROC on dev."""
    tasks = about.get("tasks", ())
    counts, aurocs = _find(about, "candidates") or {}, _find(about, "dev_auroc") or {}
    rows = []
    for task in (key for key in TASK_KEYS if key in tasks):
        own = tasks[task] if isinstance(tasks, Mapping) else {}
        count, auroc = own.get("train", counts.get(task, {})), own.get("dev_auroc", aurocs.get(task))
        rows.append(
            {
                "class_name": get_task(task).class_name,
                "yes": str(count.get("YES", "")),
                "no": str(count.get("NO", "")),
                "auroc": "" if auroc is None else f"{auroc:.3f}",
            }
        )
    return rows


def _command(record: FitRecord) -> str:
    options = "".join(
        f" --option {key}={value}" for key, value in dict(record.config.get("options", {})).items()
    )
    return f"specvi fit {record.vetter} --train SPLIT --out FOLDER --seed {record.seed}{options}"


def _find(about: Mapping[str, Any], name: str) -> Any:
    """Return a value by its name, on the first or the second level."""
    if name in about:
        return about[name]
    inner = (value for value in about.values() if isinstance(value, Mapping))
    return next((value[name] for value in inner if name in value), None)
