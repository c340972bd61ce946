"""Access control, and limits on requests: tokens, other sites, bodies, files, names."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from pydantic import SecretStr

from support.commands import Done
from support.own_graphs import own_graphs
from support.problems import BASE, fill, paths, problem
from support.serving import settings_of, until
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.service.base.errors import UsageError
from thinkeval.service.base.settings import Settings
from thinkeval.service.web.app import create_app
from thinkeval.service.web.security import JSON_LIMIT

TOKEN = "pässwort-of-many-letters"
WRONG = ("", "x", TOKEN[:-1], TOKEN + "x", "é" * 30)
DATA = "Ada:\n  worked with: [Charles]\nCharles:\n  lived in: [London]\n"
OPEN = {"/health", "/ready", "/login", "/favicon.ico", "/static/{name}", "/neo4j/guide.html",
        "/neo4j/thinkeval.grass"}  # fmt: skip


def running(settings: Settings) -> Iterator[TestClient]:
    with TestClient(create_app(settings, workers=0), base_url=BASE) as client:
        until(lambda: client.get("/ready").status_code == 200)
        yield client


@pytest.fixture(scope="module")
def guarded(server: dict[str, str], db: Database) -> Iterator[TestClient]:
    """A service that wants its token."""
    yield from running(settings_of(server, api_token=SecretStr(TOKEN)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that may be imported from, beside one that may not."""
    root = tmp_path_factory.mktemp("import")
    allowed, other = root / "allowed", root / "other"
    for each in (allowed, other):
        each.mkdir()
        (each / "own.yaml").write_text(DATA)
    (allowed / "link.yaml").symlink_to(other / "own.yaml")
    (allowed / "up").symlink_to(other)
    (allowed / "loop").symlink_to(allowed / "loop")
    return allowed


@pytest.fixture(scope="module")
def client(server: dict[str, str], db: Database, folder: Path) -> Iterator[TestClient]:
    """A service without a token, on this machine."""
    yield from running(settings_of(server, import_dir=folder, model_dirs=(folder,)))


@pytest.fixture(scope="module")
def prefix(db: Database) -> Iterator[str]:
    with own_graphs(db) as mine:
        yield mine


def bearer(token: str) -> dict[bytes, bytes]:
    return {b"Authorization": b"Bearer " + token.encode()}


def test_other_machines_are_let_in_with_a_token_only(at_once: Callable[..., Done]) -> None:
    for host in ("0.0.0.0", "::", "192.0.2.1"):
        said = at_once("serve", "--host", host, "--port", "0").error
        assert "THINKEVAL_API_TOKEN" in said
    short = at_once("serve", "--host", "0.0.0.0", THINKEVAL_API_TOKEN="hunter2-secret")
    assert "hunter2" not in short.error


def test_every_route_wants_the_token_but_those_that_are_open(guarded: TestClient) -> None:
    app: Any = guarded.app
    seen = set()
    more = ["/", "/edits/{edit}", "/edits/{edit}/map", "/edits/{edit}/chains",
            "/edits/{edit}/facts", "/edits/{edit}/next", "/edits/{edit}/asked",
            "/edits/{edit}/rules", "/edits/{edit}/neo4j", "/edits/{edit}/export",
            "/compare", "/methods", "/rules", "/depedit",
            "/edits/{edit}/delete", "/graphs/{graph}/delete", "/depedit/sets/{knowledge_set}",
            "/openapi.json", "/logout", "/nowhere", "/healthy",
            "/login/x", *OPEN]  # fmt: skip
    listed = paths(app) | {path: {"GET", "POST"} for path in more}
    for path, methods in listed.items():
        for method in methods:
            answer = guarded.request(method, fill(path), follow_redirects=False)
            if path in OPEN:
                assert path == "/login" or answer.status_code != 401, path
                seen.add(path)
            else:
                problem(answer, 401)
                assert answer.headers["www-authenticate"].startswith("Bearer")
    assert seen == OPEN


