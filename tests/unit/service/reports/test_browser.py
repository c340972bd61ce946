"""Links to Neo4j Browser, the guide it plays and the style it puts on, without a browser."""

from __future__ import annotations

import html
import json
import re
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from thinkeval.cypher import rows
from thinkeval.cypher.browser import literal, style, style_command
from thinkeval.cypher.embedded import config
from thinkeval.cypher.embedded.config import Ports
from thinkeval.service.base.errors import UsageError
from thinkeval.service.base.settings import Settings
from thinkeval.service.models.edit import MetricValue, Score, ScoringOptions
from thinkeval.service.reports import browser
from thinkeval.service.reports.browser import QUESTIONS, RULE_QUESTIONS
from thinkeval.service.web import catalog
from thinkeval.service.web.catalog import browser_router

BROWSER = "http://127.0.0.1:7474/browser/"
HOSTILE = [
    'x"}) DETACH DELETE n //',
    "x'}) MATCH (n) DETACH DELETE n //",
    "x\\",
    "\\u0022}) DETACH DELETE n //",
    "a&arg=MATCH (n) DETACH DELETE n",
    "a#b",
    "a?cmd=play&arg=http://elsewhere",
    "line\nbreak; :play http://elsewhere\n`$edit`",
    "100%41 + 1",
    "Zoë 💡",
]


def arrived(link: str) -> str:
    """The query as Browser 5.24 reads it out of its address."""
    decoded = unquote(link.replace("+", " "))
    found = re.findall(r"[?&]arg=([^&#]*)", decoded)
    assert re.findall(r"[?&]cmd=([^&#]*)", link) == ["edit"]
    return found[0]


def score(edit: str = "rome-harry-potter-0123456789", **options: object) -> Score:
    return Score(
        edit=edit,
        dataset="d",
        rewrite="r",
        subject="s",
        relation="r",
        prompt="{} r",
        target_true="o",
        target_new="n",
        model="m",
        method="rome",
        options=ScoringOptions.model_validate(options),
        values=[MetricValue(metric="ifr", measure="p", value=0.5, n=1)],
        n_facts=1,
    )


def chain(*facts: str) -> rows.ScoredChainRow:
    links = tuple(rows.Link(fact, "a", "r", "b", "{} r", None, 0.9, 0.8, 0.9) for fact in facts)
    return rows.ScoredChainRow(len(links), (), 0.9, 0.8, 0.9, True, True, links)


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_gets_out_of_its_quotes_or_out_of_the_address(text: str) -> None:
    query = f"MATCH (n {{name: {literal(text)}}})\n  RETURN n"
    link = browser.query_link(BROWSER, query)
    assert arrived(link) == query
    assert re.fullmatch(r"[!-~]+", link)
    assert not set(link) & set('"<>`{}\\')
    written = re.search(r'"(?:[^"\\]|\\.)*"', query)
    assert written is not None
    assert json.loads(written[0]) == text


@pytest.mark.parametrize("edit", HOSTILE)
def test_links_of_a_hostile_edit_hold_its_name_as_a_text_only(edit: str) -> None:
    mine = score(edit)
    links = [q.url for q in browser.question_links(BROWSER, mine)]
    links.append(browser.chain_link(BROWSER, mine, chain(f"{edit}|1", f"{edit}|2")))
    for link in links:
        bare = re.sub(r'"(?:[^"\\]|\\.)*"', '""', arrived(link))
        assert "DELETE" not in bare
        assert "play" not in bare
        assert "&" not in bare


def test_a_chain_is_followed_fact_by_fact() -> None:
    query = browser.chain_query(score("e"), ["e|1", "e|2"])
    assert " ".join(query.split()) == (
        'MATCH chain = () -[:FACT {id: "e|1"}]-> ()-[:FACT {id: "e|2"}]-> () RETURN chain'
    )
    with pytest.raises(UsageError, match="does not belong"):
        browser.chain_query(score("e"), ["other|1"])


def test_links_stay_short() -> None:
    edit = "random-delta-" + "x" * 32 + "-0123456789"
    mine = score(edit, bare="include", threshold=0.0123456)
    for link in browser.question_links(BROWSER, mine, "likelihood_norm"):
        assert len(link.url) < 2500, link.name
    five = chain(*(f"{edit}|{'0' * 16}" for _ in range(5)))
    assert len(browser.chain_link(BROWSER, mine, five)) < 1000
    with pytest.raises(UsageError, match="makes a link of"):
        browser.query_link(BROWSER, "RETURN 1 " * 1000)
    with pytest.raises(UsageError, match="& or #"):
        browser.query_link(BROWSER, "RETURN 1 // #")


