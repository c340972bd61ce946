"""Exchange with py2neo notebooks: a stored graph as a `py2neo.Subgraph`, and back.

py2neo is no longer maintained, so it is an optional extra (`pip install 'thinkeval[py2neo]'`) and
it is not used to talk to the server: the driver reads and writes, py2neo only holds the data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import rows
from .errors import GraphError, ParameterError

if TYPE_CHECKING:
    from py2neo.data import Subgraph

    from .run import Database

_ENDS = ("id", "fact", "subject", "object", "subject_aliases", "object_aliases")


class Py2neoMissingError(GraphError):
    """The optional package py2neo is not installed."""

    remedy = "Install it with: pip install 'py2neo==2021.2.4'"


def to_subgraph(db: Database, graph: str) -> Subgraph:
    """A stored graph as a py2neo Subgraph: `Entity` nodes and `FACT` relationships.

    Nodes have name, aliases and kind; relationships have every property that the stored fact has,
    probabilities included, and `fact`, its id within the graph. An unknown graph gives an empty
    Subgraph.

    Raises:
        Py2neoMissingError: the extra is not installed.
    """
    data = _py2neo()
    nodes = {}
    for entity in db.read(rows.EntityRow, "graph/entities", graph=graph):
        properties = {"name": entity.name, "aliases": list(entity.aliases), "graph": graph}
        if entity.kind is not None:
            properties["kind"] = entity.kind
        nodes[entity.name] = data.Node("Entity", **properties)
    facts = [
        data.Relationship(nodes[row.subject], "FACT", nodes[row.object], **_properties(row))
        for row in db.read(rows.FactRow, "graph/facts", graph=graph)
    ]
    return data.Subgraph(nodes.values(), facts)


def from_subgraph(db: Database, subgraph: Subgraph, graph: str) -> rows.CompleteGraphRow:
    """Store a py2neo Subgraph as a data set graph, in one transaction; returns its counts.

    Nodes need a `name`; relationships of type `FACT` need `relation` and `prompt`, and `fact` (an
    id within the graph) or nothing: then the id is made from subject, relation and object.
    Probabilities are stored if present.

    Raises:
        ParameterError: a node or relationship lacks one of these; nothing is stored.
    """
    _py2neo()
    entities = [_entity(dict(node)) for node in subgraph.nodes]
    facts = [
        _fact(dict(r.start_node), dict(r), dict(r.end_node))
        for r in subgraph.relationships
        if type(r).__name__ == "FACT"
    ]
    with db.transaction() as tx:
        tx.run(rows.MergeGraphRow, "graph/merge_graph", graph=graph, kind="dataset", dataset=graph)
        tx.run(int, "graph/clear_graph", graph=graph)
        tx.run(rows.WrittenRow, "graph/merge_entities", graph=graph, rows=entities)
        tx.run(rows.WrittenRow, "graph/merge_facts", graph=graph, rows=facts)
        return tx.run(rows.CompleteGraphRow, "graph/complete_graph", graph=graph)[0]


def _py2neo() -> Any:
    try:
        import py2neo.data
    except ImportError as error:
        raise Py2neoMissingError("py2neo cannot be imported.") from error
    return py2neo.data


def _properties(row: rows.FactRow) -> dict[str, object]:
    values = {k: v for k, v in vars(row).items() if k not in _ENDS and v is not None}
    values["fact"] = row.fact
    return {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}


def _entity(node: dict[str, Any]) -> dict[str, object]:
    if not node.get("name"):
        raise ParameterError(f"A node of the Subgraph has no name: {node!r}.")
    return {"name": node["name"], "aliases": node.get("aliases"), "kind": node.get("kind")}


def _fact(start: dict[str, Any], values: dict[str, Any], end: dict[str, Any]) -> dict[str, object]:
    lacking = [key for key in ("relation", "prompt") if not values.get(key)]
    ends = (start.get("name"), values.get("relation"), end.get("name"))
    if lacking:
        raise ParameterError(f"The FACT {ends} of the Subgraph has no {' and no '.join(lacking)}.")
    fact = values.pop("fact", None) or ">".join(str(part) for part in ends)
    values.pop("graph", None)
    return {**values, "id": fact, "subject": ends[0], "object": ends[2]}
