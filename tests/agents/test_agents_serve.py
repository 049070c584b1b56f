"""`transformers serve`, a real server with a real (tiny) model, spoken to by the real client over HTTP."""

import json
import shutil
from itertools import pairwise
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("transformers", reason="transformers is not installed")
pytest.importorskip(
    "fastapi", reason="transformers serve needs fastapi (pip install 'transformers[serving]')"
)

from specvi_agents.models.openai import create
from specvi_benchmark.cli.main import main
from specvi_benchmark.runs.ask import ask
from specvi_benchmark.splits.io import write_split
from specvi_benchmark.vetting import Outcome, VetterUnusable

pytestmark = pytest.mark.slow


def options(base_url: str, **more: str) -> dict[str, str]:
    return {
        "base_url": base_url,
        "max_tokens": "40",
        "cache": "off",
        "price_in": "0",
        "price_out": "0",
        **more,
    }


def inspect(folder: Path, given: dict[str, str], split) -> list:
    entries: list = []
    assert ask(create(str(folder), given), [one.question for one in split.candidates], entries.append) == 0
    return [entry.verdict for entry in entries]


def test_an_untrained_model_makes_a_complete_run(
    transformers_server: str, tiny_folder: Path, tmp_path: Path, make_split
) -> None:
    write_split(make_split(4), tmp_path / "split")
    run = tmp_path / "run"
    command = [
        "run",
        "--vetter",
        f"openai:{tiny_folder}",
        "--split",
        str(tmp_path / "split"),
        "--out",
        str(run),
    ]
    for key, value in options(transformers_server, max_tokens="8").items():
        command += ["--option", f"{key}={value}"]
    with pytest.raises(SystemExit) as ended:
        main(command)
    assert not ended.value.code
    rows = [json.loads(line) for line in (run / "predictions.jsonl").read_text().splitlines()]
    assert len(rows) == len({row["id"] for row in rows}) == 4
    assert {row["outcome"] for row in rows} <= {"truncated", "unparsed"}
    assert len((run / "traces.jsonl").read_text().splitlines()) == 4
    assert len(list((run / "views").glob("*.png"))) == 4


@pytest.mark.parametrize("dialect", ["api", "hermes"])
def test_calls_pictures_and_thoughts_survive_the_server(
    transformers_server: str, acting_folder: Path, make_split, dialect: str
) -> None:
    """The server takes calls and thoughts out of the text, drops text beside calls, and fails on odd arguments."""
    given = options(transformers_server, temperature="1", dialect=dialect)
    verdicts = inspect(acting_folder, given, make_split(8))
    assert {verdict.outcome for verdict in verdicts} == {Outcome.ANSWERED}
    called = [verdict for verdict in verdicts if verdict.tool_calls]
    assert called
    for verdict in called:
        turns = verdict.traces[0].turns
        assert sum(turn.role == "tool" and len(turn.views) == 1 for turn in turns) == verdict.tool_calls
        # Each turn's prompt holds one picture more than the last: at least its 32 tokens (224 × 112 pixels).
        prompts = [turn.usage["tokens_in"] for turn in turns if turn.usage]
        assert all(later - earlier > 32 for earlier, later in pairwise(prompts))


def test_the_server_counts_the_tokens_that_the_local_model_counts(
    transformers_server: str, acting_folder: Path, make_split
) -> None:
    """The same opening, template and pictures: what goes over the wire is what is shown in this process."""
    from specvi_agents.models.transformers import create as create_local

    split = make_split(2)
    over_http = inspect(acting_folder, options(transformers_server, temperature="1"), split)
    here: list = []
    ask(
        create_local(str(acting_folder), {"max_tokens": "40", "temperature": "1", "device": "cpu"}),
        [one.question for one in split.candidates],
        here.append,
    )

    def opening(verdict) -> int:
        return next(turn.usage["tokens_in"] for turn in verdict.traces[0].turns if turn.usage)

    assert sorted(map(opening, over_http)) == sorted(opening(entry.verdict) for entry in here)


def test_a_server_that_drops_pictures_in_silence_is_found_out(
    transformers_server: str, tiny_folder: Path, tmp_path: Path, make_split
) -> None:
    """Where no ``auto_map`` names a processor, the server loads the bare tokenizer and answers 200 from the text."""
    blind = tmp_path / "blind"
    shutil.copytree(tiny_folder, blind)
    for name in ("processor_config.json", "tokenizer_config.json"):
        config = json.loads((blind / name).read_text())
        config.pop("auto_map")
        config.get("image_processor", {}).pop("auto_map", None)
        (blind / name).write_text(json.dumps(config))
    with pytest.raises(VetterUnusable, match="drops pictures"):
        inspect(blind, options(transformers_server), make_split(2))
