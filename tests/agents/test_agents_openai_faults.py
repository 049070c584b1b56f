"""What an HTTP fault means, and how long to wait."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from specvi_agents.models.faults import (
    MOST_WAIT_S,
    Declined,
    Overloaded,
    Passing,
    fault_of,
    retry_after,
    said,
)
from specvi_benchmark.vetting import VetterUnusable

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after": format_datetime(NOW + timedelta(seconds=90), usegmt=True)}, 90.0),
        ({"retry-after": format_datetime(NOW - timedelta(seconds=90), usegmt=True)}, 0.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "1e9"}, MOST_WAIT_S),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
    ],
)
def test_the_wait_is_read_in_every_form(headers, seconds):
    assert retry_after(headers, NOW) == seconds


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (429, "Rate limit reached", Overloaded),
        (429, "You exceeded your current quota, insufficient_quota", VetterUnusable),
        (503, "loading", Overloaded),
        (529, "overloaded", Overloaded),
        (500, "oops", Passing),
        (502, "bad gateway", Passing),
        (401, "Incorrect API key", VetterUnusable),
        (403, "country not supported", VetterUnusable),
        (404, "The model `x` does not exist", VetterUnusable),
        (400, "Unsupported parameter: 'seed'", Declined),
        (422, "extra fields not permitted", Declined),
        (413, "request too large", Declined),
        (429, "Request too large on tokens per min (TPM): Limit 30000, Requested 45000", Declined),
        (400, "Rate limit reached: too many tokens per minute", Overloaded),
        (403, "rate_limit_exceeded", Overloaded),
        (
            500,
            "slow · rate_limit_exceeded",
            Overloaded,
        ),  # how a code inside an answer with status 200 arrives
        (429, "You exceeded your quota, check your billing details", VetterUnusable),
        (429, "check your billing details. Quota exceeded: requests_per_minute", Overloaded),
        (400, "Your credit balance is too low", VetterUnusable),
        (401, "Your account was flagged", VetterUnusable),
        (403, "Your account was flagged by moderation", VetterUnusable),
    ],
)
def test_statuses_fall_into_their_kinds(status, message, kind):
    fault = fault_of(status, {}, f'{{"error": {{"message": "{message}"}}}}'.encode())
    assert type(fault) is kind
    assert message in str(fault)


@pytest.mark.parametrize(
    ("status", "message", "stop"),
    [
        (400, "This model's maximum context length is 8192 tokens", "length"),
        (400, "The prompt is too long: 210000 tokens", "length"),
        (400, "The response was filtered due to Azure's content management policy", "content_filter"),
        (403, "Your input was flagged by moderation", "content_filter"),
        (400, "The input token count (1200000) exceeds the maximum number of tokens allowed", "length"),
        (400, "the request exceeds the available context size", "length"),
        (400, "Invalid value for temperature", None),
    ],
)
def test_declined_requests_say_whether_that_is_an_outcome(status, message, stop):
    fault = fault_of(status, {}, f'{{"error": {{"message": "{message}"}}}}'.encode())
    assert isinstance(fault, Declined)
    assert fault.stop == stop


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (b'{"error": {"message": "a\\nb", "code": "c"}}', "a b · c"),
        (b'{"error": "plain"}', "plain"),
        (b'{"detail": [{"loc": ["x"]}]}', "[{'loc': ['x']}]"),
        (b"<html>\n 502 </html>", "<html> 502 </html>"),
        (b"\xff\xfe", "��"),
        (b"", ""),
        (b"[" * 5000, "[" * 500 + "…"),
    ],
)
def test_whatever_a_server_says_becomes_one_line(body, line):
    assert said(body) == line
