"""POST /v1/cypher: a read-only query of the client's own, and its rows."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from .pages.console.answer import (
    LONGEST_QUERY,
    LONGEST_S,
    MOST_ROWS,
    answer,
)
from .problems import DESCRIBED
from .state import Db, InForce

router = APIRouter(prefix="/v1", tags=["console"], responses=DESCRIBED)


class CypherIn(BaseModel):
    """A read-only query."""

    query: Annotated[str, Field(min_length=1, max_length=LONGEST_QUERY)] = Field(
        description="One statement of Cypher; its parameters are written `$name`.",
        examples=["MATCH (e:Edit {id: $edit})-[:REWRITES]->(r) RETURN r.subject AS subject"],
    )
    params: dict[str, Any] = Field(
        default={}, description="Values of its parameters, by name without `$`."
    )
    limit: int = Field(default=100, ge=1, le=MOST_ROWS, description="Rows of the answer at most.")
    timeout_s: float = Field(
        default=10.0,
        gt=0,
        le=LONGEST_S,
        description="Seconds after which the query is stopped; never more than"
        " THINKEVAL_QUERY_TIMEOUT_S.",
    )


class CypherNode(BaseModel):
    """A node in the answer."""

    id: str = Field(description="Id of the node in the database; valid for this answer.")
    labels: tuple[str, ...] = Field(description="Its labels, by name.")
    properties: dict[str, Any] = Field(description="Its properties; long values are cut.")


class CypherRelationship(BaseModel):
    """A relationship in the answer."""

    id: str = Field(description="Id of the relationship in the database; valid for this answer.")
    type: str = Field(description="Its type, such as FACT.")
    source: str = Field(description="Id of the node it starts at.")
    target: str = Field(description="Id of the node it ends at.")
    properties: dict[str, Any] = Field(description="Its properties; long values are cut.")


class CypherOut(BaseModel):
    """The rows of a query, and each node and relationship in them once."""

    columns: tuple[str, ...] = Field(description="Names of the columns, in order.")
    rows: list[list[Any]] = Field(
        description='Values by row and column. `{"node": id}`, `{"relationship": id}` and'
        ' `{"path": [ids]}`, from node to node, refer to entries of the two lists below.'
    )
    nodes: list[CypherNode] = Field(description="Nodes in the rows, in order of appearance.")
    relationships: list[CypherRelationship] = Field(
        description="Relationships in the rows, in order of appearance."
    )
    cut: Literal["rows", "size"] | None = Field(
        description="`rows`: there are more than `limit`. `size`: the answer became too large."
        " null: these are all of them."
    )


@router.post(
    "/cypher",
    response_model=CypherOut,
    summary="Run a read-only Cypher query",
)
def post_cypher(body: CypherIn, db: Db, settings: InForce) -> CypherOut:
    """Runs one query that only reads, with limits on its time and its rows.

    403 if the query writes, changes the schema, administers, fetches files or addresses, or if the
    operator has switched this off (`THINKEVAL_CONSOLE=0`). 422 if the database does not accept it,
    504 if it takes too long.
    """
    found = answer(db, settings, body.query, body.params, body.limit, body.timeout_s)
    return CypherOut(
        columns=found.columns,
        rows=found.rows,
        nodes=[
            CypherNode(id=node.id, labels=node.labels, properties=node.properties)
            for node in found.nodes.values()
        ],
        relationships=[
            CypherRelationship(
                id=edge.id, type=edge.type, source=edge.source, target=edge.target,
                properties=edge.properties,
            )
            for edge in found.edges.values()
        ],
        cut=found.cut,
    )  # fmt: skip
