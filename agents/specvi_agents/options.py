"""The options every agent shares, read in one place: ``specvi run --vetter … --option key=value``."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, get_args

from specvi_agents.dialects import Dialect
from specvi_agents.environment import PROFILES, EnvironmentOptions
from specvi_agents.prompts import PromptName
from specvi_benchmark.errors import UserError
from specvi_benchmark.views import STYLES, ViewOptions

Value = TypeVar("Value")

MOST_VOTES = 99
MAX_TOKENS = 8192


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a model draws its words. A backend hands these on; None: the server's own default.

    Attributes
    ----------
    temperature
        0 is greedy.
    seed
        For servers and local models that take one; sample ``k`` uses ``seed + k``.
    max_tokens
        Most tokens of one reply.
    """

    temperature: float | None = 0.0
    seed: int = 0
    max_tokens: int = MAX_TOKENS


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """Everything about an agent that is not its model.

    Attributes
    ----------
    environment
        Pictures, prompt, tool and budget.
    sampling
        Of the model.
    votes
        Samples a question; their strict majority is the answer.
    abstain_on_split
        Answer only where all votes agree.
    """

    environment: EnvironmentOptions = field(default_factory=EnvironmentOptions)
    sampling: Sampling = field(default_factory=Sampling)
    votes: int = 1
    abstain_on_split: bool = False

    @property
    def config(self) -> Mapping[str, Any]:
        """Return every choice, for run.json."""
        return {
            "environment": dict(self.environment.config),
            "temperature": self.sampling.temperature,
            "seed": self.sampling.seed,
            "max_tokens": self.sampling.max_tokens,
            "votes": self.votes,
            "abstain_on_split": self.abstain_on_split,
        }

    @classmethod
    def read(cls, options: Mapping[str, str]) -> tuple["AgentOptions", dict[str, str]]:
        """Read the shared options; return them and the options that are left for a backend.

        Raises
        ------
        UserError
            A value can't be used.
        """
        rest = dict(options)

        def take(key: str, read: Callable[[str, str], Value], default: Value) -> Value:
            return read(rest.pop(key), key) if key in rest else default

        votes = take("votes", whole(1, MOST_VOTES), 1)
        environment = EnvironmentOptions(
            view=ViewOptions(style=take("style", one_of(STYLES), "clean"), title=take("title", _text, None)),  # type: ignore[arg-type]  # ViewOptions checks the title
            prompt=take("prompt", one_of(get_args(PromptName)), "guideline"),
            has_tool=take("tool", switch, default=True),
            dialect=take("dialect", one_of(get_args(Dialect)), "api"),
            profile=take("profile", one_of(tuple(PROFILES)), "default"),
        )
        default_temperature: float | None = 0.0 if votes == 1 else 1.0
        sampling = Sampling(
            temperature=take("temperature", _temperature, default_temperature),
            seed=take("seed", whole(0, 2**31 - 1), 0),
            max_tokens=take("max_tokens", whole(1, 1_000_000), MAX_TOKENS),
        )
        split = take("abstain_on_split", switch, default=False)
        if votes > 1 and sampling.temperature == 0:
            raise UserError(
                "votes at temperature 0 are one vote, counted often",
                where="option temperature",
                expected="a temperature above 0 with votes above 1",
                got="0",
                fix="leave temperature out (it is 1 with votes), or ask for one vote",
            )
        return cls(environment, sampling, votes, split), rest


def refuse_rest(rest: Mapping[str, str], vetter: str, known: tuple[str, ...] = ()) -> None:
    """Raise if options are left that nobody reads; ``known`` are the backend's own."""
    if rest:
        raise UserError(
            f"the vetter {vetter} has no such option",
            where="--option",
            expected=f"one of {', '.join((*SHARED, *known))}",
            got=", ".join(sorted(rest)),
        )


SHARED = (
    "style",
    "title",
    "prompt",
    "tool",
    "dialect",
    "profile",
    "votes",
    "abstain_on_split",
    "temperature",
    "seed",
    "max_tokens",
)


def _text(value: str, _: str) -> str | None:
    return value


def one_of(choices: tuple[Value, ...]) -> Callable[[str, str], Value]:
    """Return a reader (value, name of the option) of one of these."""

    def read(value: str, key: str) -> Value:
        for choice in choices:
            if choice == value:
                return choice
        raise UserError(
            f"no such {key}",
            where=f"option {key}",
            expected=f"one of {', '.join(map(str, choices))}",
            got=value,
        )

    return read


def whole(least: int, most: int) -> Callable[[str, str], int]:
    """Return a reader (value, name of the option) of a whole number."""

    def read(value: str, key: str) -> int:
        number = int(value) if value.isascii() and value.isdigit() and len(value) < 12 else -1
        if not least <= number <= most:
            raise UserError(
                f"{key} is a whole number",
                where=f"option {key}",
                expected=f"from {least} to {most}",
                got=value,
            )
        return number

    return read


def _temperature(value: str, key: str) -> float | None:
    if value == "none":
        return None
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 2:
        raise UserError(
            "the temperature can't be used",
            where=f"option {key}",
            expected="a number from 0 to 2, or none for the server's default",
            got=value,
        )
    return number


def switch(value: str, key: str) -> bool:
    """Read a switch."""
    if value not in {"on", "off", "true", "false"}:
        raise UserError(f"{key} is a switch", where=f"option {key}", expected="on or off", got=value)
    return value in {"on", "true"}