def test_readiness_without_the_token_is_a_single_field(
    guarded: TestClient, client: TestClient
) -> None:
    answer = guarded.get("/ready")
    assert (answer.status_code, answer.json()) == (200, {"ready": True})
    for full in (guarded.get("/ready", headers=bearer(TOKEN)), client.get("/ready")):
        assert {"database", "workers", "queue"} <= set(full.json())


def test_readiness_without_the_token_tells_no_reason_for_a_503() -> None:
    settings = Settings(neo4j_uri="bolt://127.0.0.1:9", api_token=SecretStr(TOKEN))
    with TestClient(create_app(settings, workers=0), base_url=BASE) as away:
        answer = away.get("/ready")
        assert (answer.status_code, answer.json()) == (503, {"ready": False})
        assert int(answer.headers["retry-after"]) > 0
        problem(away.get("/ready", headers=bearer(TOKEN)), 503)


def test_the_right_token_lets_in_and_no_other(guarded: TestClient) -> None:
    assert guarded.get("/v1/methods", headers=bearer(TOKEN)).status_code == 200
    for token in WRONG:
        told = problem(guarded.get("/v1/methods", headers=bearer(token)), 401)
        assert "Bearer" in told["remedy"]
        assert TOKEN not in json.dumps(told)
    for header in (b"Basic " + TOKEN.encode(), TOKEN.encode(), b"Bearer", b"\xff\xfe"):
        problem(guarded.get("/v1/methods", headers={b"Authorization": header}), 401)
    problem(guarded.get("/v1/methods", params={"token": TOKEN}), 401)


def test_the_page_logs_in_with_a_cookie_that_is_not_the_token(guarded: TestClient) -> None:
    answer = guarded.post(
        "/login", data={"token": TOKEN, "next": "/compare?a=1"}, follow_redirects=False
    )
    assert (answer.status_code, answer.headers["location"]) == (303, "/compare?a=1")
    cookie = SimpleCookie(answer.headers["set-cookie"])["thinkeval"]
    assert cookie["httponly"]
    assert cookie["samesite"].lower() == "strict"
    assert (cookie["path"], bool(cookie["secure"])) == ("/", False)
    assert TOKEN not in answer.headers["set-cookie"]
    with_cookie = {"Cookie": f"thinkeval={cookie.value}"}
    guarded.cookies.clear()
    assert guarded.get("/v1/methods", headers=with_cookie).status_code == 200
    problem(guarded.get("/v1/methods", headers={"Cookie": f"thinkeval={TOKEN[3:]}"}), 401)
    other = guarded.post("/login", data={"token": TOKEN}, follow_redirects=False)
    second = SimpleCookie(other.headers["set-cookie"])["thinkeval"].value
    guarded.cookies.clear()
    out = guarded.post("/logout", headers=with_cookie, follow_redirects=False)
    assert SimpleCookie(out.headers["set-cookie"])["thinkeval"]["max-age"] == "0"
    guarded.cookies.clear()
    # Signed out is out, with the cookie too; another browser's session goes on.
    problem(guarded.get("/v1/methods", headers=with_cookie), 401)
    assert guarded.get("/v1/methods", headers={"Cookie": f"thinkeval={second}"}).status_code == 200
    secure = guarded.post(
        "https://127.0.0.1:8000/login", data={"token": TOKEN}, follow_redirects=False
    )
    assert SimpleCookie(secure.headers["set-cookie"])["thinkeval"]["secure"]
    guarded.cookies.clear()


def test_a_wrong_login_is_a_401_and_sets_nothing(guarded: TestClient) -> None:
    for token in WRONG[1:]:
        answer = guarded.post("/login", data={"token": token}, follow_redirects=False)
        assert answer.status_code == 401
        assert "set-cookie" not in answer.headers
    problem(guarded.post("/login", data={}, follow_redirects=False), 422)


def test_wrong_tokens_are_logged_without_them(
    guarded: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "thinkeval.access"):
        guarded.post("/login", data={"token": "guess"})
        for path in ("/v1/methods", "/ready", "/metrics", "/health"):
            guarded.get(path, headers=bearer("guess"))
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 5
    assert said[0] == "wrong token from testclient for '/login'"
    assert not any("guess" in text for text in said)


