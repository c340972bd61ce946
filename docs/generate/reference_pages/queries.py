"""docs/reference/queries.md: the queries of the catalogue that are not metrics."""

from __future__ import annotations

from reference_pages.contracts import columns, folders, params_table, prose
from reference_pages.markdown import anchor, blocks, cell, code, details, table
from thinkeval import cypher
from thinkeval.cypher.catalog import part_names, part_text
from thinkeval.cypher.includes import read_part

SUBJECTS = {
    "access": "Named tokens of the services of a database.",
    "append": "Answers of requests to append an answer.",
    "backup": "All that a database stores, read for a backup, and written from one.",
    "chains": "Chains of facts from the subject to the old object.",
    "closure": "Forward chaining of rules, Ω, proofs.",
    "depedit": "Knowledge sets and runs of the establish-and-update protocol.",
    "edits": "Stored edits, and their scores.",
    "experiments": "Stored experiments of every kind: co-edits, comparisons, protocols.",
    "explore": "For people, in Neo4j Browser.",
    "forms": "Answers to facts asked in other forms: accuracy, and the outcome of an edit.",
    "checks": "Answers to the questions of a data set, before and after an edit.",
    "graph": "Graphs, entities, facts, rewrite requests.",
    "growth": "Runs that grow a graph from a model, and their review.",
    "jobs": "The queue, workers, leases, sweeps.",
    "leakcut": "Facts that must be edited too.",
    "states": "States of a model compared with a base: drift, routes, chains that open again.",
    "probes": "What is to be asked of a model, and its answers.",
    "rules": "If-Then rules: mining, labels, groundings.",
    "schema": "Constraints, indexes, the server.",
}
"""What the queries of a folder are about."""


def page() -> str:
    """The Markdown: one section a folder, one a query in it; then the shared parts."""
    found = folders()
    total = sum(map(len, found.values()))
    rows = [
        (f"[`{folder}/`](#{anchor(folder)})", str(len(names)), SUBJECTS[folder])
        for folder, names in found.items()
    ]
    return blocks(
        "# Queries",
        f"The {total} Cypher queries of the catalogue besides the [metrics](metrics.md), each with"
        " its parameters and columns.",
        "Every query is one file `cypher/FOLDER/NAME.cypher`. `thinkeval db queries NAME` prints"
        " its"
        " text with all shared parts in place; `GET /v1/queries/{name}` gives the same. Those of"
        " mode `read` change nothing and run in Neo4j Browser; the others are for the program.",
        table(("Folder", "Queries", "Subject"), rows),
        *(_folder(folder, names) for folder, names in found.items()),
        _parts(),
    )


def _folder(folder: str, names: list[str]) -> str:
    return blocks(f"## {folder}", SUBJECTS[folder], *map(_query, names))


def _query(name: str) -> str:
    query = cypher.query(name)
    contract = blocks(params_table(query), columns(query))
    return blocks(
        f"### {name}",
        prose(query.doc),
        details(f"Mode {query.mode}; parameters and columns", contract),
    )


def _parts() -> str:
    rows = []
    for name in part_names():
        part = read_part(name, part_text(name) or "")
        summary = part.doc.split("\n\n")[0]
        params = ", ".join(code(f"${each}") for each in part.params if "." not in each)
        rows.append((code(name), cell(summary), ", ".join(map(code, part.binds)), params))
    return blocks(
        "## Shared parts",
        "Parts that queries include by a line `// include: NAME`; none can be run by itself.",
        table(("Part", "What it does", "Binds", "Parameters"), rows),
    )
