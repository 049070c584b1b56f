"""Runs an ablation from configuration to table; killed at any moment, it goes on."""

from dataclasses import asdict
from pathlib import Path

from specvi_benchmark.errors import UserError
from specvi_benchmark.files import canonical_json, locked, parse_json, read_text, write_json, write_text
from specvi_training.ablate.config import AblateConfig
from specvi_training.ablate.jobs import Tell, run_all, seconds
from specvi_training.ablate.plan import plan
from specvi_training.ablate.table import Line, lines, markdown

CONFIG_FILE = "ablate.json"
TABLE_FILE = "table.md"
RESULTS_FILE = "results.json"


def ablate(config: AblateConfig, out: Path, tell: Tell = lambda _: None) -> list[Line]:
    """Train and score every arm, or go on; ``out/table.md`` and ``out/results.json`` are the result.

    Raises
    ------
    UserError
        The folder holds another ablation, or a command failed.
    """

    def refuse() -> None:
        raise UserError("another process works in this folder", where=out, fix="wait for it, or name another")

    out.mkdir(parents=True, exist_ok=True)
    with locked(out, refuse):
        _claim(config, out)
        todo = plan(config, out)
        run_all(todo.jobs, out, workers=config.workers, threads=config.threads, tell=tell)
        found = lines(todo.runs)
        text = markdown(found)
        write_text(out / TABLE_FILE, f"{text}\n{config.note}\n" if config.note else text)
        write_json(
            out / RESULTS_FILE,
            {
                "arms": [asdict(line) for line in found],
                "seconds": seconds(todo.jobs, out),
                "note": config.note,
            },
        )
    return found


def _claim(config: AblateConfig, out: Path) -> None:
    """Write the configuration down, or check that it is the one that stands there; how it is run may differ."""
    path = out / CONFIG_FILE
    told = config.model_dump(mode="json", exclude={"workers", "threads", "launch", "note"})
    if not path.is_file():
        write_json(path, told)
        return
    if canonical_json(parse_json(read_text(path), path)) != canonical_json(told):
        raise UserError(
            "this folder holds another ablation",
            where=out,
            expected=f"the configuration in {CONFIG_FILE}",
            fix="name another folder with --out",
        )
