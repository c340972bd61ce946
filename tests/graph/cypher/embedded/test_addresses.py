"""A Neo4j that demands TLS, by every scheme of an address; its database has another name.

Its certificate signs itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import neo4j
import pytest

from support.servers.certificate import OPENSSL, certificate
from support.servers.java import QUICK
from support.servers.ports import free_port
from support.serving import until
from thinkeval.cypher.embedded import EmbeddedServer, launch
from thinkeval.cypher.errors import ServerUnavailableError
from thinkeval.cypher.run import Database
from thinkeval.service.base.settings import Settings

pytestmark = pytest.mark.skipif(OPENSSL is None, reason="openssl, which makes certificates")

NAME = "think-eval"
TLS = {
    "server.bolt.tls_level": "REQUIRED",
    "dbms.ssl.policy.bolt.enabled": "true",
    "dbms.ssl.policy.bolt.base_directory": "certificates",
    "initial.dbms.default_database": NAME,
}


class Remote(NamedTuple):
    """A server: HOST:PORT, its password, the file of its certificate."""

    address: str
    password: str
    certificate: str


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory, test_settings: Settings) -> Iterator[Remote]:
    folder = tmp_path_factory.mktemp("remote")
    server = EmbeddedServer(
        folder / "neo4j",
        cache=test_settings.cache / "neo4j",
        bolt_port=free_port(),
        jvm_args=QUICK,
        settings=TLS,
        release=test_settings.neo4j_release,
    )
    server.home.make_folders()
    (server.home.path / "certificates").mkdir()
    cert, key = certificate(folder, "own")
    cert.rename(server.home.path / "certificates" / "public.crt")
    key.rename(server.home.path / "certificates" / "private.key")
    # Not `ensure_running`: it asks without TLS whether the server answers.
    launch.launch(server.home, server.options, None)
    address = f"127.0.0.1:{server.options.bolt_port}"
    password = server.home.stored_password() or ""

    def answers() -> bool:
        with neo4j.GraphDatabase.driver(
            f"bolt+ssc://{address}", auth=("neo4j", password)
        ) as driver:
            try:
                driver.verify_connectivity()
            except neo4j.exceptions.ServiceUnavailable:
                return False
            return True

    try:
        until(answers, 180)
        yield Remote(address, password, str(server.home.path / "certificates" / "public.crt"))
    finally:
        server.stop(force=True)


@pytest.fixture(params=["trusted", "not trusted"])
def is_trusted(
    request: pytest.FixtureRequest, remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> bool:
    """The certificate is that of an authority of this machine, or it is not."""
    if request.param == "trusted":
        monkeypatch.setenv("SSL_CERT_FILE", remote.certificate)
    return request.param == "trusted"


def refusal(uri: str, password: str, database: str | None = None) -> ServerUnavailableError | None:
    """The error of a connection; None without one."""
    with Database(uri, "neo4j", password, retry_s=1.0, database=database) as db:
        try:
            db.verify()
            db.setup_schema()
        except ServerUnavailableError as error:
            return error
    return None


@pytest.mark.parametrize("family", ["bolt", "neo4j"])
@pytest.mark.parametrize("security", ["", "+s", "+ssc"])
def test_each_scheme_works_or_is_told_the_one_that_does(
    remote: Remote, is_trusted: bool, family: str, security: str
) -> None:
    error = refusal(f"{family}{security}://{remote.address}", remote.password)
    if security == "+ssc" or (security == "+s" and is_trusted):
        assert error is None
        assert refusal(f"{family}{security}://{remote.address}", remote.password, NAME) is None
        return
    assert error is not None
    fits = "+s" if is_trusted else "+ssc"
    assert error.remedy.endswith(f" {family}{fits}://{remote.address}")
    why = "The server speaks TLS" if is_trusted else "is refused: self-signed certificate."
    assert why in error.remedy
    assert "\n" not in error.detail + error.remedy


@pytest.mark.parametrize("scheme", ["bolt+ssc", "neo4j+ssc"])
def test_what_is_wrong_is_told_with_its_remedy(remote: Remote, scheme: str) -> None:
    there = f"{scheme}://{remote.address}"
    for error, told, remedy in (
        (refusal(there, "wrong"), "refused the user name or password", "_NEO4J_PASSWORD"),
        (refusal(there, ""), "refused the user name or password", "_NEO4J_PASSWORD"),
        (refusal(there, remote.password, "neo4j"), "neo4j", "Set THINKEVAL_NEO4J_DATABASE"),
        (refusal(f"{scheme}://127.0.0.1:1", ""), "no answer", "THINKEVAL_NEO4J_URI"),
        (refusal(f"{scheme}://no-host.invalid", ""), "no-host.invalid", "THINKEVAL_NEO4J_URI"),
    ):
        assert error is not None
        assert told in error.detail
        assert remedy in error.remedy
        assert "\n" not in error.detail + error.remedy
