"""A service with a certificate of its own: https, `Secure` of the cookie, unfit files."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from http.cookies import SimpleCookie
from pathlib import Path

import httpx
import pytest

from support.commands import Done
from support.servers.certificate import OPENSSL, certificate
from support.serving import Service, serving

TOKEN = "a token of enough characters"

pytestmark = pytest.mark.skipif(OPENSSL is None, reason="openssl, which makes certificates")


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return certificate(tmp_path_factory.mktemp("tls"), "own")


@pytest.fixture(scope="module")
def encrypted(
    environment: dict[str, str],
    pair: tuple[Path, Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Service]:
    cert, key = map(str, pair)
    env = environment | {"THINKEVAL_API_TOKEN": TOKEN}
    trusted = ssl.create_default_context(cafile=cert)
    options = ("--workers", "0", "--tls-cert", cert, "--tls-key", key)
    with serving(env, tmp_path_factory.mktemp("s"), *options, verify=trusted) as running:
        running.ready()
        yield running


def test_https_is_served_and_http_is_not(encrypted: Service) -> None:
    assert encrypted.url.startswith("https://127.0.0.1:")
    assert encrypted.get("/health")["status"] == "ok"
    with pytest.raises(httpx.TransportError):
        httpx.get(f"{encrypted.url}/health")  # no one else vouches for the certificate
    with pytest.raises(httpx.TransportError):
        httpx.get(encrypted.url.replace("https", "http") + "/health")


def test_the_cookie_is_sent_encrypted_only(encrypted: Service) -> None:
    done = encrypted.http.post("/login", data={"token": TOKEN}, headers={"Origin": encrypted.url})
    assert (done.status_code, done.headers["location"]) == (303, "/")
    cookie = SimpleCookie(done.headers["set-cookie"])["thinkeval"]
    assert (cookie["secure"], cookie["httponly"]) == (True, True)
    assert encrypted.http.get("/v1/edits").status_code == 200
    page = encrypted.http.get("/methods", headers={"accept": "text/html"})
    assert (page.status_code, "http://127.0.0.1" in page.text) == (200, False)


def test_files_that_cannot_be_used_are_refused_before_the_start(
    at_once: Callable[..., Done], pair: tuple[Path, Path], tmp_path: Path
) -> None:
    cert, key = map(str, pair)
    _, other = certificate(tmp_path, "other")
    _, locked = certificate(tmp_path, "locked", "-passout", "pass:secret")
    text = tmp_path / "text.pem"
    text.write_text("no certificate")
    for files, said in {
        (cert, str(tmp_path / "none.key")): "none.key cannot be read: No such file",
        (str(tmp_path), key): "cannot be read: Is a directory",
        (cert, str(other)): "cannot be used: KEY_VALUES_MISMATCH",
        (str(text), key): "cannot be used",
        (cert, str(text)): "cannot be used",
        (cert, str(locked)): "cannot be used",
    }.items():
        told = at_once("serve", "--port", "0", "--tls-cert", files[0], "--tls-key", files[1]).error
        assert said in told
        assert len(told.splitlines()) == 1
    alone = at_once("serve", "--port", "0", "--tls-cert", cert).error
    assert "--tls-key" in alone
