"""Every query file against its own header, and the reading of headers."""

from __future__ import annotations

import re
from dataclasses import fields
from importlib import resources
from typing import get_type_hints

import pytest

from cypher import rows
from cypher.catalog import MODES, REQUIRED, Query, names, parse, query
from cypher.errors import QueryContractError, UnknownQueryError

QUERIES = [query(name) for name in names()]
RETURNING = [q for q in QUERIES if q.columns]
ROW_TYPES = [
    each
    for each in vars(rows).values()
    if isinstance(each, type) and issubclass(each, rows.Row) and each.QUERY
]
PYTHON = {
    "STRING": str,
    "INTEGER": int,
    "FLOAT": float,
    "BOOLEAN": bool,
    "LIST<STRING>": tuple[str, ...],
    "LIST<FLOAT>": tuple[float, ...],
    "LIST<MAP>": tuple[rows.Link, ...],
}
MIXED = tuple[rows.MixedLink, ...]
"""Links of chains over facts and conclusions."""
HEADER = """// Count the facts.
//
// In two sentences.
//
// mode: read
// params:
//   $graph       GRAPH_ID                       id of the graph, which
//                                               is needed
//   $max_steps   INTEGER(1..5) = 5              longest chain
//   $bare        STRING(listed|include) = listed
//   $rewrite     STRING|NULL = null             or all
//   $rows        LIST<MAP> = []                 some maps
//   $rows.id     STRING                         with a key
// returns: one row
//   n            INTEGER|NULL                   facts

RETURN $graph AS n
"""


def code(q: Query) -> str:
    return "\n".join(line for line in q.text.splitlines() if not line.lstrip().startswith("//"))


def returned(q: Query) -> list[str]:
    """The aliases of the last RETURN, by splitting at the commas outside all brackets."""
    last = code(q).rsplit("\nRETURN ", 1)[1]
    last = re.split(r"\n(?:ORDER BY|LIMIT)\b", last)[0]
    depth, parts = 0, [""]
    for letter in last:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [re.split(r"\sAS\s", part.strip())[-1].strip() for part in parts]


def test_the_queries_the_design_asks_for_are_there() -> None:
    wanted = [
        "schema/constraints",
        "graph/merge_graph",
        "graph/merge_entities",
        "graph/merge_facts",
        "graph/merge_rewrites",
        "graph/complete_graph",
        "graph/list_graphs",
        "graph/get_graph",
        "graph/delete_graph",
        "graph/facts",
        "graph/entities",
        "graph/list_rewrites",
        "graph/get_rewrite",
        "edits/merge_edit",
        "edits/update_edit",
        "edits/get_edit",
        "edits/list_edits",
        "edits/delete_edit",
        "probes/facts_in_scope",
        "probes/write_probabilities",
        "chains/enumerate",
        "chains/scored",
        "chains/leakage",
        "metrics/ifr",
        "metrics/ifr_by_steps",
        "metrics/ifr_published",
        "metrics/preservation",
        "metrics/active_chains",
        "metrics/deep_edited",
        "metrics/efficacy",
        "metrics/efficacy_score",
        "metrics/generalization",
        "metrics/chains_by_steps",
    ]
    assert not set(wanted) - set(names())


@pytest.mark.parametrize("q", QUERIES, ids=lambda q: q.name)
def test_header_and_text_have_the_same_parameters(q: Query) -> None:
    assert set(re.findall(r"\$(\w+)", code(q))) == set(q.params)
    assert q.summary.endswith((".", ":"))
    assert q.mode in MODES
    for name, param in q.params.items():
        assert param.doc, f"${name} is not explained"


@pytest.mark.parametrize("q", QUERIES, ids=lambda q: q.name)
def test_every_file_reads_well_in_an_editor(q: Query) -> None:
    assert max(len(line) for line in q.text.splitlines()) <= 100
    assert q.text.endswith("\n")
    assert not q.text.endswith("\n\n")
    assert "\t" not in q.text


@pytest.mark.parametrize("q", RETURNING, ids=lambda q: q.name)
def test_header_and_return_have_the_same_columns(q: Query) -> None:
    assert returned(q) == list(q.columns)
    assert q.returns


# Those of explore/ are for people in Neo4j Browser: they return what it draws; no code reads them.
READ_BY_CODE = [q for q in RETURNING if not q.name.startswith("explore/")]


