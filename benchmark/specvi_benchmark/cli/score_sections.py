"""Tables of `specvi score` beyond accuracy: probability, deferral, promises, survey."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.markup import escape
from rich.table import Table

from specvi_benchmark.errors import examples

if TYPE_CHECKING:
    from specvi_benchmark.scoring.beyond import (
        BeyondAccuracy,
        BreakdownRow,
        CalibrationSource,
        DeferralPoint,
        OfTask,
        Promise,
        Survey,
        TaskDeferral,
        TaskProbability,
        TaskPromises,
        Workload,
    )
    from specvi_benchmark.scoring.measure import Measure

_SHOWN = (0.05, 0.1, 0.2, 0.3)
_BY = {"snr": "signal to noise", "subtype": "subtype", "survey": "survey"}


def sections(found: "BeyondAccuracy") -> Iterator[Table | str]:
    """Yield what is printed beyond accuracy, in order; one line where there is no probability."""
    yield from _without_probability(found)
    if any(task.versions for task in found.probability):
        yield _probability_table(found.probability)
        yield "ECE in brackets: what a perfectly calibrated system would show on as many candidates."
        yield _deferral_table(found.deferral)
        yield (
            "Purity/completeness with that share of candidates in people's hands, non-answers first, then the "
            "least certain answers; people are taken to be right. AURC, AUGRC: lower is better."
        )
        yield _workload_table(found)
    if found.calibration:
        yield from _promises(found.calibration, found.promises)
    if found.survey:
        yield from _survey(found.survey)
    if found.breakdown:
        yield from _breakdown(found.breakdown, found.prevalence)
    if found.survey_drops:
        yield _drop_table(found)


def _without_probability(found: "BeyondAccuracy") -> Iterator[str]:
    """Say once why there are no probabilities, naming the tasks only where they differ."""
    reasons: dict[str, list[str]] = {}
    for task in found.probability:
        if task.undefined:
            reasons.setdefault(task.undefined, []).append(_label(task))
    for reason, tasks in reasons.items():
        where = "" if len(tasks) == len(found.probability) else f" ({', '.join(tasks)})"
        what = "mended probabilities" if reason.startswith(("calibration", "only")) else "deferral and risk"
        yield f"Probability, {what}{where}: undefined: {escape(reason)}."


def _probability_table(tasks: Sequence["TaskProbability"]) -> Table:
    columns = ("P(YES)", "n", "AUROC", "average precision", "Brier", "log loss", "ECE", "adaptive ECE")
    table = _table(*columns, title="Probability")
    for task in tasks:
        for made in task.versions:
            table.add_row(
                _label(task),
                made.version,
                str(task.n),
                *map(_measure, (made.auroc, made.average_precision, made.brier)),
                _number(made.log_loss.value),
                f"{_number(made.ece)} ({_number(made.ece_by_chance)})",
                f"{_number(made.ece_adaptive)} ({_number(made.ece_adaptive_by_chance)})",
            )
    return table


def _deferral_table(tasks: Sequence["TaskDeferral"]) -> Table:
    shares = (f"{share:.0%}" for share in _SHOWN)
    table = _table("P(YES)", "no answer", "only those", *shares, "AURC", "AUGRC", title="Deferred to people")
    for task in tasks:
        for made in task.versions:
            points = {point.deferred: point for point in made.points}
            table.add_row(
                _label(task),
                made.version,
                f"{task.non_answers:.1%}",
                _point(task.without_order),
                *(_point(points[share]) for share in _SHOWN),
                _number(made.aurc),
                _number(made.augrc),
            )
    return table


def _workload_table(found: "BeyondAccuracy") -> Table:
    at = "" if found.prevalence is None else f", and where {found.prevalence:g} are members"
    targets = [f"{work.completeness:.0%}" for work in found.deferral[0].workload_by_answer]
    table = _table(
        "P(YES)", *targets, title=f"Share to open, highest P(YES) first, for a completeness of{at}:"
    )
    for task in found.deferral:
        for made in task.versions:
            table.add_row(_label(task), made.version, *map(_work, made.workload))
    return table


def _promises(source: "CalibrationSource", tasks: Sequence["TaskPromises"]) -> Iterator[Table | str]:
    yield f"Calibrated on {escape(source.run)} (part {source.part}, fingerprint {source.fingerprint[:12]})."
    for warning in source.warnings:
        yield f"[bold red]Warning:[/] {escape(warning)}."
    table = _table(
        "q", "negatives", "needed", "selected", "false share", "completeness", title="Conformal selection"
    )
    for task in tasks:
        needed = str(task.negatives_needed) if task.negatives_needed else "–"
        if task.negatives_needed_at_prevalence:
            needed += f" ({task.negatives_needed_at_prevalence:,} at the stated prevalence)"
        row = (_label(task), f"{task.q:g}", str(task.negatives), needed)
        if task.undefined:
            table.add_row(*row, "refused", "–", "–")
        else:
            table.add_row(*row, str(task.selected), _number(task.false_share), _number(task.completeness))
    yield table
    yield "The expected share of false entries is at most q, over many such lists; ties count against a candidate."
    yield from _refused({_label(task): task.undefined for task in tasks})
    kept = [(task, promise) for task in tasks for promise in task.thresholds]
    if any(promise.undefined is None for _, promise in kept):
        table = _table(
            "promise", "P(YES)", "purity here", "completeness here", title="Thresholds fixed on that run"
        )
        for task, promise in kept:
            if promise.undefined is None:
                table.add_row(_label(task), *_promise(promise))
        yield table
    yield from _refused(
        {
            f"{promise.kind} ≥ {promise.target:.0%} in {_label(task)}": promise.undefined
            for task, promise in kept
        }
    )


def _refused(reasons: Mapping[str, str | None]) -> Iterator[str]:
    """Say each reason once, with what it keeps from being said."""
    names: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        if reason:
            names.setdefault(reason, []).append(name)
    for reason, refused in names.items():
        yield f"Refused: {escape(reason)}: {examples(refused, limit=5)}."


def _survey(survey: "Survey") -> Iterator[Table | str]:
    table = _table(
        "purity",
        "completeness",
        "with queue",
        "false alarms",
        "looks per member",
        "hours saved",
        title=f"Where {survey.prevalence:g} of all spectra are members",
    )
    for task in survey.tasks:
        table.add_row(
            _label(task),
            *map(_measure, (task.purity, task.completeness, task.completeness_with_queue)),
            _measure(task.false_alarms, digits=4),
            _measure(task.looks_per_member, digits=1),
            _measure(task.hours_saved, digits=1),
        )
    yield table
    screened = ""
    if (survey.screen_completeness, survey.screen_acceptance) != (1, 1):
        screened = (
            f" Behind a screen that passes {survey.screen_completeness:g} of the members and "
            f"{survey.screen_acceptance:g} of the others."
        )
    yield (
        f"Without a system: {1 / survey.prevalence:,.0f} looks per member. Hours saved per {survey.spectra:,} "
        f"spectra at {survey.seconds_a_look:g} s a look; non-answers are looked at.{screened} It assumes that the "
        "survey's negatives are like those of this set."
    )


def _breakdown(rows: Sequence["BreakdownRow"], prevalence: float | None) -> Iterator[Table]:
    for way in dict.fromkeys(row.by for row in rows):
        columns = [_BY[way], "positives", "completeness", "negatives", "false alarms"]
        if prevalence is not None:
            columns.append(f"purity at {prevalence:g}")
        table = _table(*columns, title=f"By {_BY[way]}")
        for row in rows:
            if row.by == way:
                cells = [escape(row.value), str(row.positives), _measure(row.completeness)]
                cells += [str(row.negatives), _measure(row.false_alarms)]
                table.add_row(_label(row), *cells, *([] if prevalence is None else [_measure(row.purity)]))
        yield table


def _drop_table(found: "BeyondAccuracy") -> Table:
    columns = ("from", "to", "objects", "positives", "metric", "from", "to", "drop")
    table = _table(*columns, title="Same objects in two surveys")
    for row in found.survey_drops:
        table.add_row(
            _label(row),
            escape(row.reference_survey),
            escape(row.other_survey),
            str(row.objects),
            str(row.positives),
            row.metric.replace("_", " "),
            _number(row.reference),
            _number(row.other),
            _measure(row.drop),
        )
    return table


def _table(*columns: str, title: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=title, title_justify="left")
    table.add_column("task", no_wrap=True)
    for column in columns:
        table.add_column(column, justify="right")
    return table


def _label(row: "OfTask") -> str:
    return f"{row.track} {row.task}"


def _point(point: "DeferralPoint") -> str:
    return f"{_number(point.purity)}/{_number(point.completeness)}"


def _work(work: "Workload") -> str:
    here = _share(work.opened)
    return here if work.opened_at_prevalence is None else f"{here}, {_share(work.opened_at_prevalence)}"


def _promised(promise: "Promise") -> str:
    return f"{promise.kind} ≥ {promise.target:.0%}, {promise.confidence:.0%} sure"


def _promise(promise: "Promise") -> tuple[str, str, str, str]:
    sign = "≥" if promise.kind == "completeness" else ">"
    return (
        _promised(promise),
        f"{sign} {_number(promise.threshold)}",
        _measure(promise.purity),
        _measure(promise.completeness),
    )


def _measure(measure: "Measure", digits: int = 3) -> str:
    if measure.value is None:
        return "–"
    if measure.low is None:
        return _number(measure.value, digits)
    low, high = _number(measure.low, digits), _number(measure.high, digits)
    return f"{_number(measure.value, digits)} \\[{low}–{high}]"


def _number(value: float | None, digits: int = 3) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"
