"""Proxies of the environment: not for this machine, named in errors, clear if unusable."""

from __future__ import annotations

import socket
from collections.abc import Callable

import pytest

from support.endpoints.cassette_server import playing
from thinkeval.service.base import proxies
from thinkeval.service.base.errors import EndpointError, UsageError
from thinkeval.service.base.llm import Client
from thinkeval.service.client.http import Http, ProblemError

HELLO = [{"role": "user", "content": "Hello"}]


@pytest.fixture
def dead() -> str:
    """The address of a proxy that does not run."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return f"127.0.0.1:{taken.getsockname()[1]}"


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:80", "a.localhost", "127.0.0.1", "127.9.8.7:1", "[::1]:8000"]
)
def test_own_addresses(host: str) -> None:
    assert proxies.is_own(f"http://{host}/v1")


@pytest.mark.parametrize("host", ["10.0.0.1", "localhost.example", "[2001:db8::1]", "128.0.0.1"])
def test_other_addresses(host: str) -> None:
    assert not proxies.is_own(f"https://{host}/v1")


@pytest.mark.parametrize("name", ["HTTP_PROXY", "ALL_PROXY", "http_proxy"])
def test_a_server_of_this_machine_is_reached_without_the_proxy(
    monkeypatch: pytest.MonkeyPatch, dead: str, name: str
) -> None:
    monkeypatch.setenv(name, f"socks5://{dead}")
    with playing({"otherwise": ["Hello."]}) as cassette:
        client = Client(cassette.url, "tiny", tries=1)
        assert client.chat(HELLO, temperature=0, max_tokens=1).text == "Hello."
        client.close()


def test_the_proxy_is_named_where_it_does_not_answer(
    monkeypatch: pytest.MonkeyPatch, dead: str
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://me:secret@{dead}")
    client = Client("http://models.example/v1", "tiny", tries=1)
    with pytest.raises(EndpointError) as caught:
        client.chat(HELLO, temperature=0, max_tokens=1)
    client.close()
    told = caught.value.detail + caught.value.remedy
    assert f"through the proxy HTTP_PROXY=http://{dead}" in told
    assert "NO_PROXY" in caught.value.remedy
    assert "secret" not in told
    monkeypatch.setattr("thinkeval.service.client.http.ATTEMPTS", 1)
    with pytest.raises(ProblemError, match=f"through the proxy HTTP_PROXY=http://{dead}"):
        Http("http://service.example:8000").get("/v1/health")


def test_no_proxy_is_named_where_none_is_used(monkeypatch: pytest.MonkeyPatch, dead: str) -> None:
    monkeypatch.setenv("HTTPS_PROXY", f"http://{dead}")
    assert proxies.through("http://models.example/v1") == ""
    assert proxies.through("https://models.example/v1") != ""
    monkeypatch.setenv("NO_PROXY", "example")
    assert proxies.through("https://models.example/v1") == ""


@pytest.mark.parametrize(
    "made",
    [
        lambda: Client("https://models.example/v1", "tiny"),
        lambda: Http("https://service.example"),
    ],
)
def test_a_proxy_that_cannot_be_used(
    monkeypatch: pytest.MonkeyPatch, made: Callable[[], object]
) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://proxy.example:1080")
    with pytest.raises(UsageError, match=r"ALL_PROXY=socks5://proxy\.example:1080, a SOCKS"):
        made()
    # httpx makes a transport for each variable: the one that fails is named.
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    with pytest.raises(UsageError, match=r"ALL_PROXY=socks5://proxy\.example:1080, a SOCKS"):
        made()
    monkeypatch.delenv("HTTPS_PROXY")
    monkeypatch.setenv("ALL_PROXY", "gopher://proxy.example:70")
    with pytest.raises(UsageError, match="gopher"):
        made()
