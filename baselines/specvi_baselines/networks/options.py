"""Options of the networks, ``--option KEY=VALUE``: how to train, and what to report."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast, get_args

from specvi_baselines.calibration import Reporting, read_reporting
from specvi_baselines.networks.settings import DEFAULT_SETTING, Readout, Settings, load_settings
from specvi_benchmark.errors import UserError

TRAINING = ("setting", "epochs", "learning_rate", "batch")
SPECFORMER = ("readout", "few_shot", "weights", "unlabelled")
REPORTING = ("prevalence", "probability")


@dataclass(frozen=True, slots=True)
class Options:
    """What a user asked for.

    Attributes
    ----------
    setting, settings
        Name of the setting, and its content with the changes asked for.
    weights
        File of published weights to begin with (`specformer`); None: pre-training on the spot.
    unlabelled
        Split or archive whose spectra are pre-trained on beside the train part (`specformer`).
    reporting
        Which P(YES) is reported.
    """

    setting: str
    settings: Settings
    weights: str | None
    unlabelled: str | None
    reporting: Reporting

    @property
    def config(self) -> Mapping[str, Any]:
        """Return what changes a training."""
        return {
            "setting": self.setting,
            "settings": self.settings.model_dump(mode="json"),
            "weights": self.weights,
            "unlabelled": self.unlabelled,
            **self.reporting.config,
        }


def read_options(name: str, options: Mapping[str, str]) -> Options:
    """Read the options of a network.

    Raises
    ------
    UserError
        Another option, a value that is none, or an option without effect beside the others.
    """
    allowed = (*TRAINING, *(SPECFORMER if name == "specformer" else ()), *REPORTING)
    if strange := sorted(set(options) - set(allowed)):
        raise UserError(
            f"vetter {name} has no such option",
            where="--option",
            expected=f"one of {', '.join(allowed)}",
            got=", ".join(strange),
        )
    setting = options.get("setting", DEFAULT_SETTING)
    settings = load_settings(name, setting)
    changes: dict[str, Any] = {}
    if training := {key: _number(key, options[key]) for key in TRAINING[1:] if key in options}:
        changes["training"] = settings.training.model_copy(update=training)
    if "readout" in options:
        changes["readout"] = _readout(options["readout"])
    if "few_shot" in options:
        changes["few_shot"] = _number("few_shot", options["few_shot"])
    settings = settings.model_copy(update=changes)
    _refuse_idle(options, settings)
    return Options(
        setting=setting,
        settings=settings,
        weights=options.get("weights"),
        unlabelled=options.get("unlabelled"),
        reporting=read_reporting(name, {key: options[key] for key in REPORTING if key in options}),
    )


def _refuse_idle(options: Mapping[str, str], settings: Settings) -> None:
    """Refuse options that would do nothing, beside what they would need."""
    needs = {
        "few_shot": ("readout=few-shot", settings.readout == "few-shot"),
        "unlabelled": ("no weights, which take the place of pre-training", "weights" not in options),
        **dict.fromkeys(TRAINING[1:], ("another readout: knn trains nothing", settings.readout != "knn")),
    }
    for key, (expected, met) in needs.items():
        if key in options and not met:
            raise UserError(
                "an option without effect beside the others",
                where="--option",
                expected=f"{key} with {expected}",
                got=", ".join(f"{name}={value}" for name, value in options.items()),
            )


def _number(key: str, text: str) -> float | int:
    try:
        value: float | int = float(text) if key == "learning_rate" else int(text)
    except ValueError:
        value = 0
    if not 0 < value < 1e9:
        raise UserError(
            "not a number above 0", where=f"--option {key}", expected="a number above 0", got=text
        )
    return value


def _readout(text: str) -> Readout:
    if text not in get_args(Readout):
        raise UserError(
            "no such read-out",
            where="--option readout",
            expected=f"one of {', '.join(get_args(Readout))}",
            got=text,
        )
    return cast("Readout", text)
