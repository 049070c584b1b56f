"""What tests of trajectories share: a star with broad emission, a hand-written inspection of it, folders of them."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from specvi_agents.agent import AgentVetter
from specvi_agents.environment import EnvironmentOptions
from specvi_agents.messages import Message, ModelError, Reply
from specvi_agents.options import AgentOptions
from specvi_agents.trajectories import Record, Store, Trajectory
from specvi_agents.trajectories.records import SCHEMA_VERSION
from specvi_benchmark.spectrum import clean_spectrum
from specvi_benchmark.splits import Candidate, Split
from specvi_benchmark.tasks import get_task
from specvi_benchmark.traces import Trace
from specvi_benchmark.vetting import Question

FILE = "spec-56591-EG012606N021203F_sp05-155.fits"


def call(low: float, high: float, label: str = "") -> str:
    more = f', "label": "{label}"' if label else ""
    return (
        '<tool_call>\n{"name": "spectral_visualization_tool", "arguments": '
        f'{{"wavelength_range": [{low:g}, {high:g}]{more}}}}}\n</tool_call>'
    )


GOOD = (
    f"<think>A blue continuum with strong bumps. I look at Hα first.</think>\n{call(6400, 6740, 'Hα')}",
    f"<think>Hα is in broad emission. Now Hβ.</think>\n{call(4770, 4960, 'Hβ')}",
    """<think>Hβ is in broad emission as well, at zero redshift.</think>
<answer>
\\boxed{YES}
Hα and Hβ are in broad emission.
</answer>""",
)
"""An inspection in which nothing is wrong."""


class Saying:
    """A model that says one thing after another, and keeps what it was sent."""

    def __init__(self, replies: Sequence[str | Reply]) -> None:
        self.config = {"name": "saying"}
        self.replies = [
            reply if isinstance(reply, Reply) else Reply(reply, cost_usd=0.0) for reply in replies
        ]
        self.sent: list[tuple[Message, ...]] = []

    async def reply(self, messages: Sequence[Message], **_: object) -> Reply:
        self.sent.append(tuple(messages))
        turn = sum(message.role == "assistant" for message in messages)
        if turn >= len(self.replies):
            raise ModelError("nothing more to say")
        return self.replies[turn]

    async def close(self) -> None:
        pass


@cache
def star() -> Candidate:
    """Return a CV: a blue continuum, Balmer lines and He I 2000 km/s wide, at a S/N of 30."""
    rng = np.random.default_rng(5)
    wavelength = 3700.0 * 10 ** (1e-4 * np.arange(3909))
    flux = 100 * (wavelength / 6000) ** -1.0
    for centre, height in ((6564.61, 150.0), (4862.69, 120.0), (4341.69, 90.0), (4102.90, 70.0), (5877.25, 50.0), (4472.73, 40.0)):  # fmt: skip
        flux = flux + height * np.exp(-0.5 * ((wavelength - centre) / (centre * 0.0028)) ** 2)
    noise = np.full(wavelength.size, 3.0)
    spectrum = clean_spectrum(
        wavelength, flux + rng.normal(0, noise), 1 / noise**2, name=FILE, survey="simulated-lamost"
    )
    return Candidate(
        id="star-1",
        task=get_task("cv"),
        track="main",
        part="train",
        spectrum=spectrum,
        redshift=0.0,
        truth="YES",
        object_id="simulated-star-77123",
        object_id_source="simulated",
        label_source="test",
    )


def stars(number: int, **changes: Any) -> Split:
    """Return a split of so many of them, which differ in names only."""
    one = star()
    candidates = tuple(
        replace(
            one,
            id=f"star-{index}",
            object_id=f"object-{index}",
            spectrum=replace(one.spectrum, name=f"file-{index:06d}.fits"),
            **changes,
        )
        for index in range(number)
    )
    return Split("stars", "1", candidates, {"made": "by a test"})


def inspect(
    replies: Sequence[str | Reply],
    question: Question | None = None,
    options: EnvironmentOptions | None = None,
) -> Trace:
    """Return the inspection that a model with these replies makes."""
    agent = AgentVetter(Saying(replies), AgentOptions(options or EnvironmentOptions()))
    return asyncio.run(agent.vet_one(question or star().question)).traces[0]


def record(trace: Trace, **changes: Any) -> Record:
    one = star()
    content: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "id": one.id,
        "task": "cv",
        "truth": "YES",
        "source_name": FILE,
        "object_id": one.object_id,
        "survey": "simulated-lamost",
        "split": None,
        "teacher": "saying",
        **changes,
    }
    return Record(**content, trace=trace.record("cv", content["id"]))


def folder_of(path: Path, traces: Sequence[Trace], **changes: Any) -> Store:
    """Return a folder with one trajectory for each inspection: ``star-0``, ``star-1`` and so on."""
    store = Store.make(path)
    for number, trace in enumerate(traces):
        store.add(
            record(trace, id=f"star-{number}", source_name=f"file-{number:06d}.fits", **changes),
            trace.pictures,
        )
    return store


def only(store: Store) -> Trajectory:
    (item,) = store.trajectories().values()
    return item
