"""Prices: dated, by host and model; never a guess."""

import math
from datetime import date

import pytest

from specvi_agents.models.prices import Price, Usage, _listings, find_price, read_usage


def test_every_listing_says_where_and_when_it_was_read():
    for listing in _listings():
        assert listing.source.startswith("https://")
        assert date(2025, 1, 1) < listing.date < date(2100, 1, 1)
        assert all(rates.out >= rates.in_ > 0 for rates in listing.models.values())


def test_a_price_is_found_by_host_and_name_and_by_snapshot():
    price = find_price("api.openai.com", "gpt-5.4")
    assert price is not None
    assert find_price("api.openai.com", "gpt-5.4-2026-03-05") == price
    assert "2026" in price.source


@pytest.mark.parametrize(
    ("host", "model"),
    [
        ("localhost", "gpt-5.4"),
        ("api.openai.com", "gpt-5.4-mini-preview"),
        ("api.openai.com", "gpt-5"),
        ("", ""),
    ],
)
def test_what_is_not_listed_has_no_price(host, model):
    assert find_price(host, model) is None


@pytest.mark.parametrize(
    ("usage", "usd"),
    [
        ({"prompt_tokens": 1_000_000, "completion_tokens": 0}, 2.0),
        ({"prompt_tokens": 0, "completion_tokens": 500_000}, 4.0),
        (
            {"prompt_tokens": 1000, "completion_tokens": 0, "prompt_tokens_details": {"cached_tokens": 600}},
            0.00098,
        ),
        (
            {"prompt_tokens": 1000, "completion_tokens": 0, "prompt_tokens_details": {"cached_tokens": 9999}},
            0.0003,
        ),
        (
            {
                "prompt_tokens": 1000,
                "completion_tokens": 0,
                "prompt_tokens_details": {"cached_tokens": "all"},
            },
            0.002,
        ),
        ({"prompt_tokens": 1000, "completion_tokens": 0, "prompt_tokens_details": None}, 0.002),
        ({"prompt_tokens": 1000.0, "completion_tokens": 0}, 0.002),
    ],
)
def test_dollars_of_one_reply(usage, usd):
    assert Price(2.0, 8.0, 0.3).of(read_usage(usage)) == pytest.approx(usd)


@pytest.mark.parametrize("count", [None, -5, "many", [], 0.5, math.inf, math.nan, 10**30, {}])
def test_tokens_that_are_not_counted_have_no_price(count):
    for usage in (
        {"prompt_tokens": count, "completion_tokens": 3},
        {"prompt_tokens": 3, "completion_tokens": count},
    ):
        assert read_usage(usage) is None
    assert Price(2.0, 8.0).of(None) is None
    assert Price(0.0, 0.0).of(None) == 0.0  # your own server sends no bill, counted or not


@pytest.mark.parametrize("usage", [None, {}, [1], "none", {"prompt_tokens": 5}])
def test_a_usage_that_is_none_is_no_usage(usage):
    assert read_usage(usage) is None


def test_without_a_price_for_cached_tokens_they_cost_the_same():
    assert Price(2.0, 8.0).of(Usage(1000, 0, cached_in=600)) == 0.002
