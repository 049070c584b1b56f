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
EXPECTED_TOKENS = (12_000, 1_500)
"""Tokens in and out of one inspection, for an estimate before there is a measurement: four requests, the last
with four pictures of about a thousand tokens, beside the prompt that each of them repeats."""

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
class Price:
    """US dollars per million tokens, and where that was read (`source`, with its date)."""

    usd_in: float
    usd_out: float
    usd_cached_in: float | None = None
    source: str = "options"

    def of(self, usage: Mapping[str, Any]) -> float:
        """Return the dollars of one reply from the server's ``usage``."""
        tokens_in, tokens_out = (int(usage.get(f"{name}_tokens") or 0) for name in ("prompt", "completion"))
        details = usage.get("prompt_tokens_details")
        cached = int(details.get("cached_tokens") or 0) if isinstance(details, dict) else 0
        cached = min(cached, tokens_in) if self.usd_cached_in is not None else 0
        dollars = (tokens_in - cached) * self.usd_in + cached * (self.usd_cached_in or 0.0)
        return (dollars + tokens_out * self.usd_out) / MILLION

    @property
    def expected_usd(self) -> float:
        """Return what one inspection may cost, before there is a measurement."""
        tokens_in, tokens_out = EXPECTED_TOKENS
        return self.of({"prompt_tokens": tokens_in, "completion_tokens": tokens_out})


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
