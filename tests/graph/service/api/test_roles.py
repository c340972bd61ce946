"""Named tokens: what each role permits, at every route; revocation, sessions, logs."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient
from pydantic import SecretStr

from support.own_graphs import own_graphs
from support.problems import BASE, fill, problem
from support.serving import settings_of, until
from thinkeval.cypher.run import Database
from thinkeval.service.base import tokens
from thinkeval.service.base.errors import ConflictError, NotFoundError, UsageError
from thinkeval.service.base.tokens import ROLES, Holder
from thinkeval.service.web import app as application
from thinkeval.service.web import roles, security
from thinkeval.service.web.app import create_app

OWN = "the operator's own token"
DATA = b"Ada:\n  worked with: [Charles]\nCharles:\n  lived in: [London]\n"
OPEN = {"POST /login"}


def operations() -> list[str]:
    """Every operation of REST and the web UI, but those that only read."""
    return sorted(
        f"{method} {route.path}"
        for router in application.ROUTERS
        for route in router.routes
        for method in getattr(route, "methods", None) or ()
        if method not in roles.SAFE
    )


@pytest.fixture(scope="module")
def prefix(db: Database) -> Iterator[str]:
    with own_graphs(db) as mine:
        yield mine


@pytest.fixture
def made(db: Database) -> Iterator[dict[str, str]]:
    """A token of each role, named by it."""
    yield {role: tokens.add(db, role, role) for role in ROLES}
    for each in tokens.listed(db):
        tokens.revoke(db, each.name)


@pytest.fixture(scope="module")
def service(server: dict[str, str], db: Database) -> Iterator[TestClient]:
    """A service without THINKEVAL_API_TOKEN, which asks for new tokens at each request."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(security.Tokens, "FRESH_S", 0.0)
        patch.setattr(security.Sessions, "PAUSE_S", 0.0)
        with TestClient(create_app(settings_of(server), workers=0), base_url=BASE) as client:
            until(lambda: client.get("/ready").status_code == 200)
            yield client


@pytest.fixture(autouse=True)
def no_cookies(service: TestClient) -> None:
    service.cookies.clear()


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_every_route_has_a_role_and_every_role_a_route() -> None:
    assert operations() == sorted({*roles.ROLES, *OPEN})
    assert roles.role_of("POST", "/v1/added/later") == "admin"
    assert roles.role_of("GET", "/v1/edits") == "read"


@pytest.mark.parametrize("operation", [each for each in operations() if each not in OPEN])
def test_a_lower_role_is_refused_and_the_required_one_is_not(
    service: TestClient, made: dict[str, str], operation: str
) -> None:
    method, path = operation.split(" ")
    needed = roles.ROLES[operation]
    for role, token in made.items():
        answer = service.request(method, fill(path), headers=bearer(token), follow_redirects=False)
        if ROLES.index(role) < ROLES.index(needed):
            told = problem(answer, 403)
            assert f"requires a token of role {needed}; {role!r} has role {role}" in told["detail"]
            assert f"--role {needed}" in told["remedy"]
        else:
            assert answer.status_code not in (401, 403, 500), answer.text


def test_the_document_says_the_role_of_each_operation(service: TestClient) -> None:
    paths = service.get("/openapi.json").json()["paths"]
    assert paths["/health"]["get"]["security"] == []
    for path, methods in paths.items():
        for method, each in methods.items():
            role = roles.role_of(method.upper(), path)
            assert each["security"] in ([], [{}, {"token": [role]}, {"cookie": [role]}]), path
    assert paths["/v1/edits/{id}"]["delete"]["security"][1] == {"token": ["admin"]}


def test_replacing_requires_more_than_importing(
    service: TestClient, made: dict[str, str], prefix: str
) -> None:
    def upload(token: str, **form: str) -> int:
        sent = {"name": f"{prefix}-own", **form}
        file = {"file": ("a.yaml", DATA)}
        return service.post("/v1/graphs", files=file, data=sent, headers=bearer(token)).status_code

    assert upload(made["read"]) == 403
    assert upload(made["post"]) == 201
    assert upload(made["post"], replace="true") == 403
    assert upload(made["admin"], replace="true") == 200
    file = {"file": ("a.yaml", DATA)}
    seen = service.post("/v1/graphs/preview", files=file, headers=bearer(made["read"]))
    assert seen.status_code == 200
    body = {"source": "hogwarts", "name": f"{prefix}-shipped", "replace": True}
    told = problem(service.post("/v1/graphs/import", json=body, headers=bearer(made["post"])), 403)
    assert "with `replace`" in told["detail"]


