"""The vetter `rules`: one small rule for each task, and its evidence in words."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from specvi_baselines.arguments import refuse_arguments
from specvi_baselines.rules import carbon, cataclysmic, hot_star, m_giant, quasar, s_star, white_dwarf
from specvi_baselines.rules.finding import Finding
from specvi_baselines.rules.spikes import without_spikes
from specvi_benchmark.errors import UserError
from specvi_benchmark.features import Prepared, choose_shift, prepare
from specvi_benchmark.traces import said
from specvi_benchmark.vetting import Question, Verdict, answered

RULES_VERSION = 3
"""Raised whenever a verdict can change."""

BLIND_SNR = 2.0
"""Median S/N a pixel below which a NO may only mean that nothing could be seen, and says so."""

RULES: Mapping[str, Callable[[Prepared, float | None], Finding]] = {
    "cv": cataclysmic.decide,
    "cs": lambda prepared, _: carbon.decide(prepared),
    "ss": lambda prepared, _: s_star.decide(prepared),
    "mg": lambda prepared, _: m_giant.decide(prepared),
    "wd": lambda prepared, _: white_dwarf.decide(prepared),
    "o": lambda prepared, _: hot_star.decide_o(prepared),
    "b": lambda prepared, _: hot_star.decide_b(prepared),
    "a": lambda prepared, _: hot_star.decide_a(prepared),
    "qso": quasar.decide,
}
"""The rule of each task, given the prepared spectrum and the pipeline's redshift."""


@dataclass(frozen=True, slots=True)
class Rules:
    """Decides by measured indices and fixed thresholds. Same question, same verdict; no P(YES)."""

    @property
    def config(self) -> Mapping[str, Any]:
        """Return what changes a verdict: the version of the rules."""
        return {"rules_version": RULES_VERSION}

    def vet(self, questions: Sequence[Question]) -> Iterator[Verdict]:
        """Yield one verdict for each question, in order."""
        for question in questions:
            finding, text = explain(question)
            yield answered(question, finding.answer, traces=(said(text),))


def explain(question: Question) -> tuple[Finding, str]:
    """Return the finding, and the statement that goes into the trace.

    Raises
    ------
    UserError
        There is no rule for the task.
    """
    rule = RULES.get(question.task.key)
    if rule is None:
        raise UserError(
            "the vetter rules has no rule for this task",
            where=f"task {question.task.key}",
            expected=f"one of {', '.join(RULES)}",
        )
    shift = choose_shift(question.redshift, question.task.frame)
    prepared, spikes = without_spikes(prepare(question.spectrum, shift.redshift))
    finding = rule(prepared, question.redshift)
    blind = ""
    if finding.answer == "NO" and prepared.snr < BLIND_SNR:
        blind = f" At S/N {prepared.snr:.1f} a pixel little can be measured: this NO may only mean not seen."
    noise = "the survey's errors" if prepared.noise_from == "ivar" else "scatter of neighbouring pixels"
    left_out = f" {spikes} pixels of spikes sharper than the instrument are left out." if spikes else ""
    lines = (
        f"{finding.answer}. {finding.reason}.{blind}",
        f"Read with S/N {prepared.snr:.1f} a pixel ({noise}), {shift.words}.{left_out} Measured:",
        *(f"- {words}" for words in finding.evidence),
    )
    return finding, "\n".join(lines)


def create(argument: str | None, options: Mapping[str, str]) -> Rules:
    """Make the vetter ``rules``; it takes no argument and no option."""
    refuse_arguments("rules", argument, options)
    return Rules()
