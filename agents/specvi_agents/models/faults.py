"""What an HTTP fault of a model server means: wait, try again, this question's own, or everybody's."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal

from specvi_benchmark.errors import UserError
from specvi_benchmark.vetting import VetterUnusable

MOST_WAIT_S = 600.0
_OVERLOADED = {408, 425, 429, 503, 529}
_FATAL = {401, 402, 404, 405}
_NO_CREDIT = re.compile(r"insufficient_quota|credit balance|payment required", re.IGNORECASE)
_UNPAID = re.compile(r"billing", re.IGNORECASE)  # a rate limit may point to the page of plans, too
_TOO_OFTEN = re.compile(
    r"rate[_ -]?limit|too many requests|per[_ -]?(?:second|minute|hour|day)", re.IGNORECASE
)
_NEVER_FITS = re.compile(r"request too large", re.IGNORECASE)  # larger than a whole minute's tokens
_ACCOUNT = re.compile(r"\b(?:account|organi[sz]ation|api[_ ]key)\b", re.IGNORECASE)
_TOO_LONG = re.compile(
    r"context[_ ](?:length|size|window)|maximum context|too many tokens|token count|prompt is too long|max_model_len",
    re.IGNORECASE,
)
_FILTERED = re.compile(
    r"content[_ ](filter|policy|management)|moderation|safety system|flagged|responsibleai", re.IGNORECASE
)


class Overloaded(Exception):  # noqa: N818  # a state of the server, not a mistake
    """The server asks for patience. ``retry_after_s`` is how long it said, None if it did not."""

    def __init__(self, reason: str, retry_after_s: float | None = None) -> None:
        super().__init__(reason)
        self.retry_after_s = retry_after_s


class Passing(Exception):  # noqa: N818
    """A fault that another try may mend: a cut connection, an inner error, an answer that is no JSON.

    ``slow`` is set where the server was too slow, which calls for fewer requests at a time; ``unreachable`` where
    no connection came about.
    """

    def __init__(self, reason: str, *, slow: bool = False, unreachable: bool = False) -> None:
        super().__init__(reason)
        self.slow, self.unreachable = slow, unreachable


class Declined(Exception):  # noqa: N818
    """The server will not answer this request, however often it is sent.

    ``stop`` says why where that is an outcome of its own: the conversation is too long, or filtered.
    """

    def __init__(self, reason: str, stop: Literal["length", "content_filter"] | None = None) -> None:
        super().__init__(reason)
        self.stop = stop


def fault_of(status: int, headers: Mapping[str, str], body: bytes) -> Exception:
    """Return the fault that a status other than 2xx means."""
    reason = f"HTTP {status}: {said(body)}"
    wait, too_often = retry_after(headers), _TOO_OFTEN.search(reason) is not None
    if status in _FATAL or (status == 403 and not too_often and not _is_about_this_question(reason)):
        return unusable("the model's server refuses all questions", reason)
    is_waited_out = too_often or wait is not None
    if _NO_CREDIT.search(reason) or (status == 429 and not is_waited_out and _UNPAID.search(reason)):
        return unusable("the model's server wants to be paid first", reason)
    if status == 429 and _NEVER_FITS.search(reason):
        return Declined(reason)
    if status in _OVERLOADED or too_often or (status >= 500 and wait is not None):
        return Overloaded(reason, wait)
    if status >= 500:
        return Passing(reason)
    stop: Literal["length", "content_filter"] | None = "length" if _TOO_LONG.search(reason) else None
    return Declined(reason, "content_filter" if _FILTERED.search(reason) else stop)


def _is_about_this_question(reason: str) -> bool:
    about_it = _FILTERED.search(reason) or _TOO_LONG.search(reason)
    return about_it is not None and _ACCOUNT.search(reason) is None


def unusable(what: str, reason: str, fix: str | None = None) -> UserError:
    """Return the error that stops a run."""
    return VetterUnusable(what, got=reason, fix=fix or "check the key, the model's name and base_url")


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Return how many seconds to wait, from ``retry-after-ms`` or ``retry-after`` (seconds or a date)."""
    for name, unit_s in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            wait = float(value) * unit_s
        except ValueError:
            try:
                wait = (parsedate_to_datetime(value) - (now or datetime.now(UTC))).total_seconds()
            except (TypeError, ValueError):
                continue
        if wait == wait:  # noqa: PLR0124  # not NaN
            return min(max(wait, 0.0), MOST_WAIT_S)
    return None


def said(body: bytes) -> str:
    """Return what a server says of a fault, in one line of moderate length."""
    text = body[:20_000].decode("utf-8", "replace")
    with suppress(ValueError, RecursionError):
        text = _message(json.loads(body))
    line = " ".join(text.split())
    return line if len(line) <= 500 else f"{line[:500]}…"


def _message(value: Any) -> str:
    error = value.get("error", value) if isinstance(value, dict) else value
    if isinstance(error, dict):
        parts = (error.get(name) for name in ("message", "detail", "code", "type"))
        found = [str(part) for part in parts if part]
        if found:
            return " · ".join(found)
    return error if isinstance(error, str) else json.dumps(error)