def test_the_first_token_closes_the_service_and_the_last_one_opens_it(
    service: TestClient, db: Database
) -> None:
    assert service.get("/v1/edits").status_code == 200
    token = tokens.add(db, "first", "read")
    try:
        assert "a token" in problem(service.get("/v1/edits"), 401)["detail"]
        problem(service.get("/v1/edits", headers=bearer("x" * 43)), 401)
        page = service.get("/facts", headers={"accept": "text/html"}, follow_redirects=False)
        assert page.headers["location"] == "/login?next=/facts"
        assert service.get("/v1/edits", headers=bearer(token)).status_code == 200
        assert service.get("/ready").json() == {"ready": True}
        assert service.get("/health").status_code == 200
    finally:
        tokens.revoke(db, "first")
    assert service.get("/v1/edits").status_code == 200


def test_a_session_has_the_role_of_its_token_and_ends_with_it(
    service: TestClient, made: dict[str, str], db: Database
) -> None:
    for role in ("read", "post"):
        service.cookies.clear()
        done = service.post("/login", data={"token": f" {made[role]} "}, follow_redirects=False)
        assert done.status_code == 303
        assert service.get("/v1/edits").status_code == 200
        wanted = 403 if role == "read" else 404
        problem(service.post("/v1/edits/nowhere/cancel"), wanted)
    tokens.revoke(db, "post")
    problem(service.get("/v1/edits"), 401)
    wrong = service.post("/login", data={"token": made["post"]}, follow_redirects=False)
    assert (wrong.status_code, "set-cookie" in wrong.headers) == (401, False)


def test_a_revoked_token_lets_in_for_two_seconds_at_most(
    server: dict[str, str], made: dict[str, str], db: Database
) -> None:
    settings = settings_of(server, api_token=SecretStr(OWN))
    with TestClient(create_app(settings, workers=0), base_url=BASE) as other:
        until(lambda: other.get("/v1/edits", headers=bearer(made["read"])).status_code == 200)
        assert other.delete("/v1/edits/nowhere", headers=bearer(OWN)).status_code == 404
        tokens.revoke(db, "read")
        began = time.monotonic()
        until(lambda: other.get("/v1/edits", headers=bearer(made["read"])).status_code == 401)
        assert time.monotonic() - began < security.Tokens.FRESH_S + 1.5  # the brake's pause, too


def test_the_log_names_who_posted_and_no_token(
    service: TestClient, made: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    service.post("/v1/edits/nowhere/cancel", headers=bearer(made["post"]))
    service.delete("/v1/edits/nowhere", headers=bearer(made["read"]))
    said = [each.getMessage() for each in caplog.records if each.name == "thinkeval.access"]
    assert said == ["POST /v1/edits/nowhere/cancel by post"]
    assert not any(token in caplog.text for token in made.values())


def test_a_token_is_stored_as_a_digest_only(made: dict[str, str], db: Database) -> None:
    for each in tokens.listed(db):
        assert each.digest == tokens.digest_of(made[each.name])
        assert len(each.digest) == 64
        assert made[each.name] not in repr(each)


def test_names_of_tokens(made: dict[str, str], db: Database) -> None:
    with pytest.raises(ConflictError, match="already"):
        tokens.add(db, "read", "admin")
    assert {t.name: t.role for t in tokens.listed(db)}["read"] == "read"
    with pytest.raises(NotFoundError, match="Did you mean 'admin'"):
        tokens.revoke(db, "admn")
    for name in ("", "a b", "the service's token", "x" * 65, "a\n", "-x"):
        with pytest.raises(UsageError, match="cannot be the name"):
            tokens.add(db, name, "read")


def test_what_a_higher_role_permits() -> None:
    assert [[Holder("", a).has(b) for b in ROLES] for a in ROLES] == [
        [True, False, False], [True, True, False], [True, True, True],
    ]  # fmt: skip


def test_without_the_database_no_named_token_is_refused_as_wrong() -> None:
    settings = settings_of(
        {f"THINKEVAL_NEO4J_{key}": "x" for key in ("USER", "PASSWORD")}
        | {"THINKEVAL_NEO4J_URI": "bolt://127.0.0.1:9"},
        api_token=SecretStr(OWN),
    )
    with TestClient(create_app(settings, workers=0), base_url=BASE) as away:
        told = problem(away.get("/v1/methods", headers=bearer("x" * 43)), 503)
        assert told["code"] == "database-unavailable"
        assert away.get("/v1/methods", headers=bearer(OWN)).status_code == 200
        problem(away.get("/v1/methods"), 401)
        problem(away.post("/login", data={"token": "x" * 43}), 503)
