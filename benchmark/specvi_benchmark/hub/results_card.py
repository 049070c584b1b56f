"""A model's results as the Hub reads them: the card's evaluation results, and ``.eval_results``."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from specvi_benchmark.hub.card import PAPER
from specvi_benchmark.scoring.measure import Measure
from specvi_benchmark.scoring.results import Results
from specvi_benchmark.tasks import get_task

if TYPE_CHECKING:
    from huggingface_hub import EvalResult, ModelCard

EVAL_FOLDER = ".eval_results"
PROPRIETARY = "proprietary"


@dataclass(frozen=True, slots=True)
class CardSubject:
    """What a card says of a system beside its scores. ``kind`` and ``licence`` None: not known.

    ``status`` is a sentence on where the answers come from. ``simulated``: the spectra are.
    """

    name: str
    kind: str | None
    licence: str | None
    status: str
    date: str | None
    notes: str | None
    rank: str | None
    simulated: bool


def model_card(
    subject: CardSubject, results: Results, dataset: str, source: str | None = None
) -> "ModelCard":
    """Return a model card with every score; text of submitters is shown as it is, never as markup.

    Parameters
    ----------
    dataset
        ``OWNER/NAME`` of the split on the Hub.
    source
        Address of the leaderboard.
    """
    from huggingface_hub import ModelCard, ModelCardData  # noqa: PLC0415 -- slow to import

    more: dict[str, Any] = {}
    if subject.licence == PROPRIETARY:
        more = {"license": "other", "license_name": PROPRIETARY}
    elif subject.licence:
        more["license"] = subject.licence.lower()
    tags = ["astronomy", "spectroscopy", "specvi-bench", PAPER, *(["simulated"] if subject.simulated else [])]
    template = files("specvi_benchmark.hub") / "results_card.md.jinja"
    card: ModelCard = ModelCard.from_template(
        card_data=ModelCardData(
            model_name=subject.name,
            datasets=[dataset],
            tags=tags,
            eval_results=list(eval_results(results, dataset, source)),
            **more,
        ),
        template_str=template.read_text(encoding="utf-8"),
        name=shielded(subject.name),
        kind=subject.kind,
        status=shielded(subject.status),
        notes=shielded(subject.notes) if subject.notes else None,
        rank=subject.rank,
        date=subject.date,
        simulated=subject.simulated,
        split=f"{results.split.name} {results.split.version}",
        fingerprint=results.split.fingerprint,
        rule=results.rule,
        scoring_version=results.scoring_version,
        dataset=dataset,
        source=source,
        rows=list(_rows(results)),
    )
    return card


def eval_results(results: Results, dataset: str, source: str | None = None) -> "Iterator[EvalResult]":
    """Yield F1 and accuracy of every task, and macro-F1 of every track, as the card's metadata holds them."""
    from huggingface_hub import EvalResult  # noqa: PLC0415

    def made(config: str, kind: str, value: float, name: str) -> EvalResult:
        return EvalResult(
            task_type="image-text-to-text",
            task_name="Vetting candidates for rare objects in spectra",
            dataset_type=dataset,
            dataset_name=f"{results.split.name} {results.split.version}",
            dataset_config=config,
            dataset_split=results.split.parts[0],
            metric_type=kind,
            metric_name=name,
            metric_value=value,
            source_url=source,
            source_name="SpecVI-Bench leaderboard" if source else None,
        )

    for score in results.tasks:
        key = score.task if score.track == get_task(score.task).track else f"{score.task}_{score.track}"
        for kind in ("f1", "accuracy"):
            if (value := getattr(score.ranked, kind).value) is not None:
                yield made(key, kind, value, "F1 of YES; non-answers wrong" if kind == "f1" else "accuracy")
    for macro in results.macro:
        if macro.ranked.f1.value is not None:
            yield made(macro.track, "f1", macro.ranked.f1.value, f"macro-F1, {macro.track} track")


def eval_entries(
    results: Results, dataset: str, *, date: str | None, source: str | None
) -> list[dict[str, Any]]:
    """Return the content of ``.eval_results/*.yaml``: macro-F1 of each track, F1 of each task."""
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml  # noqa: PLC0415

    def entry(task_id: str, value: float, what: str) -> EvalResultEntry:
        return EvalResultEntry(
            dataset_id=dataset,
            task_id=task_id,
            value=round(100 * value, 2),
            date=date,
            source_url=source,
            source_name="SpecVI-Bench leaderboard" if source else None,
            notes=f"{what} in per cent; non-answers count as wrong; split {results.split.fingerprint[:16]}",
        )

    entries = [
        entry(macro.track, macro.ranked.f1.value, f"macro-F1 over {', '.join(macro.tasks)}")
        for macro in results.macro
        if macro.ranked.f1.value is not None
    ]
    entries += [
        entry(f"{score.track}-{score.task}", score.ranked.f1.value, "F1 of YES")
        for score in results.tasks
        if score.ranked.f1.value is not None
    ]
    found: list[dict[str, Any]] = eval_result_entries_to_yaml(entries)
    return found


def shielded(text: str) -> str:
    """Return text as Markdown shows it letter by letter: nothing in it becomes markup, HTML or a link."""
    plain = " ".join(text.split())
    escaped = "".join(f"\\{c}" if c in r"\`*_[]<>|~&#!" else c for c in plain)
    return re.sub(r"(?i)\b(www)\.", r"\1\\.", escaped.replace("://", r":\//"))


def _rows(results: Results) -> Iterator[dict[str, str]]:
    for score in results.tasks:
        values = {
            name: _measure(getattr(score.ranked, name)) for name in ("accuracy", "precision", "recall", "f1")
        }
        yield {"track": score.track, "task": score.task, "n": f"{score.positives} of {score.n}", **values}
    for macro in results.macro:
        values = {
            name: _measure(getattr(macro.ranked, name)) for name in ("accuracy", "precision", "recall", "f1")
        }
        yield {"track": macro.track, "task": "mean", "n": "", **values}


def _measure(measure: Measure) -> str:
    if measure.value is None:
        return "–"
    if measure.low is None or measure.high is None:
        return f"{measure.value:.3f}"
    return f"{measure.value:.3f} ({measure.low:.3f}–{measure.high:.3f})"
