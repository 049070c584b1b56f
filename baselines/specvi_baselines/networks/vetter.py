"""The vetters `carbonnet-style`, `gaianet-style`, `specformer` and `spectrum-net`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn

from specvi_baselines import calibration
from specvi_baselines.calibration import Reporting
from specvi_baselines.networks.fitting import Untrained
from specvi_baselines.networks.folder import ModelRecord, read_model, read_record
from specvi_baselines.networks.inference import BATCH, probabilities
from specvi_baselines.networks.options import REPORTING, read_options
from specvi_benchmark.runs.fitting import refuse_other_training
from specvi_benchmark.traces import Trace, Turn, said
from specvi_benchmark.vetting import Outcome, Question, Verdict, answered


@dataclass(frozen=True, slots=True)
class Network:
    """A trained network. Reads flux, errors and mask; no redshift, no pipeline's claim, no metadata."""

    record: ModelRecord
    network: nn.Module
    calibration: calibration.Calibration
    reporting: Reporting

    @property
    def config(self) -> Mapping[str, Any]:
        """Return what changes a verdict."""
        return {
            "network": self.record.network,
            "networks_version": self.record.networks_version,
            "setting": self.record.setting,
            "weights": self.record.weights_sha256,
            "calibration": self.calibration.model_dump(mode="json"),
            **self.reporting.config,
        }

    def vet(self, questions: Sequence[Question]) -> Iterator[Verdict]:
        """Yield a verdict for each question, in order: `error` for a task that was not learnt, no answer without light."""
        for first in range(0, len(questions), BATCH):
            batch = questions[first : first + BATCH]
            found = probabilities(self.network, [q.spectrum for q in batch], self.record.settings.grid)
            for question, row in zip(batch, found, strict=True):
                yield self._verdict(question, row)

    def _verdict(self, question: Question, row: Any) -> Verdict:
        task = question.task.key
        if task not in self.record.tasks:
            return self._not_learnt(question)
        raw = row[[self.record.tasks.index(task)]]
        if not (raw == raw).all():  # noqa: PLR0124  # NaN
            words = "The spectrum covers next to nothing of the network's range: nothing to judge by."
            return Verdict(question.id, task, Outcome.ABSTAINED, traces=(said(words),))
        mended = float(self.calibration.mended(task, raw, self.reporting.prevalence)[0])
        told = calibration.answer(mended)
        where = self.calibration.words(task, self.reporting.prevalence)
        learnt = f"{raw[0]:.3f} as learnt at equal shares"
        words = f"{told}. P(YES) {mended:.3f} {where}, {learnt}; YES from {calibration.THRESHOLD} on."
        reported = float(raw[0]) if self.reporting.probability == "raw" else mended
        return answered(question, told, p_yes=reported, traces=(said(words),))

    def _not_learnt(self, question: Question) -> Verdict:
        words = f"{self.record.network} has not learnt the task {question.task.key}, only {', '.join(self.record.tasks)}"
        trace = Trace(turns=(Turn(role="error", text=words),), environment={})
        return Verdict(question.id, question.task.key, Outcome.ERROR, traces=(trace,))


def create(name: str, argument: str | None, options: Mapping[str, str]) -> Untrained | Network:
    """Make a network: to be trained without an argument, trained with the folder of the training.

    Raises
    ------
    UserError
        An option that is none, one of training that is not the folder's, or a folder that is no model of this network
        and suite.
    """
    asked = read_options(name, options)
    if argument is None:
        return Untrained(name, asked)
    folder = Path(argument)
    record = read_record(folder, name)
    refuse_other_training(folder, {key: value for key, value in options.items() if key not in REPORTING})
    mended = calibration.read_calibration(folder, record.tasks)
    return Network(record, read_model(folder, record), mended, asked.reporting)


def carbonnet(argument: str | None, options: Mapping[str, str]) -> Untrained | Network:
    """Make ``carbonnet-style``."""
    return create("carbonnet-style", argument, options)


def gaianet(argument: str | None, options: Mapping[str, str]) -> Untrained | Network:
    """Make ``gaianet-style``."""
    return create("gaianet-style", argument, options)


def specformer(argument: str | None, options: Mapping[str, str]) -> Untrained | Network:
    """Make ``specformer``."""
    return create("specformer", argument, options)


def spectrum_net(argument: str | None, options: Mapping[str, str]) -> Untrained | Network:
    """Make ``spectrum-net``."""
    return create("spectrum-net", argument, options)
