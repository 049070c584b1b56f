"""Requests go through the proxy that the environment names, and only where it says so."""

import asyncio
import json

import pytest

from specvi_agents.local_server import completion, json_response, start
from specvi_agents.models.connection import Connection, proxy_of

SERVER = "http://models.invalid/v1"  # a name that no resolver knows: only a proxy can lead there


@pytest.fixture(autouse=True)
def no_settings(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.parametrize(
    ("settings", "url", "proxy"),
    [
        ({}, "https://api.example.org/v1", None),
        ({"https_proxy": "http://p:3128"}, "https://api.example.org/v1", "http://p:3128"),
        ({"https_proxy": "http://p:3128"}, "http://api.example.org/v1", None),
        ({"https_proxy": "p:3128"}, "https://api.example.org/v1", "http://p:3128"),
        ({"all_proxy": "http://p:3128"}, "http://api.example.org/v1", "http://p:3128"),
        ({"all_proxy": "http://p:3128", "no_proxy": "example.org"}, "http://api.example.org/v1", None),
        ({"all_proxy": "http://p:3128", "no_proxy": "*"}, "http://api.example.org/v1", None),
        ({"all_proxy": "http://p:3128"}, "http://127.0.0.1:8000/v1", None),  # no proxy reaches this machine
        ({"all_proxy": "http://p:3128"}, "http://localhost:8000/v1", None),
        ({"all_proxy": "http://p:3128"}, "http://[::1]:8000/v1", None),
    ],
)
def test_the_environment_names_the_proxy(monkeypatch, settings, url, proxy):
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert proxy_of(url) == proxy


def test_a_request_goes_through_it(monkeypatch):
    asked = []

    def proxy(request):
        asked.append(request.path)
        return json_response(completion("seen"))

    async def post():
        server, url = await start(proxy)
        monkeypatch.setenv("http_proxy", url.removesuffix("/v1"))
        connection = Connection(SERVER, "none", connections=1, timeout_s=20)
        try:
            return json.loads(await connection.post(b"{}"))
        finally:
            await connection.close()
            server.close()

    assert asyncio.run(post())["choices"][0]["message"]["content"] == "seen"
    assert asked == [f"{SERVER}/chat/completions"]  # the whole URL, as a proxy is asked
