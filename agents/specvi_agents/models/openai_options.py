"""The options of `openai:<model>`: where the server is, what goes into a request, how patient to be."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, get_args
from urllib.parse import urlsplit

from specvi_agents.models.connection import checked_url
from specvi_agents.models.prices import Price, find_price
from specvi_agents.models.server_check import ToolPictures
from specvi_agents.options import Sampling, one_of, refuse_rest, switch, whole
from specvi_benchmark.errors import UserError

T = TypeVar("T")

OPENAI_URL = "https://api.openai.com/v1"
KEY_ENV = "OPENAI_API_KEY"
RESERVED = frozenset({"messages", "tools", "stream", "n", "model"})


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Everything about the server and its requests that is not the agent's.

    Attributes
    ----------
    base_url
        Up to ``/v1``; ``$OPENAI_BASE_URL``, else OpenAI's.
    key_env
        Name of the environment variable that holds the key. The key itself is no option: options are recorded.
    in_flight
        Most requests, and inspections, at a time. Fewer while the server asks for patience.
    timeout_s, tries, backoff_s, patience_s
        Of one answer; of a request that fails for passing reasons, and the first wait between them; of a server
        that turns everything away.
    tool_pictures
        Where the pictures of tool answers go.
    hand_back_reasoning
        Whether the model gets its own thoughts of earlier turns, in the field in which the server gave them.
    logprobs
        Alternatives a token to ask for, for P(YES); 0: none.
    extra, omit
        Fields to add to every request, and names to leave out.
    price
        Of a million tokens; None where it is not known.
    use_cache, check
        Whether replies are kept and found again; whether the server is looked at before the first question.
    """

    base_url: str = OPENAI_URL
    key_env: str = KEY_ENV
    in_flight: int = 256
    timeout_s: float = 600.0
    tries: int = 6
    backoff_s: float = 1.0
    patience_s: float = 900.0
    tool_pictures: ToolPictures = "auto"
    hand_back_reasoning: bool = True
    logprobs: int = 0
    extra: Mapping[str, Any] = field(default_factory=dict)
    omit: frozenset[str] = frozenset()
    price: Price | None = None
    use_cache: bool = True
    check: bool = True

    @property
    def config(self) -> Mapping[str, Any]:
        """Return what changes a reply. How fast and how patiently it is asked for does not."""
        return {
            "base_url": self.base_url,
            "tool_pictures": self.tool_pictures,
            "hand_back_reasoning": self.hand_back_reasoning,
            "logprobs": self.logprobs,
            "extra": dict(self.extra),
            "omit": sorted(self.omit),
        }

    def key(self) -> str:
        """Return the key from the environment; a placeholder for servers that need none.

        Raises
        ------
        UserError
            OpenAI's own server, or a named variable, without a key.
        """
        key = os.environ.get(self.key_env, "").strip()
        if not key and (self.key_env != KEY_ENV or self.base_url == OPENAI_URL):
            raise UserError(
                "no key for the model's server",
                where=f"environment variable {self.key_env}",
                fix=f"export {self.key_env}=…, or name a server with --option base_url=http://localhost:8000/v1",
            )
        if any(not " " < letter <= "~" for letter in key):
            raise UserError(
                "the key can't be sent", where=f"environment variable {self.key_env}", expected="ASCII"
            )
        return key or "none"

    def fields(self, model: str, sampling: Sampling) -> dict[str, Any]:
        """Return the fields of every request beside messages and tools; `sample` is added to the seed."""
        own = urlsplit(self.base_url).hostname == "api.openai.com"
        values: dict[str, Any] = {
            "model": model,
            "temperature": sampling.temperature,
            "seed": sampling.seed,
            "max_completion_tokens" if own else "max_tokens": sampling.max_tokens,
            **({"logprobs": True, "top_logprobs": self.logprobs} if self.logprobs else {}),
            **self.extra,
        }
        return {name: value for name, value in values.items() if value is not None and name not in self.omit}

    @classmethod
    def read(cls, options: Mapping[str, str], model: str) -> "ServerOptions":
        """Read the options that are left once the agent's are taken out.

        Raises
        ------
        UserError
            A value can't be used, or there is no such option.
        """
        rest = dict(options)

        def take(name: str, read: Callable[[str, str], T], default: T) -> T:
            if name not in rest:
                return default
            text = rest.pop(name)
            try:
                return read(text, name)
            except (ValueError, RecursionError) as error:
                got = None if name == "key_env" else text  # it may be the key itself
                raise UserError(
                    "the option can't be used", where=f"option {name}", got=got, expected=error
                ) from None

        standard = cls()
        url = checked_url(rest.pop("base_url", "") or os.environ.get("OPENAI_BASE_URL", "") or OPENAI_URL)
        price = _price(take("price_in", _dollars, None), take("price_out", _dollars, None))
        found = cls(
            base_url=url,
            key_env=take("key_env", _name, KEY_ENV),
            in_flight=take("in_flight", whole(1, 4096), standard.in_flight),
            timeout_s=take("timeout_s", _positive, standard.timeout_s),
            tries=take("tries", whole(1, 100), standard.tries),
            backoff_s=take("backoff_s", _positive, standard.backoff_s),
            patience_s=60 * take("patience_minutes", _positive, standard.patience_s / 60),
            tool_pictures=take("tool_pictures", one_of(get_args(ToolPictures)), standard.tool_pictures),
            hand_back_reasoning=take("reasoning", one_of(("back", "drop")), "back") == "back",
            logprobs=take("logprobs", whole(0, 20), 0),
            extra=take("extra", _fields, {}),
            omit=take("omit", lambda text, _: frozenset(text.split(",")), frozenset()),
            price=price or find_price(urlsplit(url).hostname or "", model),
            use_cache=take("cache", switch, default=True),
            check=take("check", switch, default=True),
        )
        refuse_rest(rest, "openai", KNOWN)
        return found


KNOWN = (
    "base_url",
    "key_env",
    "in_flight",
    "timeout_s",
    "tries",
    "backoff_s",
    "patience_minutes",
    "tool_pictures",
    "reasoning",
    "logprobs",
    "extra",
    "omit",
    "price_in",
    "price_out",
    "cache",
    "check",
)


def _price(usd_in: float | None, usd_out: float | None) -> Price | None:
    if (usd_in is None) != (usd_out is None):
        raise UserError(
            "a price has two parts",
            where="options price_in, price_out",
            fix="name both, in dollars per million tokens",
        )
    return None if usd_in is None or usd_out is None else Price(usd_in, usd_out)


def _dollars(text: str, _: str) -> float | None:
    value = float(text)
    if not 0 <= value < 1e6:
        raise ValueError("dollars per million tokens, 0 or more")
    return value


def _positive(text: str, _: str) -> float:
    value = float(text)
    if not 0 < value < 1e7:
        raise ValueError("a number above 0")
    return value


def _name(text: str, _: str) -> str:
    if not text.isidentifier():
        raise ValueError("the name of an environment variable, not a key")
    return text


def _fields(text: str, _: str) -> Mapping[str, Any]:
    value = json.loads(text)
    if not isinstance(value, dict) or RESERVED & set(value):
        raise ValueError(f"a JSON object without {', '.join(sorted(RESERVED))}")
    return value
