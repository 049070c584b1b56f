"""What tokens cost: a dated price file, by host and model. A price that is not known is None, never a guess."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from specvi_benchmark.files import StrictModel, parse_yaml

MILLION = 1_000_000
MOST_TOKENS = 10**9
"""Of one reply; a server that says more has not counted."""

_SNAPSHOT = re.compile(r"-\d{4}-\d\d-\d\d$")
_Dollars = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Rates(StrictModel):
    in_: _Dollars = Field(alias="in")
    out: _Dollars
    cached_in: _Dollars | None = None


class _Listing(StrictModel):
    host: str
    source: str
    date: date
    models: Mapping[str, _Rates]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one reply, as the server counted them; ``cached_in`` are those of the prompt that it knew."""

    tokens_in: int
    tokens_out: int
    cached_in: int = 0


EXPECTED = Usage(12_000, 1_500)
"""Of one inspection, for an estimate before there is a measurement: four requests, the last with four pictures of
about a thousand tokens, beside the prompt that each of them repeats."""


def read_usage(usage: Any) -> Usage | None:
    """Read a server's ``usage``; None where it does not count, or says what can be no count."""
    if not isinstance(usage, Mapping):
        return None
    tokens_in, tokens_out = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    if tokens_in is None or tokens_out is None:
        return None
    details = usage.get("prompt_tokens_details")
    cached = _count(details.get("cached_tokens")) if isinstance(details, Mapping) else None
    return Usage(tokens_in, tokens_out, min(cached or 0, tokens_in))


def _count(value: Any) -> int | None:
    whole = isinstance(value, int | float) and 0 <= value <= MOST_TOKENS and value == int(value)
    return int(value) if whole else None


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens, and where that was read (`source`, with its date)."""

    usd_in: float
    usd_out: float
    usd_cached_in: float | None = None
    source: str = "options"

    def of(self, usage: Usage | None) -> float | None:
        """Return the dollars of one reply; None where its tokens were not counted, unless nothing costs anything."""
        if usage is None:
            return None if self.usd_in or self.usd_out else 0.0
        usd_cached = self.usd_in if self.usd_cached_in is None else self.usd_cached_in
        dollars_in = (usage.tokens_in - usage.cached_in) * self.usd_in + usage.cached_in * usd_cached
        return (dollars_in + usage.tokens_out * self.usd_out) / MILLION

    @property
    def expected_usd(self) -> float | None:
        """Return what one inspection may cost, before there is a measurement."""
        return self.of(EXPECTED)


def find_price(host: str, model: str) -> Price | None:
    """Return the listed price of a model at a host; None if there is none."""
    for listing in _listings():
        rates = listing.models.get(model) or listing.models.get(_SNAPSHOT.sub("", model))
        if listing.host == host and rates is not None:
            source = f"{listing.source}, {listing.date}"
            return Price(rates.in_, rates.out, rates.cached_in, source)
    return None


@cache
def _listings() -> tuple[_Listing, ...]:
    path = files("specvi_agents.models") / "prices.yaml"
    text = path.read_text(encoding="utf-8")
    return TypeAdapter(tuple[_Listing, ...]).validate_python(parse_yaml(text, path))
