"""Turns an ablation into commands: every one is a command that a person could type."""

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specvi_training.ablate.config import AblateConfig, Arm
from specvi_training.ablate.jobs import Job
from specvi_training.config import load_config
from specvi_training.grpo.config import GrpoConfig
from specvi_training.sft.config import SftConfig


@dataclass(frozen=True, slots=True)
class Scored:
    """The run of one arm, seed and task."""

    arm: str
    seed: int
    task: str
    run: Path


@dataclass(frozen=True, slots=True)
class Plan:
    """The commands, each after those it needs, and the runs that they leave."""

    jobs: tuple[Job, ...]
    runs: tuple[Scored, ...]


def plan(config: AblateConfig, out: Path) -> Plan:
    """Return the commands of an ablation.

    Raises
    ------
    UserError
        A configuration can't be found or used.
    """
    jobs: dict[str, Job] = {}
    runs: list[Scored] = []
    for seed in config.seeds:
        for arm in config.arms:
            chain = _Chain(config, out, arm, seed)
            jobs |= {job.name: job for job in chain.jobs()}
            runs += chain.runs()
    return Plan(tuple(jobs.values()), tuple(runs))


class _Chain:
    """The commands of one arm and seed. Arms that share a stage share its command, by its name."""

    def __init__(self, config: AblateConfig, out: Path, arm: Arm, seed: int) -> None:
        self._config = config
        self._out = out
        self._arm = arm
        self._side = "tool" if arm.tool else "no-tool"
        self._place = f"{self._side}/seed-{seed}"
        self._seed = seed
        self._sft = load_config(config.sft, SftConfig, self._set_sft())
        load_config(config.grpo, GrpoConfig, self._set_grpo())
        self._is_tiny = self._sft.model.tiny is not None

    def jobs(self) -> Iterator[Job]:
        """Yield the commands, those that others need first."""
        stage = self._arm.stage
        few = stage.startswith("few")
        if "sft" in stage or self._is_tiny:  # a tiny base is built by the SFT
            yield from self._drafts()
            yield self._train_sft("sft", {})
        if few:
            yield self._train_sft("few sft", {"data.limit": self._config.few, **self._from_base()})
        if stage == "rl":
            yield self._train_grpo(self._base())
        elif stage.endswith("+rl"):
            yield self._train_grpo(str(self._folder("few sft" if few else "sft") / "model"))
        for scored in self.runs():
            yield self._score(scored)

    def runs(self) -> tuple[Scored, ...]:
        """Return where the arm's answers will lie."""
        folder = self._out / "runs" / self._place / _file(self._arm.stage)
        tasks = self._config.test.tasks
        return tuple(Scored(self._arm.name, self._seed, task, folder / task) for task in tasks)

    def _drafts(self) -> Iterator[Job]:
        draft = self._config.draft
        if draft is None:
            return
        for task in self._config.test.tasks:
            words = [
                "trajectories", "draft", "--teacher", draft.teacher, "--split", draft.split, "--task", task,
                "--out", str(self._lessons(task)), "--yes",
            ]  # fmt: skip
            if draft.per_task is not None:
                words += ["--per-task", str(draft.per_task)]
            words += _options(self._sft.inspection)
            yield Job(f"lessons/{self._side}/{task}", self._program(words, is_training=False))

    def _train_sft(self, stage: str, more: Mapping[str, Any]) -> Job:
        needs = [job.name for job in self._drafts()]
        if stage != "sft":
            needs.append(f"{self._place}/sft")
        told = {**self._set_sft(), **more, "seed": self._seed}
        return self._training("sft", self._config.sft, stage, told, needs)

    def _train_grpo(self, base: str) -> Job:
        stage = self._arm.stage
        needs = [] if stage == "rl" and not self._is_tiny else [f"{self._place}/sft"]
        if stage.startswith("few"):
            needs = [f"{self._place}/few-sft"]
        told = {**self._set_grpo(), "model.base": base, "seed": self._seed}
        return self._training("grpo", self._config.grpo, stage, told, needs)

    def _training(
        self, recipe: str, config: str, stage: str, told: Mapping[str, Any], needs: list[str]
    ) -> Job:
        words = ["train", recipe, config, "--out", str(self._folder(stage))]
        for key, value in told.items():
            words += ["--set", f"{key}={json.dumps(value)}"]
        return Job(f"{self._place}/{_file(stage)}", self._program(words, is_training=True), tuple(needs))

    def _score(self, scored: Scored) -> Job:
        test, stage = self._config.test, self._arm.stage
        model = self._base() if stage == "base" else str(self._folder(stage) / "model")
        words = [
            "run", "--vetter", f"transformers:{model}", "--split", test.split, "--part", test.part,
            "--task", scored.task, "--out", str(scored.run), "--yes",
        ]  # fmt: skip
        words += _options(
            {**self._sft.inspection, "max_tokens": test.max_tokens, "batch_size": test.batch_size}
        )
        stage_before = "sft" if stage == "base" else stage
        needs = () if stage == "base" and not self._is_tiny else (f"{self._place}/{_file(stage_before)}",)
        name = f"runs/{self._place}/{_file(stage)}/{scored.task}"
        return Job(name, self._program(words, is_training=False), needs)

    def _program(self, words: list[str], *, is_training: bool) -> tuple[str, ...]:
        start = self._config.launch if is_training and self._config.launch else (sys.executable,)
        return (*start, "-m", "specvi_benchmark.cli.main", *words)

    def _folder(self, stage: str) -> Path:
        return self._out / "trainings" / self._place / _file(stage)

    def _base(self) -> str:
        return str(self._folder("sft") / "base") if self._is_tiny else str(self._sft.model.base)

    def _from_base(self) -> dict[str, Any]:
        """Let a second SFT begin with the first one's tiny model: same weights, same tokens."""
        return {"model.tiny": None, "model.base": self._base()} if self._is_tiny else {}

    def _lessons(self, task: str) -> Path:
        return self._out / "lessons" / self._side / task

    def _set_sft(self) -> dict[str, Any]:
        drafted = {}
        if self._config.draft is not None:
            drafted = {"data.trajectories": [str(self._lessons(task)) for task in self._config.test.tasks]}
        return {**self._config.set_sft, **drafted, **self._tool_off("sft")}

    def _set_grpo(self) -> dict[str, Any]:
        return {**self._config.set_grpo, **self._tool_off("grpo")}

    def _tool_off(self, recipe: str) -> dict[str, Any]:
        if self._arm.tool:
            return {}
        more = next((told for name, told in self._config.no_tool.items() if name == recipe), {})
        return {"inspection.tool": "off", **more}


def _file(stage: str) -> str:
    return stage.replace(" ", "-").replace("+", "-")


def _options(options: Mapping[str, object]) -> list[str]:
    return [word for key, value in options.items() for word in ("--option", f"{key}={value}")]
