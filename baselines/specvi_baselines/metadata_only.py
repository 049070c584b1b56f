"""The vetter `metadata-only`: looks at no light, only at how a spectrum was collected. It measures leaks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from specvi_baselines.arguments import refuse_arguments
from specvi_benchmark.errors import UserError
from specvi_benchmark.files import read_text, sha256_file, write_text
from specvi_benchmark.splits import Split
from specvi_benchmark.splits.metadata import COLUMNS, LEAST, fit_metadata, metadata
from specvi_benchmark.vetting import Question, Verdict, answered

ANY = "any"
"""Name of the model that is trained over all tasks and answers for those that have no training data."""

_CONFIG = {"columns": list(COLUMNS), "threshold": 0.5}


@dataclass(frozen=True, slots=True)
class Untrained:
    """What `metadata-only` is before it has learnt anything."""

    @property
    def config(self) -> Mapping[str, Any]:
        """Return what changes a verdict."""
        return _CONFIG

    def fit(self, train: Split, dev: Split, out: Path, seed: int) -> None:  # noqa: ARG002  # nothing is chosen on dev
        """Train a small LightGBM for each task, and one for all tasks together.

        Raises
        ------
        UserError
            Fewer than ten YES or ten NO altogether.
        """
        groups = {ANY: train.candidates, **{task: train.select(task=task).candidates for task in train.tasks}}
        for name, candidates in groups.items():
            positive = np.array([candidate.truth == "YES" for candidate in candidates])
            if min(positive.sum(), (~positive).sum()) < LEAST:
                if name == ANY:
                    raise UserError(
                        "too few candidates to train metadata-only",
                        where=f"split {train.name}, train",
                        expected=f"at least {LEAST} YES and {LEAST} NO",
                        got=f"{positive.sum()} and {(~positive).sum()}",
                    )
                continue
            booster = fit_metadata(metadata([c.question for c in candidates]), positive, seed)
            write_text(out / f"{name}.txt", booster.model_to_string())


@dataclass(frozen=True, slots=True)
class MetadataOnly:
    """Answers from signal to noise, redshift and its absence, date, position and pixel counts."""

    models: Mapping[str, Any]
    hashes: Mapping[str, str]

    @property
    def config(self) -> Mapping[str, Any]:
        """Return what changes a verdict: the columns, the threshold and the models."""
        return {**_CONFIG, "models": dict(self.hashes)}

    def vet(self, questions: Sequence[Question]) -> Iterator[Verdict]:
        """Yield YES where P(YES) is at least one half, at the balance of the training part."""
        for question in questions:
            model = self.models.get(question.task.key, self.models[ANY])
            p_yes = float(model.predict(metadata([question]), num_threads=1)[0])
            yield answered(question, "YES" if p_yes >= 0.5 else "NO", p_yes=p_yes)


def create(argument: str | None, options: Mapping[str, str]) -> Untrained | MetadataOnly:
    """Make ``metadata-only``: to be trained without an argument, trained with the folder of the training."""
    refuse_arguments("metadata-only", None, options)
    if argument is None:
        return Untrained()
    import lightgbm  # noqa: PLC0415 -- it loads the system's OpenMP library

    files = {path.stem: path for path in sorted(Path(argument).glob("*.txt"))}
    if ANY not in files:
        raise UserError(
            "not a trained metadata-only",
            where=argument,
            expected=f"a folder with {ANY}.txt",
            fix="specvi fit metadata-only --train SPLIT --out FOLDER",
        )
    return MetadataOnly(
        models={name: lightgbm.Booster(model_str=read_text(path)) for name, path in files.items()},
        hashes={name: sha256_file(path) for name, path in files.items()},
    )
