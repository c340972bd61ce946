"""Links that open Neo4j Browser with a query in its editor, ready to run.

Browser takes a query from its address (`?cmd=edit&arg=`), the server and user to log in with
(`dbms=`), and with these the database (`db=`), but no parameters, so values go in as literals
(thinkeval.cypher.browser.literal). It
decodes the whole address before it looks for the end of the query, so no query can hold `&` or `#`;
within literals they are written as escapes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from ... import cypher
from ...cypher.browser import filled, literal
from ..base.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...cypher.rows import ScoredChainRow
    from ..base.settings import Settings
    from ..models.edit import Measure, Score


LIMIT = 7_500
"""Longest link, in characters; Neo4j's web server was seen to take 8,500. Those to chains and
questions stay below 2,500, only whole metrics are longer."""

_PLAIN = "()*,:;/!$'@~"
"""Characters that mean nothing in the query part of an address; the link stays shorter so."""


@dataclass(frozen=True, slots=True)
class QuestionLink:
    """One of the ten questions, put to one edit; `name` is its file in cypher/explore/."""

    name: str
    question: str
    url: str


def browser_address(settings: Settings) -> str | None:
    """The address of Neo4j Browser, ending in a slash; None if unknown.

    THINKEVAL_BROWSER_URL names it. Without it the embedded server serves its own, and a server with
    Bolt on its usual port and without encryption has it beside that port. Aura has another Browser,
    at another place.
    """
    if settings.browser_url:
        return settings.browser_url.rstrip("/") + "/"
    if settings.neo4j_uri:
        parts = urlsplit(settings.neo4j_uri)
        if parts.scheme not in ("bolt", "neo4j") or parts.port not in (None, 7687):
            return None
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        return f"http://{host}:7474/browser/"
    from ...cypher.embedded.config import LOOPBACK
    from ..base.database import embedded_server

    # Not its status, which asks the server a query: pages want the address in no time.
    record = embedded_server(settings).home.read_record()
    return f"http://{LOOPBACK}:{record.http_port}/browser/" if record else None


@dataclass(frozen=True, slots=True)
class Login:
    """The login that Neo4j Browser asks for when it is opened for the first time.

    Attributes:
        password_file: of the embedded server; None for a server of the user's own.
        database: the one that is set; None for the server's default.
    """

    user: str
    password_file: str | None
    database: str | None = None


def login(settings: Settings) -> Login:
    """User, place of the password and database for the server of these settings."""
    if settings.neo4j_uri:
        return Login(settings.neo4j_user, None, settings.neo4j_database)
    from ...cypher.embedded.process import USER
    from ..base.database import embedded_server

    password_file = str(embedded_server(settings).home.password_file)
    return Login(USER, password_file, settings.neo4j_database)


def browser_start(settings: Settings) -> str | None:
    """The address of Neo4j Browser that fills in server, user and, where one is set, the database.

    None if it is unknown. An address of THINKEVAL_BROWSER_URL is left as it is: the browser may
    reach the server by another name than this program does.
    """
    address = browser_address(settings)
    if address is None or settings.browser_url:
        return address
    if settings.neo4j_uri:
        server = urlsplit(settings.neo4j_uri)
        scheme, place = server.scheme, server.netloc.rpartition("@")[2]
    else:
        from ...cypher.embedded.config import LOOPBACK
        from ..base.database import embedded_server

        record = embedded_server(settings).home.read_record()
        if record is None:
            return address
        scheme, place = "bolt", f"{LOOPBACK}:{record.bolt_port}"
    user = quote(login(settings).user, safe="")
    start = f"{address}?dbms={quote(f'{scheme}://{user}@{place}', safe='')}"
    named = settings.neo4j_database
    return f"{start}&db={quote(named, safe='')}" if named else start


def query_link(browser: str, text: str) -> str:
    """The address at which Browser has this Cypher in its editor.

    Args:
        browser: its address, as `browser_start` or `browser_address` has it.

    Raises:
        UsageError: the text cannot travel in an address, or would make it longer than LIMIT.
    """
    if "&" in text or "#" in text:
        raise UsageError(
            "A query with & or # cannot be put into a link to Neo4j Browser, which ends it there.",
            remedy="Write them as \\u0026 and \\u0023 within a text, or paste the query.",
        )
    arg = "+".join(quote(word, safe=_PLAIN) for word in text.strip().split(" "))
    address, _, start = browser.partition("?")
    start = f"{start}&" if start else ""
    link = f"{address.rstrip('/')}/?{start}cmd=edit&arg={arg}"
    if len(link) > LIMIT:
        raise UsageError(
            f"The query makes a link of {len(link)} characters; {LIMIT} are allowed.",
            remedy="Paste it into Neo4j Browser instead.",
        )
    return link


def start_link(browser: str) -> str:
    """Return the address at which Browser lists the stored graphs, the first question of the guide.

    Args:
        browser: its address, as `browser_start` has it.
    """
    return query_link(browser, filled(f"{FOLDER}{next(iter(QUESTIONS))}"))


def chain_link(browser: str, score: Score, chain: ScoredChainRow) -> str:
    """Draws exactly this chain of the edit's graph."""
    return query_link(browser, chain_query(score, [link.id for link in chain.links]))


