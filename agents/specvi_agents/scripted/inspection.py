"""One scripted inspection: where it looks, what it notes there, and how both become turns."""

from dataclasses import dataclass, field
from typing import Protocol

from specvi_agents.scripted.seen import Seen, see
from specvi_benchmark.features import Measurement, Prepared, Window
from specvi_benchmark.tasks.task import Task
from specvi_benchmark.vetting import Answer, Question

COLOUR_AA = ((4500.0, 4600.0), (6600.0, 6700.0))
"""Two stretches without strong lines whose ratio of mean fluxes is the colour."""

COVERED_SHARE = 0.5
"""A window is worth a zoom when at least so much of it lies within the data."""


class Conversation(Protocol):
    """What an inspection talks to."""

    @property
    def full_AA(self) -> Window:
        """Return the window of the full view."""
        ...

    @property
    def redshift(self) -> float:
        """Return what is divided out of the wavelengths in every view."""
        ...

    @property
    def calls_left(self) -> int:
        """Return how many zooms the budget still allows."""
        ...

    def zoom(self, thought: str, window_AA: Window, label: str) -> Window | None:
        """Write a turn with a thought and a call; return the window shown, None where there is no picture."""
        ...


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The answer and the reason for it, one sentence without a full stop."""

    answer: Answer
    reason: str


def yes(reason: str) -> Conclusion:
    """Return a YES."""
    return Conclusion("YES", reason)


def no(reason: str) -> Conclusion:
    """Return a NO."""
    return Conclusion("NO", reason)


@dataclass(slots=True)
class Inspection:
    """What a script works with: it looks at windows, and measures in what it sees.

    Attributes
    ----------
    question
        What is asked.
    conversation
        Where the turns go.
    notes
        What will stand in the next thought.
    views
        What has been seen so far, the full view first.
    """

    question: Question
    conversation: Conversation
    notes: list[str] = field(default_factory=list)
    views: list[Seen] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.views.append(self._see(self.conversation.full_AA))

    def begin(self) -> None:
        """Say what the full view shows at first sight."""
        low, high = self.full.window_AA
        noise = "" if self.snr is None else f", at a S/N of about {self.snr:.0f} a pixel"
        self.note(f"The full view runs from {low:.0f} to {high:.0f} Å{noise}.")

    @property
    def snr(self) -> float | None:
        """Return the median signal to noise a pixel of the full view; None where nothing is seen."""
        return None if self.full.prepared is None else self.full.prepared.snr

    @property
    def task(self) -> Task:
        """Return the task of the question."""
        return self.question.task

    @property
    def full(self) -> Seen:
        """Return the full view: for the run of the continuum, not for lines."""
        return self.views[0]

    @property
    def calls_left(self) -> int:
        """Return how many zooms the budget still allows."""
        return self.conversation.calls_left

    def note(self, words: str) -> None:
        """Add a sentence to the next thought."""
        if words:
            self.notes.append(words)

    def look(self, feature: str) -> Seen:
        """Zoom to the first window of the task whose label names ``feature``."""
        window = next(window for window in self.task.windows if feature in window.label.split(", "))
        return self.look_at(window.label, window.range_AA)

    def look_at(self, label: str, window_AA: Window) -> Seen:
        """Zoom to a window. What can't be had (no data, no call left) is said, and shows nothing."""
        low, high = self.conversation.full_AA
        covered = min(window_AA[1], high) - max(window_AA[0], low)
        if covered < COVERED_SHARE * (window_AA[1] - window_AA[0]):
            self.note(f"The window of {label} lies outside the data.")
            return Seen(window_AA, None)
        if not self.calls_left:
            self.note(f"No zoom is left for {label}.")
            return Seen(window_AA, None)
        self.note(f"Next I zoom to {label}.")
        thought = self.take_notes()
        shown = self.conversation.zoom(thought, window_AA, label)
        if shown is None:
            self.note(f"There is no picture of {label}, so it cannot be seen.")
            return Seen(window_AA, None)
        self.views.append(self._see(shown))
        return self.views[-1]

    def take_notes(self) -> str:
        """Return the notes as one text, and begin anew."""
        text = " ".join(self.notes)
        self.notes.clear()
        return text

    def colour(self) -> Measurement | None:
        """Return the flux per Å of the blue over that of the red, read off the full view, and say it."""
        blue, red = COLOUR_AA
        ratio = self.full.ratio([blue], [red])
        if ratio is None:
            self.note("The colour of the continuum cannot be read off the full view.")
        else:
            kind = "blue" if ratio.value > 1.3 else "red" if ratio.value < 1 else "flat"
            self.note(
                f"In the full view the continuum is {kind}: flux at 4550 Å over that at 6650 Å {ratio.value:.2f}."
            )
        return ratio

    def together(self) -> Prepared | None:
        """Return the pixels of all zooms so far, each once; None where they show too little."""
        return see(
            self.question.spectrum, self.conversation.redshift, [view.window_AA for view in self.views[1:]]
        )

    def whole(self, prepared: Prepared) -> Seen:
        """Return all zooms so far as one view."""
        ends = float(prepared.wavelength_AA[0]), float(prepared.wavelength_AA[-1])
        return Seen(ends, prepared, self.notes)

    def _see(self, window_AA: Window) -> Seen:
        return Seen(
            window_AA, see(self.question.spectrum, self.conversation.redshift, [window_AA]), self.notes
        )