def test_questions_carry_the_options_of_the_score() -> None:
    mine = score("e", max_steps=3, bare="exclude", threshold=0.25)
    text = browser.question_query("surviving_chains", mine)
    assert '"exclude"' in text
    assert "<= 3" in text
    assert "ratio > 0.25" in text
    assert '"p"' in text  # the first measure it has
    assert "//" not in text
    links = {link.name: link.url for link in browser.question_links(BROWSER, mine)}
    assert links["surviving_chains"] == browser.query_link(BROWSER, text)
    plain = browser.question_query("surviving_chains", score("e"), "likelihood")
    assert "ratio > 0.01" in plain


@pytest.mark.parametrize(
    ("uri", "address"),
    [
        ("bolt://db:7687", "http://db:7474/browser/"),
        ("neo4j://db", "http://db:7474/browser/"),
        ("bolt://[::1]:7687", "http://[::1]:7474/browser/"),
        ("bolt://db:9999", None),
        ("neo4j+s://x.databases.neo4j.io", None),
    ],
)
def test_where_browser_is(uri: str, address: str | None) -> None:
    assert browser.browser_address(Settings(neo4j_uri=uri)) == address
    told = Settings(neo4j_uri=uri, browser_url="https://b.example/browser")
    assert browser.browser_address(told) == "https://b.example/browser/"


@pytest.mark.parametrize(
    ("uri", "user", "dbms"),
    [
        ("bolt://db:7687", "neo4j", "bolt://neo4j@db:7687"),
        ("neo4j://db", "a@b", "neo4j://a%40b@db"),
        ("bolt://[::1]:7687", "neo4j", "bolt://neo4j@[::1]:7687"),
    ],
)
def test_a_link_fills_in_server_and_user(uri: str, user: str, dbms: str) -> None:
    mine = Settings(neo4j_uri=uri, neo4j_user=user)
    start = browser.browser_start(mine)
    assert start is not None
    assert start.startswith(f"{browser.browser_address(mine)}?dbms=")
    assert unquote(start.partition("?dbms=")[2]) == dbms
    link = browser.query_link(start, 'RETURN "&amp" AS x'.replace("&", "\\u0026"))
    assert arrived(link) == 'RETURN "\\u0026amp" AS x'
    assert link.startswith(f"{start}&cmd=edit&arg=")
    assert browser.login(mine) == browser.Login(user, None)


def test_a_link_names_the_database_that_is_set() -> None:
    mine = Settings(neo4j_uri="bolt://db:7687", neo4j_database="think-eval")
    link = browser.query_link(browser.browser_start(mine) or "", "RETURN 1")
    found = parse_qs(urlsplit(link).query)
    assert (found["dbms"], found["db"]) == (["bolt://neo4j@db:7687"], ["think-eval"])
    assert arrived(link) == "RETURN 1"
    assert browser.login(mine).database == "think-eval"


def test_a_named_address_of_browser_is_left_alone() -> None:
    told = Settings(neo4j_uri="bolt://db:7687", browser_url="https://b.example/browser")
    assert browser.browser_start(told) == "https://b.example/browser/"
    unknown = Settings(neo4j_uri="bolt://db:9999")
    assert browser.browser_start(unknown) is None