def test_a_token_for_reading_requires_one_for_all() -> None:
    with pytest.raises(UsageError, match="it requires THINKEVAL_API_TOKEN"):
        Settings(read_token=SecretStr(TOKEN))


@pytest.mark.parametrize(
    "token", [" " * 20, f"{'x' * 15}{' ' * 9}", f"{'x' * 20}\n{'x' * 20}", "\t" * 30]
)
def test_a_token_that_nobody_could_send_is_refused_at_the_start(token: str) -> None:
    with pytest.raises(UsageError, match="needs 16 printable characters") as caught:
        Settings(api_token=SecretStr(token))
    assert token not in str(caught.value)


def test_blanks_around_the_token_are_no_part_of_it() -> None:
    secret = Settings(api_token=SecretStr(f" {TOKEN}\n")).api_token
    assert secret is not None
    assert secret.get_secret_value() == TOKEN


def test_every_answer_says_how_it_is_to_be_read(client: TestClient) -> None:
    wanted = {
        "x-content-type-options": "nosniff", "x-frame-options": "DENY",
        "referrer-policy": "same-origin",
    }  # fmt: skip
    for path in (
        "/", "/health", "/ready", "/metrics", "/openapi.json", "/docs", "/login", "/favicon.ico",
        "/static/page.css", "/static/nothing", "/neo4j/guide.html", "/neo4j/thinkeval.grass",
        "/v1/methods", "/v1/edits/nothing", "/v1/leaderboard?format=csv", "/nowhere",
    ):  # fmt: skip
        answer = client.get(path)
        assert {name: answer.headers.get(name) for name in wanted} == wanted, path
    long = client.post("/v1/edits", content=b"x" * (JSON_LIMIT + 1))
    assert (long.status_code, long.headers["x-frame-options"]) == (413, "DENY")


def test_an_internal_error_says_so_too() -> None:
    app = create_app(Settings(neo4j_uri="bolt://127.0.0.1:9"), workers=0)

    @app.get("/breaks")
    def breaks() -> None:
        raise RuntimeError

    with TestClient(app, base_url=BASE, raise_server_exceptions=False) as broken:
        answer = broken.get("/breaks")
    assert (answer.status_code, answer.headers["x-content-type-options"]) == (500, "nosniff")