@pytest.mark.parametrize("q", READ_BY_CODE, ids=lambda q: q.name)
def test_every_query_has_one_row_type_with_its_columns(q: Query) -> None:
    if q.name.startswith("metrics/"):
        row_type = rows.MetricRow
    else:
        (row_type,) = [each for each in ROW_TYPES if q.name == each.QUERY]
    assert [f.name for f in fields(row_type)] == list(q.columns)
    hints = get_type_hints(row_type)
    for name, column in q.columns.items():
        expected = MIXED if q.name == "closure/mixed" and name == "links" else PYTHON[column.type]
        assert hints[name] == (expected | None if column.nullable else expected), name


def test_every_row_type_has_a_query() -> None:
    assert {each.QUERY for each in ROW_TYPES} <= set(names())
    assert len({each.QUERY for each in ROW_TYPES}) == len(ROW_TYPES)


@pytest.mark.parametrize("name", names("metrics/"))
def test_metrics_declare_what_they_are(name: str) -> None:
    metric = query(name)
    assert metric.mode == "read"
    assert metric.higher_is_better in ("yes", "no", "neither")
    assert metric.source
    pool = {"cases", "max_steps", "pre", "post", "bare", "threshold", "unit"}
    assert "cases" in metric.params
    assert not set(metric.params) - pool
    assert all(metric.params[p].default is not REQUIRED for p in set(metric.params) - {"cases"})


def test_what_several_queries_share_is_the_same_text() -> None:
    """Cypher has no include: what a chain is stands in many files, and must not drift apart."""

    def block(q: Query, first: str, last: str) -> str | None:
        if first not in q.text:
            return None
        text = q.text[q.text.index(first) :]
        return "\n".join(line.strip() for line in text[: text.index(last)].splitlines())

    for first, last in (
        ("// All paths of 1..$max_steps", "{1,2} (o)"),
        ("// Chains:", "size(r) > 1"),
        ("// One chain an entity sequence", "END AS links"),
        ("OPTIONAL MATCH (s:Entity {key: c.graph + '|' + c.subject})\n", "CALL (c, s, o)"),
    ):
        blocks = {q.name: found for q in QUERIES if (found := block(q, first, last))}
        assert len(blocks) >= 5
        assert len(set(blocks.values())) == 1, f"{first} differs among {sorted(blocks)}"


def test_a_header_is_read_whole() -> None:
    q = parse("graph/count", HEADER)
    assert q.summary == "Count the facts."
    assert q.doc == "Count the facts.\n\nIn two sentences."
    assert q.mode == "read"
    assert q.params["graph"].doc == "id of the graph, which is needed"
    assert q.params["graph"].default is REQUIRED
    assert (q.params["max_steps"].bounds, q.params["max_steps"].default) == ((1, 5), 5)
    assert (q.params["bare"].choices, q.params["bare"].default) == (("listed", "include"), "listed")
    assert (q.params["rewrite"].nullable, q.params["rewrite"].default) == (True, None)
    assert q.params["rows"].default == []
    assert q.params["rows"].fields["id"].type == "STRING"
    assert (q.columns["n"].type, q.columns["n"].nullable) == ("INTEGER", True)
    assert q.statements == ("RETURN $graph AS n",)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("mode: read", "mode: reads", "mode is 'reads'"),
        ("// params:\n", "", "belongs to no field|lacks"),
        ("$graph       GRAPH_ID", "graph       GRAPH_ID", "lacks its"),
        ("$graph       GRAPH_ID", "$graph       graph id", "cannot be read"),
        ("= 5 ", "= five ", "default of"),
        ("$rows        LIST<MAP>", "$rows        LIST<STRING>", "has keys but"),
    ],
)
def test_a_broken_header_is_refused(old: str, new: str, complaint: str) -> None:
    assert old in HEADER
    with pytest.raises(QueryContractError, match=complaint):
        parse("graph/count", HEADER.replace(old, new))


def test_a_metric_without_a_source_is_refused() -> None:
    with pytest.raises(QueryContractError, match="source"):
        parse("metrics/count", HEADER)


def test_an_unknown_name_is_answered_with_near_ones() -> None:
    with pytest.raises(UnknownQueryError, match=r"did you mean.*chains/enumerate") as caught:
        query("chains/enumarate")
    assert caught.value.remedy


def test_the_digest_follows_the_text() -> None:
    one, other = parse("graph/count", HEADER), parse("graph/count", HEADER + " ")
    assert one.digest == parse("graph/count", HEADER).digest
    assert one.digest != other.digest


def test_all_files_are_in_the_package() -> None:
    packaged = sum(
        file.name.endswith(".cypher")
        for folder in resources.files("cypher").iterdir()
        if folder.is_dir()
        for file in folder.iterdir()
    )
    assert packaged == len(names()) == len(QUERIES)