def chain_query(score: Score, facts: Sequence[str]) -> str:
    """The Cypher that returns the path over these facts (their ids in the database), in order.

    Raises:
        UsageError: a fact is of another graph than the edit's.
    """
    for fact in facts:
        if not fact.startswith(f"{score.edit}|"):
            raise UsageError(f"The fact {fact!r} does not belong to edit {score.edit!r}.")
    path = "".join(f"-[:FACT {{id: {literal(fact)}}}]->\n  ()" for fact in facts)
    return f"MATCH chain = ()\n  {path}\nRETURN chain"


def question_links(
    browser: str, score: Score, measure: Measure | None = None
) -> list[QuestionLink]:
    """The ten questions of the guide, put to this edit."""
    return [
        QuestionLink(name, question, query_link(browser, question_query(name, score, measure)))
        for name, question in QUESTIONS.items()
    ]


def question_query(name: str, score: Score, measure: Measure | None = None) -> str:
    """A query of cypher/explore/ with the values of this score in place of its parameters."""
    return filled(f"{FOLDER}{name}", **question_params(name, score, measure))


def question_params(name: str, score: Score, measure: Measure | None = None) -> dict[str, Any]:
    """The parameters of a query of cypher/explore/ that a score decides."""
    chosen = measure or score.measures[0]
    pool = {
        "edit": score.edit,
        "measure": chosen,
        "threshold": score.options.threshold_for(chosen),
        "max_steps": score.options.max_steps,
        "bare": score.options.bare,
        **score.options.counted,
    }
    return {key: value for key, value in pool.items() if key in params_of(name)}


def cut_link(
    browser: str,
    score: Score,
    facts: Sequence[str],
    *,
    measure: Measure | None = None,
    leak: float = 0.1,
) -> str:
    """Draws the facts of a leak cut, at most CUT_FACTS, each with a chain that it closes.

    Args:
        facts: their ids within the data set.
        leak: retention above which a chain leaks.
    """
    text = filled(
        f"{FOLDER}{CUT}",
        edit=score.edit,
        facts=list(facts[:CUT_FACTS]),
        leak=leak,
        measure=measure or score.measures[0],
        max_steps=score.options.max_steps,
        bare=score.options.bare,
        known=score.options.counted["known"],
        known_chain=score.options.counted["known_chain"],
    )
    return query_link(browser, text)


def guide_command(service: str, edit: str | None = None) -> str:
    """Return the command that plays the guide in Neo4j Browser; for one edit, or for the newest."""
    about = f"?edit={quote(edit, safe='')}" if edit else ""
    return f":play {service.rstrip('/')}/neo4j/guide.html{about}"


FOLDER = "explore/"


QUESTIONS: Mapping[str, str] = {
    "graphs": "Which graphs are there?",
    "edits": "Which edits are there, and how did they score?",
    "surviving_chains": "Which chains survive this edit?",
    "leaking_facts": "Which facts carry most of the leakage?",
    "changed_facts": "What did the edit change?",
    "answers": "What did the model answer, before and after?",
    "collateral": "What else was lost?",
    "ifr_by_hand": "Is the score right?",
    "methods": "Which method edits this fact deepest?",
    "rewrites": "Which rewrites leak most?",
}
"""The questions by the file that answers them, in the order in which the guide asks them."""


RULE_QUESTIONS: Mapping[str, str] = {
    "rules_conclusions": "Which conclusions still follow?",
    "rules_proof": "What proves one of them?",
    "rules_weakened": "Which conclusions lost their ground?",
    "rules_back": "Does a rule lead back to the old object?",
}
"""A chapter of its own: conclusions by If-Then rules, once a closure is stored in the graph."""

CUT = "leak_cut"
"""The query that draws a leak cut, whose facts are a parameter; the guide names it."""

CUT_FACTS = 35
"""Facts of a cut that a link holds, so that it stays below 2,500 characters."""


def params_of(name: str) -> Mapping[str, Any]:
    """Return the parameters of a question's query, by name without `$`."""
    return cypher.query(f"{FOLDER}{name}").params