def test_the_password_of_the_embedded_server_is_in_a_file(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("THINKEVAL_NEO4J_URI", raising=False)
    mine = Settings(home=tmp_path_factory.mktemp("home"))
    found = browser.login(mine)
    assert found.user == "neo4j"
    assert found.password_file is not None
    assert found.password_file.startswith(str(mine.home))


def test_a_server_that_never_ran_has_no_browser(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("THINKEVAL_NEO4J_URI", raising=False)
    assert browser.browser_address(Settings(home=tmp_path_factory.mktemp("home"))) is None


def test_the_style_is_the_same_in_both_forms() -> None:
    rules = json.loads(style_command().removeprefix("style "))
    assert rules["relationship.FACT"]["caption"] == "{caption}"
    assert rules["node.Subject"]["color"] != rules["node.TargetTrue"]["color"]
    written = style()
    assert set(rules) == set(re.findall(r"^([\w.]+) \{$", written, re.MULTILINE))
    assert sum(map(len, rules.values())) == written.count(";")
    # Special rules come after the general one, or Browser would let the general one win.
    assert list(rules).index("node.Entity") < list(rules).index("node.Subject")


def split_as_browser_does(text: str) -> list[str]:
    """Commands of `browser.post_connect_cmd`: separated by semicolons that are not in quotes."""
    masked = re.sub(r'"[^"]*"', lambda found: found[0].replace(";", "\0"), text)
    return [part.strip().replace("\0", ";") for part in masked.split(";")]


def test_the_embedded_server_sets_browser_up() -> None:
    text = config.configuration(Ports(1, 2), heap="1g", page_cache="64m")
    lines = dict(line.split("=", 1) for line in text.splitlines() if not line.startswith("#"))
    first, style_on, last = split_as_browser_does(lines["browser.post_connect_cmd"])
    assert (first, style_on, last) == ("config autoComplete: false", style_command(), "clear")
    assert lines["browser.remote_content_hostname_whitelist"] == "127.0.0.1,localhost"


@pytest.fixture
def client() -> TestClient:
    app = FastAPI()
    app.include_router(browser_router)
    return TestClient(app, base_url="http://thinkeval.example:8000")


@pytest.mark.parametrize("path", ["/neo4j/guide.html", "/neo4j/thinkeval.grass"])
def test_browser_may_fetch_from_another_origin(client: TestClient, path: str) -> None:
    origin = {"Origin": "http://127.0.0.1:7474"}
    asked = origin | {
        "Access-Control-Request-Method": "GET",
        "Access-Control-Request-Headers": "cache-control,x-requested-with",
    }
    preflight = client.options(path, headers=asked)
    assert preflight.status_code == 204
    assert preflight.headers["access-control-allow-origin"] == "*"
    assert preflight.headers["access-control-allow-headers"] == "cache-control,x-requested-with"
    assert "GET" in preflight.headers["access-control-allow-methods"]
    for method in ("GET", "HEAD"):
        got = client.request(method, path, headers=origin)
        assert got.status_code == 200
        assert got.headers["access-control-allow-origin"] == "*"
    assert client.options(path).status_code == 204


def test_the_guide_asks_the_ten_questions_with_the_text_of_the_files(client: TestClient) -> None:
    page = client.get("/neo4j/guide.html").text
    blocks = [
        html.unescape(b) for b in re.findall(r'<pre class="runnable">(.*?)</pre>', page, re.S)
    ]
    for slide in catalog.questions():
        assert slide.text in blocks
    assert page.count("<slide ") == len(QUESTIONS) + len(RULE_QUESTIONS) + 4
    assert ":play http://thinkeval.example:8000/neo4j/guide.html" in page
    assert ":style http://thinkeval.example:8000/neo4j/thinkeval.grass" in blocks


def test_the_guide_is_about_the_edit_that_is_named(client: TestClient) -> None:
    page = html.unescape(client.get("/neo4j/guide.html", params={"edit": "rome-x-0"}).text)
    assert ':param edit => "rome-x-0";' in page
    command = browser.guide_command("http://h:1/", "rome-x-0")
    assert command == ":play http://h:1/neo4j/guide.html?edit=rome-x-0"
    newest = html.unescape(client.get("/neo4j/guide.html").text)
    assert ":param edit => COLLECT {" in newest


@pytest.mark.parametrize("edit", ['"><script>alert(1)</script>', "a b", "", "x" * 201, "a\nb"])
def test_nothing_but_an_id_gets_into_the_guide(client: TestClient, edit: str) -> None:
    assert client.get("/neo4j/guide.html", params={"edit": edit}).status_code == 422


def test_the_link_of_a_leak_cut_holds_its_facts_and_stays_short() -> None:
    facts = [f"{i:016x}" for i in range(60)]
    link = browser.cut_link(BROWSER, score(), facts, leak=0.2)
    text = arrived(link)
    assert len(link) < 2500
    assert json.dumps(facts[: browser.CUT_FACTS]) in text
    assert "chain.ratio > 0.2" in text
    assert "$" not in text
    for hostile in HOSTILE:
        assert json.loads(
            re.findall(
                r"UNWIND (\[.*\]) AS id",
                arrived(browser.cut_link(BROWSER, score(), [hostile])),
                re.DOTALL,
            )[0]
        ) == [hostile]
