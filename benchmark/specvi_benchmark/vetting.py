"""Questions, verdicts and the systems between them; and how a system is found by name."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import entry_points
from typing import Any, Literal, Protocol, get_args, runtime_checkable

from specvi_benchmark.errors import UserError
from specvi_benchmark.files import canonical_json
from specvi_benchmark.spectrum import Spectrum
from specvi_benchmark.tasks import Task
from specvi_benchmark.traces import Trace

Answer = Literal["YES", "NO"]
Vote = Literal["YES", "NO", "none"]
ANSWERS: tuple[Answer, ...] = get_args(Answer)


class Outcome(StrEnum):
    """How an inspection ended: exactly one of these. A failure is never an answer."""

    ANSWERED = "answered"
    ABSTAINED = "abstained"
    UNPARSED = "unparsed"
    TRUNCATED = "truncated"
    REFUSED = "refused"
    ERROR = "error"


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """What a system sees: one spectrum, one task, and the redshift to use (None: none given).

    ``prompt`` is the published prompt, (role, text) a message; empty where none was published.
    """

    id: str
    task: Task
    spectrum: Spectrum
    redshift: float | None = None
    prompt: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """A system's word on one question, and what it cost.

    ``answer`` is there exactly when ``outcome`` is ``answered``. ``p_yes`` is the probability of YES,
    None for a system that has none. ``cost_usd`` is None where the price is not known. ``traces`` has one
    trace a sample, in the order of their numbers: one, or as many as there are votes.
    """

    id: str
    task: str
    outcome: Outcome
    answer: Answer | None = None
    answer_lenient: Answer | None = None
    p_yes: float | None = None
    votes: tuple[Vote, ...] | None = None
    tool_calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float | None = 0.0
    seconds: float = 0.0
    traces: tuple[Trace, ...] = ()

    def __post_init__(self) -> None:
        if (self.answer is not None) != (self.outcome is Outcome.ANSWERED):
            raise ValueError(
                f"a verdict has an answer exactly when it is answered: {self.answer}, {self.outcome}"
            )
        if self.p_yes is not None and not 0 <= self.p_yes <= 1:
            raise ValueError(f"p_yes is a probability, got {self.p_yes}")


def answered(question: Question, answer: Answer, **more: Any) -> Verdict:
    """Return the verdict of a system that answered; ``more`` are other fields of `Verdict`."""
    return Verdict(question.id, question.task.key, Outcome.ANSWERED, answer, answer_lenient=answer, **more)


@runtime_checkable
class Vetter(Protocol):
    """A system under test. ``config`` names everything that changes a verdict, and no secret."""

    @property
    def config(self) -> Mapping[str, Any]: ...

    def vet(self, questions: Sequence[Question]) -> Iterator[Verdict]:
        """Yield one verdict a question, each named by the question's id and task, in any order."""
        ...


@runtime_checkable
class AsyncVetter(Protocol):
    """A system that waits rather than computes, such as a model behind a server: many questions at a time.

    It may have more, which the runner looks for: ``in_flight``, how many questions to ask at a time;
    ``expected_usd``, what a question is expected to cost (None: the price is not known; without the
    attribute nothing is paid for); and ``async close()``, called when the run ends, however it ends.
    """

    @property
    def config(self) -> Mapping[str, Any]: ...

    async def vet_one(self, question: Question) -> Verdict:
        """Return the verdict on one question. An exception costs that question only (outcome `error`)."""
        ...


class VetterUnusable(UserError):  # noqa: N818  # it is told as a UserError is
    """No question can be answered as things are: a refused key, no such model. Stops the run at once."""


AnyVetter = Vetter | AsyncVetter
VetterFactory = Callable[[str | None, Mapping[str, str]], AnyVetter]


def load_vetter(spec: str, options: Mapping[str, str] | None = None) -> AnyVetter:
    """Make the vetter of a spec string ``name`` or ``name:argument``.

    Raises
    ------
    UserError
        No installed package offers that name, what it needs is not installed, or it has to be trained first.
    """
    vetter = make_system(spec, options)
    if isinstance(vetter, Vetter | AsyncVetter):
        return vetter
    name = spec.partition(":")[0]
    if hasattr(vetter, "fit"):
        raise UserError(
            f"vetter {name} has to be trained first",
            where=f"vetter {spec!r}",
            expected=f"{name}:FOLDER of a trained one",
            fix=f"specvi run --vetter {name} --train SPLIT, or specvi fit {name} --train SPLIT --out FOLDER",
        )
    raise UserError(
        f"vetter {name} has no method vet or vet_one",
        got=type(vetter).__name__,
        fix="docs/vetters.md shows one",
    )


def make_system(spec: str, options: Mapping[str, str] | None = None) -> Any:
    """Call the factory of a spec string; what it makes is a vetter, or something that can be trained to be one.

    Raises
    ------
    UserError
        As in `load_vetter`.
    """
    name, _, argument = spec.partition(":")
    known = {point.name: point for point in entry_points(group="specvi.vetters")}
    if name not in known:
        raise UserError(
            "no such vetter",
            where=f"vetter {spec!r}",
            expected=f"one of {', '.join(sorted(known))}",
            got=name,
            fix="check the spelling, or install the package that offers it",
        )
    point = known[name]
    try:
        factory: VetterFactory = point.load()
        vetter = factory(argument or None, dict(options or {}))
        canonical_json(dict(vetter.config))
    except UserError:
        raise
    except ModuleNotFoundError as error:
        extras = ",".join(point.extras)
        hint = f"pip install 'specvi-bench[{extras}]'" if extras else f"pip install {error.name}"
        raise UserError(
            f"vetter {name} needs a package that is not installed", got=error.name, fix=hint
        ) from None
    except Exception as error:
        raise UserError(
            f"vetter {name} can't be made",
            where=point.value,
            got=f"{type(error).__name__}: {error}",
            expected="a factory (argument, options) → vetter whose config is JSON",
            fix="docs/vetters.md shows one",
        ) from error
    return vetter
