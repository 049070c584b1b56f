"""Prices: dated, by host and model; never a guess."""

from datetime import date

import pytest

from specvi_agents.models.prices import Price, _listings, find_price


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
        ({"prompt_tokens": 1000, "prompt_tokens_details": {"cached_tokens": 9999}}, 0.0003),
        ({"prompt_tokens": 1000, "prompt_tokens_details": None}, 0.002),
        ({}, 0.0),
    ],
)
def test_dollars_of_one_reply(usage, usd):
    assert Price(2.0, 8.0, 0.3).of(usage) == pytest.approx(usd)


def test_without_a_price_for_cached_tokens_they_cost_the_same():
    assert (
        Price(2.0, 8.0).of({"prompt_tokens": 1000, "prompt_tokens_details": {"cached_tokens": 600}}) == 0.002
    )
