"""The vetter `ensemble:FOLDER,FOLDER,…`: the mean P(YES) of trained systems, of one kind or several."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scipy.special import logit

from specvi_baselines.calibration import CALIBRATION_FILE, answer, read_calibration
from specvi_benchmark.errors import UserError
from specvi_benchmark.files import canonical_json
from specvi_benchmark.runs.fitting import FIT_FILE, Trained, load_system, read_fit_record
from specvi_benchmark.splits.families import SELECTOR_FAMILY
from specvi_benchmark.traces import Trace, Turn, said
from specvi_benchmark.vetting import Outcome, Question, Verdict, answered

SAME_SHARE = 0.25
"""Shares of members whose log-odds differ by no more than this are taken for one: 17 % and 20 %."""


@dataclass(frozen=True, slots=True)
class Ensemble:
    """Averages members that were each calibrated; YES from a mean of one half on."""

    members: tuple[Trained, ...]

    @property
    def config(self) -> Mapping[str, Any]:
        """Return what changes a verdict: every member with its training."""
        members = [{"vetter": member.record.vetter, **member.config} for member in self.members]
        marked = next((one for one in members if one.get(SELECTOR_FAMILY) is True), {})
        return {"members": members, SELECTOR_FAMILY: bool(marked), "family": marked.get("family")}

    def vet(self, questions: Sequence[Question]) -> Iterator[Verdict]:
        """Yield a verdict for each question, in order; one that a member could not answer is not averaged."""
        columns = [self._by_question(member, questions) for member in self.members]
        for question in questions:
            yield self._verdict(question, [column[question.task.key, question.id] for column in columns])

    def _by_question(self, member: Trained, questions: Sequence[Question]) -> dict[tuple[str, str], Verdict]:
        return {(verdict.task, verdict.id): verdict for verdict in member.vet(questions)}

    def _verdict(self, question: Question, found: Sequence[Verdict]) -> Verdict:
        lacking = next((one for one in found if one.p_yes is None), None)
        if lacking is not None:
            name = self.members[found.index(lacking)].record.vetter
            words = f"The member {name} gives no P(YES): {lacking.outcome.value}"
            if lacking.outcome is Outcome.ERROR:
                trace = Trace(turns=(Turn(role="error", text=words),), environment={})
                return Verdict(question.id, question.task.key, Outcome.ERROR, traces=(trace,))
            return Verdict(question.id, question.task.key, Outcome.ABSTAINED, traces=(said(words),))
        each = [float(one.p_yes) for one in found if one.p_yes is not None]
        mean = sum(each) / len(each)
        told = answer(mean)
        words = (
            f"{told}. Mean P(YES) {mean:.3f} of {len(each)} members: {', '.join(f'{p:.3f}' for p in each)}."
        )
        return answered(question, told, p_yes=mean, traces=(said(words),))


def create(argument: str | None, options: Mapping[str, str]) -> Ensemble:
    """Make ``ensemble:FOLDER,FOLDER,…`` of folders that `specvi fit` wrote; options go to every member.

    Raises
    ------
    UserError
        Fewer than two folders, a system twice, a folder that is no trained system, or probabilities that do not go
        together: raw ones, those of a system that is not calibrated, or, unless an option declares a prevalence for
        all, ones that are right at different shares of members.
    """
    if "probability" in options:
        raise UserError(
            "an ensemble averages mended P(YES) only",
            where="--option probability",
            got=options["probability"],
            fix="leave the option out",
        )
    folders = [Path(one.strip()).expanduser() for one in (argument or "").split(",") if one.strip()]
    if len(folders) < 2 or len({folder.resolve() for folder in folders}) < len(folders):
        raise UserError(
            "an ensemble needs two folders or more, each once",
            where="vetter ensemble",
            expected="ensemble:FOLDER,FOLDER",
            got=argument or "no folder",
        )
    members = tuple(_member(folder, options) for folder in folders)
    _refuse_the_same(folders, members)
    if "prevalence" not in options:
        _refuse_other_shares(folders)
    return Ensemble(members)


def _member(folder: Path, options: Mapping[str, str]) -> Trained:
    if not (folder / FIT_FILE).is_file():
        raise UserError(
            "not a trained system", where=folder, expected=f"a folder with {FIT_FILE}, as specvi fit makes"
        )
    if not (folder / CALIBRATION_FILE).is_file():
        raise UserError(
            "an ensemble averages mended P(YES) only, and this system's is not mended",
            where=folder,
            expected=f"a folder with {CALIBRATION_FILE}",
            got=read_fit_record(folder).vetter,
            fix="leave it out",
        )
    member = load_system(f"{read_fit_record(folder).vetter}:{folder}", options)
    assert isinstance(member, Trained)
    return member


def _refuse_the_same(folders: Sequence[Path], members: Sequence[Trained]) -> None:
    """Refuse a copy, which would count twice; also what another seed made the same, as with `logistic`."""
    seen: dict[bytes, Path] = {}
    for folder, member in zip(folders, members, strict=True):
        first = seen.setdefault(canonical_json(dict(member.vetter.config)), folder)
        if first != folder:
            raise UserError(
                "two members of the ensemble are the same system",
                where="vetter ensemble",
                expected="systems that differ",
                got=f"{first} and {folder}",
                fix="leave one out",
            )


def _refuse_other_shares(folders: Sequence[Path]) -> None:
    """Refuse P(YES) that are right where members have one share beside those that are right at another."""
    first: dict[str, tuple[float, Path]] = {}
    for folder in folders:
        for task, found in read_calibration(folder).tasks.items():
            share, where = first.setdefault(task, (found.share, folder))
            if abs(logit(share) - logit(found.share)) > SAME_SHARE:
                raise UserError(
                    "members of the ensemble were calibrated where members of the class have different shares",
                    where=f"vetter ensemble, task {task}",
                    expected="P(YES) for one share",
                    got=f"{100 * share:.2g} % in {where}, {100 * found.share:.2g} % in {folder}",
                    fix="declare the share where you use it, for all of them: --option prevalence=SHARE",
                )
