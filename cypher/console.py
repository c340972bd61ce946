"""A query of the user's own, which only reads: the console of the web UI and `POST /v1/cypher`.

Two checks keep it from changing anything. The server plans the query first, and a plan that writes,
changes the schema, administers, fetches a file or an address, or ends transactions is refused; then
the query runs in a transaction in read mode, in which the server itself refuses to write, and which
is rolled back. Time, rows and the size of the answer are limited.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, LiteralString, cast

from .driver import neo4j
from .driver_errors import translated
from .errors import InvalidQueryError, QueryTimeoutError, ReadOnlyError

if TYPE_CHECKING:
    from .run import Database

MOST_CHARACTERS = 4_000_000
"""Characters of an answer; further rows are left out."""
MOST_ITEMS, MOST_TEXT = 1_000, 20_000
"""Items of one list or map, and characters of one text; the rest is cut."""
FETCH = 100
"""Rows fetched at a time."""

REFUSED: Mapping[str, str] = {
    "LoadCSV": "LOAD CSV fetches a file or an address",
    "TerminateTransactions": "TERMINATE TRANSACTIONS ends what others run",
    "TransactionForeach": "CALL ... IN TRANSACTIONS commits in between",
    "TransactionApply": "CALL ... IN TRANSACTIONS commits in between",
}
"""Operators that the server counts as reading, with why they are refused."""

PROCEDURES = "db."
"""Procedures whose names begin so may be called if they read; those of APOC load files too."""

KINDS: Mapping[str, str] = {
    "w": "it writes",
    "rw": "it writes",
    "s": "it administers the server or changes the schema",
}
"""Why a query of that type is refused; `r` reads."""

_PREFIX = "EXPLAIN\n"
_PLACE = re.compile(r"line (\d+), column (\d+) \(offset: (\d+)\)")
_OWN = re.compile(r"(?:\s|//[^\n]*\n|/\*.*?\*/)*(?:EXPLAIN|PROFILE)\b", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class AnswerNode:
    """A node of an answer."""

    id: str
    labels: tuple[str, ...]
    properties: dict[str, Any]


@dataclass(frozen=True, slots=True)
class AnswerEdge:
    """A relationship of an answer, between the ids of two nodes."""

    id: str
    type: str
    source: str
    target: str
    properties: dict[str, Any]


@dataclass(slots=True)
class Answer:
    """The rows of a query, and each node and relationship in them once.

    Attributes:
        rows: plain values; `{"node": id}`, `{"relationship": id}` and `{"path": [ids]}` refer to
            entries of `nodes` and `edges`.
        cut: why there are fewer rows than the query has: `rows`, `size`, or None for all.
    """

    columns: tuple[str, ...]
    rows: list[list[Any]] = field(default_factory=list)
    nodes: dict[str, AnswerNode] = field(default_factory=dict)
    edges: dict[str, AnswerEdge] = field(default_factory=dict)
    cut: Literal["rows", "size"] | None = None


def ask(
    db: Database, text: str, params: Mapping[str, Any], *, limit: int, timeout_s: float
) -> Answer:
    """Run a query that only reads.

    Args:
        limit: rows at most.
        timeout_s: time limit of planning and running, in seconds.

    Raises:
        ReadOnlyError: it may change something, or reach a file or another machine.
        InvalidQueryError: the server does not accept it, or it failed.
        QueryTimeoutError: it takes longer than `timeout_s`.
    """
    if _OWN.match(text):
        raise InvalidQueryError(
            "The query begins with EXPLAIN or PROFILE, whose plan cannot be shown here.",
            remedy="Leave that word out, or use Neo4j Browser.",
        )
    sent = dict(params)
    with _explained(timeout_s), db.read_transaction(timeout_s, FETCH) as tx:
        _require_reading(_sent(tx, _PREFIX + text, sent).consume())
        result = _sent(tx, text, sent)
        answer = Answer(tuple(result.keys()))
        reading = _Reading(answer)
        for record in result:
            if len(answer.rows) == limit:
                answer.cut = "rows"
                break
            answer.rows.append([reading.plain(value) for value in record.values()])
            if reading.characters > MOST_CHARACTERS:
                answer.cut = "size"
                break
    return answer


def _sent(tx: neo4j.Transaction, text: str, params: dict[str, Any]) -> neo4j.Result:
    # The driver's types demand a literal text, to prevent composed queries; this one is the user's.
    return tx.run(cast(LiteralString, text), params)


def _require_reading(summary: neo4j.ResultSummary) -> None:
    kind = summary.query_type
    if kind != "r" or not summary.plan:
        raise ReadOnlyError(
            f"The query was not run: {KINDS.get(kind or '', 'its type is unknown')}."
        )
    for operator, details in _operators(summary.plan):
        if operator in REFUSED:
            raise ReadOnlyError(f"The query was not run: {REFUSED[operator]}.")
        if operator == "ProcedureCall" and not details.startswith(PROCEDURES):
            name = details.partition("(")[0]
            raise ReadOnlyError(
                f"The query was not run: it calls {name}, and only procedures of {PROCEDURES}* are"
                " known to read the stored graphs and nothing else."
            )


def _operators(plan: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Name and details of each operator of a plan."""
    name = str(plan["operatorType"]).partition("@")[0]
    yield name, str(plan.get("args", {}).get("Details", ""))
    for child in plan.get("children", ()):
        yield from _operators(child)


