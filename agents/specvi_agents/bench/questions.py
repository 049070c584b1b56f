"""The questions that both sides ask, and the pictures of their conversations, drawn on the way or beforehand.

Imports no model and no client: it runs in the environment of inspect_ai too.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np

from specvi_benchmark.tasks import get_task
from specvi_benchmark.vetting import Question
from specvi_benchmark.views import View, render
from specvi_benchmark.views.cost import simulated_spectra

Drawing = Literal["both", "neither"]
"""Whether both sides draw the pictures within the conversation, or both have them beforehand."""

DRAWINGS: tuple[Drawing, ...] = get_args(Drawing)
LOOKS = 2
PICTURES = LOOKS + 1
"""Of a conversation: the full view, and one a look."""

WARM_UP = 8
_WINDOWS = (None, (4000.0, 4300.0), (4100.0, 4400.0))


class Questions(Sequence[Question]):
    """As many questions as wanted, each about a spectrum of its own, made when it is asked for."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._spectra = simulated_spectra()
        self._task = get_task("cv")

    def __len__(self) -> int:
        """Return how many there are."""
        return self._count

    def __getitem__(self, index: int) -> Question:  # type: ignore[override]  # never sliced
        """Return one of them."""
        spectrum = self._spectra[index % len(self._spectra)]
        flux = spectrum.flux * (1 + 1e-3 * np.sin(np.arange(spectrum.flux.size) * (index + 1)))
        return Question(f"q-{index}", self._task, replace(spectrum, flux=flux))

    def __iter__(self) -> Iterator[Question]:
        """Yield them, one in memory at a time."""
        return (self[index] for index in range(self._count))


def renderer(drawing: Drawing, questions: Questions) -> Callable[..., View]:
    """Return what stands for `render`: itself, or a function that hands out pictures drawn now, each once."""
    if drawing == "both":
        return render
    drawn = [_light(render(question.spectrum, window)) for question in questions for window in _WINDOWS]
    turn = iter(drawn)

    def handed_out(*_: Any, **__: Any) -> View:
        return next(turn)

    return handed_out


def _light(view: View) -> View:
    """Return a view with its PNG and hash worked out, and without the memory of its pixels."""
    light = replace(view, indices=np.broadcast_to(np.uint8(0), view.indices.shape))
    vars(light).update(png=view.png, pixel_sha256=view.pixel_sha256)
    return light
