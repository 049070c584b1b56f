"""What is kept of rollouts: one line for each group, and whole inspections of some, as a run that ``specvi trace`` opens."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from specvi_agents.voting import elect
from specvi_benchmark.errors import UserError
from specvi_benchmark.files import append_line, mend_log, read_lines, write_text
from specvi_benchmark.runs.log import Log, entry_of
from specvi_benchmark.runs.record import RUN_FILE, RunRecord, SplitReference, environment, write_run_record
from specvi_benchmark.splits import Split
from specvi_benchmark.vetting import Verdict
from specvi_training.folder import now

FOLDER = "rollouts"
GROUPS_FILE = "groups.jsonl"


@dataclass(frozen=True, slots=True)
class Group:
    """The rollouts of one question in one round.

    Attributes
    ----------
    step
        Steps that the model had made.
    rewards, parts
        Of each rollout; ``parts`` as of `Inspection.parts`.
    """

    step: int
    task: str
    id: str
    truth: str
    rewards: tuple[float, ...]
    parts: tuple[Mapping[str, float], ...]

    @property
    def line(self) -> dict[str, Any]:
        """Return the line of ``groups.jsonl``."""
        parts = {name: [part[name] for part in self.parts] for name in self.parts[0]}
        return {
            "step": self.step,
            "task": self.task,
            "id": self.id,
            "truth": self.truth,
            "reward": list(self.rewards),
            **parts,
        }


class Journal:
    """The folder ``rollouts`` of a training.

    A question that is asked again later replaces what `specvi trace` shows of it; ``groups.jsonl`` has every round.
    """

    def __init__(self, training: Path) -> None:
        self.folder = training / FOLDER

    def open(self, config: Mapping[str, Any], asked: Split, seed: int, step: int) -> None:
        """Begin, or go on after ``step`` steps: lines of rounds that will be drawn again are taken out."""
        self.folder.mkdir(exist_ok=True)
        if not (self.folder / RUN_FILE).is_file():
            reference = SplitReference(
                name=asked.name,
                version=asked.version,
                path=asked.name,
                part=None,
                task=None,
                fingerprint=asked.fingerprint,
            )
            record = RunRecord(
                schema_version=1,
                vetter="grpo rollouts",
                config=config,
                split=reference,
                versions={},
                environment=environment(),
                seed=seed,
                started=now(),
            )
            write_run_record(self.folder, record)
        path = self.folder / GROUPS_FILE
        if path.exists():
            mend_log(path)
            kept = [line for _, line in read_lines(path) if line["step"] < step]
            write_text(path, "".join(f"{json.dumps(line)}\n" for line in kept))

    def add(self, groups: Sequence[Group]) -> None:
        """Add the groups of a round."""
        for group in groups:
            append_line(self.folder / GROUPS_FILE, group.line)

    def trace(self, verdicts: Sequence[Verdict]) -> None:
        """Keep the inspections of a group whole, pictures included."""
        numbered = [
            replace(
                verdict,
                traces=tuple(replace(trace, sample=number) for trace in verdict.traces),
            )
            for number, verdict in enumerate(verdicts)
        ]
        with Log(self.folder) as log:
            log.write(entry_of(elect(numbered, must_agree=False)))


def shares_right(training: Path) -> dict[tuple[str, str], float]:
    """Return (task, id) → share of right answers among all rollouts of that question in a training.

    Raises
    ------
    UserError
        The folder holds no rollouts.
    """
    path = training / FOLDER / GROUPS_FILE
    if not path.is_file():
        raise UserError(
            "this folder has no rollouts",
            where=training,
            expected=f"{FOLDER}/{GROUPS_FILE}",
            fix="name the folder of a `specvi train grpo`",
        )
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for _, line in read_lines(path):
        found[line["task"], line["id"]] += line["correct"]
    return {key: sum(right) / len(right) for key, right in found.items()}