@contextmanager
def _explained(timeout_s: float) -> Iterator[None]:
    """Errors as the author of the query can use them."""
    try:
        with translated("your query"):
            try:
                yield
            except (neo4j.exceptions.ClientError, neo4j.exceptions.DatabaseError) as error:
                _raise(error)
                raise
            except (TypeError, ValueError, OverflowError) as error:
                # The driver cannot send a parameter, such as a number of more than 64 bits.
                raise InvalidQueryError(f"A parameter cannot be sent: {error}.") from error
    except QueryTimeoutError as error:
        raise QueryTimeoutError(
            f"The query was stopped after {timeout_s:g} s.",
            remedy="Ask for less (an id to start from, shorter paths), or give it more seconds.",
        ) from error


def _raise(error: neo4j.exceptions.Neo4jError) -> None:
    """Raise what it is if it is about the query; return otherwise."""
    code = error.code or ""
    if code.endswith("Statement.AccessMode"):
        raise ReadOnlyError("The query was not run: it writes.") from error
    if ".Statement." in code or ".Procedure." in code or ".Schema." in code:
        message = _PLACE.sub(_moved, (error.message or str(error)).strip())
        raise InvalidQueryError(message) from error


def _moved(place: re.Match[str]) -> str:
    """A place in the planned text as one in the user's, which has a line less."""
    line, column, offset = (int(part) for part in place.groups())
    if line < 2:
        return place[0]
    return f"line {line - 1}, column {column} (offset: {max(0, offset - len(_PREFIX))})"


class _Reading:
    """Values of the driver as plain ones, with the nodes and relationships met on the way."""

    def __init__(self, answer: Answer) -> None:
        self.answer, self.characters = answer, 0

    def plain(self, value: Any) -> Any:
        if isinstance(value, neo4j.graph.Node):
            return {"node": self._node(value)}
        if isinstance(value, neo4j.graph.Relationship):
            return {"relationship": self._edge(value)}
        if isinstance(value, neo4j.graph.Path):
            ids = [self._node(value.start_node)] if value.start_node is not None else []
            for edge, node in zip(value.relationships, value.nodes[1:], strict=True):
                ids += [self._edge(edge), self._node(node)]
            return {"path": ids}
        if isinstance(value, Mapping):
            pairs = list(value.items())[:MOST_ITEMS]
            return {self._text(str(key)): self.plain(each) for key, each in pairs}
        if isinstance(value, list):  # a duration and a point are tuples
            return [self.plain(each) for each in value[:MOST_ITEMS]]
        return self._scalar(value)

    def _scalar(self, value: Any) -> Any:
        if isinstance(value, float) and not math.isfinite(value):
            return str(value)
        if value is None or isinstance(value, bool | int | float):
            self.characters += 8
            return value
        iso = getattr(value, "iso_format", None)
        return self._text(str(iso() if iso else value))

    def _text(self, text: str) -> str:
        cut = text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}…"
        self.characters += len(cut)
        return cut

    def _properties(self, held: neo4j.graph.Node | neo4j.graph.Relationship) -> dict[str, Any]:
        return {str(key): self.plain(value) for key, value in held.items()}

    def _node(self, node: neo4j.graph.Node) -> str:
        id = node.element_id
        if id not in self.answer.nodes or (node.labels and not self.answer.nodes[id].labels):
            labels = tuple(sorted(node.labels))
            self.answer.nodes[id] = AnswerNode(id, labels, self._properties(node))
        return id

    def _edge(self, edge: neo4j.graph.Relationship) -> str:
        id = edge.element_id
        if id not in self.answer.edges:
            ends = [node.element_id if node else "" for node in (edge.start_node, edge.end_node)]
            properties = self._properties(edge)
            self.answer.edges[id] = AnswerEdge(id, edge.type, ends[0], ends[1], properties)
        return id