@pytest.mark.parametrize(
    "place",
    ["https://evil.example/", "//evil.example/", "/\\evil.example", "/\t/evil.example", "evil",
     "\\\\evil.example", "javascript:alert(1)", "/\r\nSet-Cookie: a=b"],
)  # fmt: skip
def test_logging_in_leads_nowhere_else(guarded: TestClient, place: str) -> None:
    answer = guarded.post("/login", data={"token": TOKEN, "next": place}, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert "evil" not in guarded.get("/login", params={"next": place}).text
    guarded.cookies.clear()


def test_a_browser_without_the_cookie_is_led_to_the_form_and_back(guarded: TestClient) -> None:
    browser = {"Accept": "text/html"}
    answer = guarded.get("/compare?a=x&b=y", headers=browser, follow_redirects=False)
    assert answer.status_code == 303
    form = guarded.get(answer.headers["location"], headers=browser)
    assert form.status_code == 200
    assert "/compare?a=x&amp;b=y" in form.text


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "", "[::1", "127.0.0.1@evil.example", "\xff"]
)
def test_a_name_that_was_made_to_point_here_gets_nothing(client: TestClient, host: str) -> None:
    headers = {b"Host": host.encode("latin-1")}
    problem(client.get("/v1/methods", headers=headers), 421)
    assert client.get("/v1/methods", headers={"Host": "localhost:8000"}).status_code == 200
    assert client.get("/v1/methods", headers={"Host": "[::1]:8000"}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://["},
        {"Origin": "http://127.0.0.1:9000"},
        {"Origin": "ftp://127.0.0.1:8000"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_pages_of_other_sites_change_nothing(client: TestClient, headers: dict[str, str]) -> None:
    problem(client.post("/v1/edits", json={"rewrite": "x"}, headers=headers), 403)
    file = {"file": ("a.yaml", b"subject,relation,object\n")}
    problem(client.post("/v1/graphs", files=file, headers=headers), 403)
    problem(client.delete("/v1/edits/nowhere", headers=headers), 403)
    problem(client.delete("/v1/edits/nowhere", headers={"Origin": BASE}), 404)


def test_a_body_has_a_limit_said_or_not(server: dict[str, str]) -> None:
    settings = settings_of(server, body_limit_mb=2)
    too_long = b'{"rewrite": "' + b"x" * JSON_LIMIT + b'"}'
    kind = {"Content-Type": "application/json"}

    def chunks(body: bytes) -> Iterator[bytes]:
        for start in range(0, len(body), 65536):
            yield body[start : start + 65536]

    for client in running(settings):
        problem(client.post("/v1/edits", content=too_long, headers=kind), 413)
        problem(client.post("/v1/edits", content=chunks(too_long), headers=kind), 413)
        # An upload may be larger, up to its own limit.
        form = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.yaml"\r\n\r\n'
        kinds = {"Content-Type": "multipart/form-data; boundary=b"}
        fits = form + b"x" * JSON_LIMIT + b"\r\n--b--\r\n"
        problem(client.post("/v1/graphs", content=fits, headers=kinds), 422)
        longer = form + b"x" * 2 * JSON_LIMIT + b"\r\n--b--\r\n"
        problem(client.post("/v1/graphs", content=longer, headers=kinds), 413)
        problem(client.post("/v1/graphs", content=chunks(longer), headers=kinds), 413)
        for said in (b"9" * 5000, b"-1", b"\xb2", b"1e3"):
            answer = client.post(
                "/v1/edits", content=iter([b"{}"]), headers=kind | {"Content-Length": said}
            )
            problem(answer, 413 if said.startswith(b"9") else 400)


@pytest.mark.parametrize(
    "source",
    ["../other/own.yaml", "/etc/passwd", "link.yaml", "up/own.yaml", "up", ".", "", "a/../..",
     "loop", "own.yaml\x00", "%2e%2e/other/own.yaml",
     "..\\other\\own.yaml", "~/x", "n" * 300, "file:///etc"],
)  # fmt: skip
def test_nothing_is_imported_from_elsewhere(client: TestClient, source: str, folder: Path) -> None:
    answer = client.post("/v1/graphs/import", json={"source": source})
    assert answer.status_code in (403, 404, 422), answer.text
    told = problem(answer, answer.status_code)
    assert str(folder.parent) not in told["detail"]


def test_what_is_in_the_folder_is_imported(client: TestClient, prefix: str) -> None:
    body = {"source": "own.yaml", "name": f"{prefix}-own"}
    answer = client.post("/v1/graphs/import", json=body)
    assert (answer.status_code, answer.json()["n_facts"]) == (201, 2)


@pytest.mark.parametrize(
    "name",
    ["../../x.yaml", "..\\..\\x.yaml", "/etc/x.yaml", "C:\\x.yaml", "x\x00.yaml", "..", ".hidden",
     "", "x|y.yaml", "𝒳" * 80 + ".yaml", "n" * 300 + ".yaml", "x\n.yaml", "x@y|z.yaml"],
)  # fmt: skip
def test_an_upload_is_called_by_the_last_part_of_its_name(
    client: TestClient, prefix: str, name: str, tmp_path: Path
) -> None:
    answer = client.post(
        "/v1/graphs", files={"file": (name, DATA.encode())}, data={"name": f"{prefix}-upload"}
    )
    assert answer.status_code in (200, 201, 422), answer.text
    if answer.status_code == 422:
        told = problem(answer, 422)
        assert "/tmp" not in told["detail"]


@pytest.mark.parametrize(
    ("name", "refusal"),
    [
        ("a|b", "No graph can be called"),
        ("../x", "No graph can be called"),
        ("n" * 101, "No graph can be called"),
        ("a\\nb", "control character (U+000A)"),
    ],
)
def test_a_name_within_a_file_is_held_to_the_same_rule(
    client: TestClient, name: str, refusal: str
) -> None:
    text = f'name: "{name}"\nrelations: {{knows: {{prompt: "{{}} knows"}}}}\n'
    text += "facts: {Ada: {knows: [Mary]}}\n"
    answer = client.post("/v1/graphs", files={"file": ("own.yaml", text.encode())})
    assert refusal in problem(answer, 422)["detail"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.json", b"[" * 100_000),
        ("x.json", b'[{"case_id": 1e999, "requested_rewrite": "\\ud800"}]'),
        ("x.json", b"\xff\xfe\x00"),
        ("x.yaml", b"a:\n  b: [" + b"[" * 5000),
        ("x.yaml", b"a: &a [x]\n  b: *c\n"),
        ("x.csv", b"subject,relation,object,prompt\n\x00,\x00,\x00,\x00\n"),
        ("x.csv", b"subject,relation,object,prompt\n" + b"x" * 200_000),
    ],
)
def test_a_file_that_is_no_data_set_is_refused(
    client: TestClient, name: str, content: bytes
) -> None:
    told = problem(client.post("/v1/graphs", files={"file": (name, content)}), 422)
    assert "/tmp" not in told["detail"]


def test_an_import_never_takes_the_place_of_another_kind_of_graph(
    client: TestClient, db: Database, prefix: str
) -> None:
    from thinkeval.service.graphs.write import write_graph

    name = f"{prefix}-own@model"
    write_graph(db, rows.GraphHeader(name, "model", f"{prefix}-own", model="m"), [], [])
    body = {"source": "own.yaml", "name": name, "replace": True}
    problem(client.post("/v1/graphs/import", json=body), 409)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"model": "/etc"}, "may load"),
        ({"model": "../other"}, "may load"),
        ({"model": "{folder}/../other"}, "may load"),
        ({"model": "{folder}/up"}, "may load"),
        ({"model": "/" + "n" * 300}, "may load"),
        ({"model": "/a\x00b"}, "may load"),
        ({"model": "someone/else"}, "may load"),
        ({"model": "organism:gpt2:steps=999999999"}, "too much training"),
        ({"model": "organism:gpt2:seed=9999999999"}, "too large a seed"),
        ({"model": "organism:gpt2:seed=²"}, "not an option"),
        ({"model": "organism:../../x"}, "There is no organism"),
        ({"hparams": "/etc/passwd"}, "no hyperparameter file"),
        ({"hparams": "../rome/gpt2-xl"}, "no hyperparameter file"),
        ({"method": "../rome"}, "no editing method"),
        ({"method": "os"}, "no editing method"),
    ],
)
def test_models_and_files_come_from_the_lists_only(
    client: TestClient, folder: Path, body: dict[str, str], says: str
) -> None:
    filled = {key: value.replace("{folder}", str(folder)) for key, value in body.items()}
    told = problem(client.post("/v1/edits", json={"rewrite": "x"} | filled), 422)
    assert says in told["detail"]


def test_no_secret_is_told_by_anything(
    guarded: TestClient, server: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "thinkeval")
    secrets = {TOKEN, server["THINKEVAL_NEO4J_PASSWORD"]}
    for path in ("/openapi.json", "/ready", "/metrics", "/v1/models", "/v1/edits/nowhere", "/x"):
        answer = guarded.get(path, headers=bearer(TOKEN))
        assert not any(secret in answer.text for secret in secrets), path
    refused = Settings(
        neo4j_uri="bolt://127.0.0.1:9", neo4j_password=SecretStr("a-very-secret-password")
    )
    with TestClient(create_app(refused, workers=0), base_url=BASE) as away:
        assert "a-very-secret-password" not in away.get("/v1/edits").text
    secrets.add("a-very-secret-password")
    assert not any(secret in caplog.text for secret in secrets)
