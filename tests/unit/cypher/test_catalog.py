"""Every query file against its own header, and the reading of headers."""

from __future__ import annotations

import re
from typing import Any

import pytest

from support.row_types import read_into
from thinkeval.cypher import rows
from thinkeval.cypher.catalog import (
    Query,
    names,
    parse,
    part_names,
    part_text,
    query,
)
from thinkeval.cypher.errors import (
    MissingProbabilityError,
    QueryContractError,
    UnknownQueryError,
)
from thinkeval.cypher.metric_display import MetricDisplay
from thinkeval.cypher.metric_options import displays, headlines, of_kind
from thinkeval.cypher.rows import reader

QUERIES = [query(name) for name in names()]
HEADER = """// Count the facts.
//
// In two sentences.
// params:
//   $graph       GRAPH_ID                       id of the graph, which
//                                               is needed
//   $max_steps   INTEGER(1..5) = 5              longest chain
//   $bare        STRING(listed|include) = listed
//   $rewrite     STRING|NULL = null             or all
//   $rows        LIST<MAP> = []                 some maps
//   $rows.id     STRING                         with a key

RETURN $graph AS n, [1, 2] AS pair,
  size('a') AS length
ORDER BY n
"""


def code(q: Query) -> str:
    return "\n".join(line for line in q.text.splitlines() if not line.lstrip().startswith("//"))


def fail_if_any(problems: list[str]) -> None:
    """One failure that lists every problem found in the query files."""
    assert not problems, "\n" + "\n".join(problems)


def test_header_and_text_have_the_same_parameters() -> None:
    problems = []
    for q in QUERIES:
        used = set(re.findall(r"\$(\w+)", code(q)))
        if used != set(q.params):
            problems.append(f"{q.name}: {sorted(used ^ set(q.params))} in text or header only")
        if not q.summary.endswith((".", ":")):
            problems.append(f"{q.name}: the summary is no sentence: {q.summary!r}")
        if re.search(r"^(mode|returns):", q.doc, re.M):
            problems.append(f"{q.name}: the header says what the statements say")
        problems += [
            f"{q.name}: ${name} is not explained"
            for name, param in q.params.items()
            if not param.doc
        ]
    fail_if_any(problems)


def test_every_file_reads_well_in_an_editor() -> None:
    problems = []
    texts = {q.name: q.text for q in QUERIES} | {n: part_text(n) or "" for n in part_names()}
    for name, text in texts.items():
        problems += [
            f"{name}, line {number}: {len(line)} characters"
            for number, line in enumerate(text.splitlines(), 1)
            if len(line) > 100
        ]
        if not text.endswith("\n") or text.endswith("\n\n"):
            problems.append(f"{name}: does not end in one line break")
        if "\t" in text:
            problems.append(f"{name}: holds a tab")
    fail_if_any(problems)


# Those of explore/ are for people in Neo4j Browser: they return what it draws; no code reads them.
# The migrations read columns by name, before the database is known to be one of ThinkEval.
RAW = {"schema/version", "schema/indexes", "schema/lock_version"}
RAW |= {"schema/set_version", "schema/set_constraints"}


def test_every_query_is_read_into_rows_with_its_columns() -> None:
    problems = []
    for q in QUERIES:
        if not q.columns or q.name.startswith("explore/") or q.name in RAW:
            continue
        types = read_into(q.name)
        if not types:
            problems.append(f"{q.name}: no call reads it")
        for each in types:
            try:
                reader(each, q.name)
            except QueryContractError as error:
                problems.append(str(error))
    fail_if_any(problems)


@pytest.mark.parametrize(
    ("name", "row_type", "complaint"),
    [
        ("chains/known", rows.ChainRow, "returns other columns than ChainRow has"),
        ("chains/enumerate", int, "does not return one column"),
        ("chains/enumerate", rows.ScoredChainRow, "returns other columns"),
        ("graph/list_graphs", rows.CompleteGraphRow, "returns other columns"),
        ("edits/page_edits", rows.GetEditRow, "returns other columns"),
        ("metrics/ifr", rows.MissingRow, "returns other columns"),
        ("metrics/ifr", tuple, "has no fields"),
    ],
)
def test_a_type_with_other_fields_is_found(name: str, row_type: type[Any], complaint: str) -> None:
    with pytest.raises(QueryContractError, match=complaint):
        reader(row_type, name)


def test_a_null_is_refused_where_the_row_type_has_none() -> None:
    counted = reader(rows.KnownChainsRow, "chains/known")
    assert counted.row(["r", 3, 1]) == rows.KnownChainsRow("r", 3, 1)
    with pytest.raises(MissingProbabilityError, match="known is null in the row of id 'r'"):
        counted.row(["r", 3, None])
    with pytest.raises(QueryContractError, match="KnownChainsRow does not allow"):
        counted.row([None, 3, 1])
    with pytest.raises(QueryContractError, match="int does not allow"):
        reader(int, "edits/count_edits").row([None])


def test_lists_become_tuples_and_maps_records() -> None:
    link = dict.fromkeys(("id", "subject", "relation", "object", "prompt", "question"), "x")
    link |= {"pre": 0.5, "post": 0.2, "ratio": None}
    chain = reader(rows.ScoredChainRow, "chains/scored").row(
        [1, ["s", "o"], 0.5, 0.2, None, True, True, [link]]
    )
    assert (chain.entities, chain.links) == (("s", "o"), (rows.Link(**link),))


def test_metrics_declare_what_they_are() -> None:
    problems = []
    pool = {"cases", "max_steps", "pre", "post", "bare", "threshold", "unit", "parallel"}
    pool |= {"rule", "known", "known_chain"}
    for metric in map(query, names("metrics/")):
        if metric.mode != "read":
            problems.append(f"{metric.name}: mode {metric.mode}")
        if metric.higher_is_better not in ("yes", "no", "neither"):
            problems.append(f"{metric.name}: higher-is-better {metric.higher_is_better}")
        if not metric.source:
            problems.append(f"{metric.name}: no source")
        if "cases" not in metric.params or set(metric.params) - pool:
            problems.append(f"{metric.name}: takes {sorted(metric.params)}")
        problems += [
            f"{metric.name}: ${name} has no default"
            for name, param in metric.params.items()
            if name != "cases" and param.required
        ]
    fail_if_any(problems)


def test_a_header_is_read_whole() -> None:
    q = parse("graph/count", HEADER)
    assert q.summary == "Count the facts."
    assert q.doc == "Count the facts.\n\nIn two sentences."
    assert q.mode == "read"
    assert q.params["graph"].doc == "id of the graph, which is needed"
    assert q.params["graph"].required
    assert (q.params["max_steps"].bounds, q.params["max_steps"].default) == ((1, 5), 5)
    assert (q.params["bare"].choices, q.params["bare"].default) == (("listed", "include"), "listed")
    assert (q.params["rewrite"].nullable, q.params["rewrite"].default) == (True, None)
    assert q.params["rows"].default == []
    assert q.params["rows"].fields["id"].type == "STRING"
    assert q.columns == ("n", "pair", "length")


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("//   $rows.id", "// returns: one row\n//   $rows.id", "belongs to no field"),
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


METRIC = HEADER.replace(
    "// params:",
    "// higher-is-better: yes\n// source: a paper\n// headline: yes\n// order: 7\n// short: facts\n"
    "// meaning: how many facts; good: 5\n// integer: yes\n// params:",
    1,
)


def test_a_metric_says_how_tables_show_it() -> None:
    display = parse("metrics/count", METRIC).display
    assert display == MetricDisplay(
        headline=True,
        order=7,
        short="facts",
        meaning="how many facts; good: 5",
        integer=True,
        interval=False,
        kinds=("replace", "forget"),
        over="fact",
    )
    assert display is not None
    assert display.title == "Facts"
    assert parse("graph/count", HEADER).display is None
    both = METRIC.replace("integer: yes", "kinds: replace, append")
    found = parse("metrics/count", both).display
    assert found is not None
    assert found.kinds == ("replace", "append")


def test_metrics_of_an_old_fact_are_not_of_appended_answers() -> None:
    assert of_kind("append") == {"efficacy", "generalization", "preservation"}
    forgotten = {"forgetting", "leak_at_1", "leak_at_5", "leak_at_100"}
    assert of_kind("replace") == set(displays()) - forgotten
    assert forgotten < of_kind("forget")
    assert of_kind("forget").isdisjoint({"efficacy", "generalization", "counterfact_score"})
    assert {"ifr", "preservation", "subject_retention", "active_chains"} < of_kind("forget")


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("headline: yes", "headline: 1", "`headline:` is '1'"),
        ("integer: yes", "integer: true", "`integer:` is 'true'"),
        ("integer: yes", "kinds: append, other", "not of replace, append"),
        ("order: 7", "order: first", "`order:` is 'first'"),
        ("// short: facts\n", "", "needs `short:`"),
        ("// meaning: how many facts; good: 5\n", "", "`meaning:`"),
        ("headline: yes\n// order: 7\n// short: facts", "interval: yes", "needs `short:`"),
    ],
)
def test_a_broken_display_field_is_refused(old: str, new: str, complaint: str) -> None:
    assert old in METRIC
    with pytest.raises(QueryContractError, match=complaint):
        parse("metrics/count", METRIC.replace(old, new))


def test_only_metrics_have_display_fields() -> None:
    with pytest.raises(QueryContractError, match="field of metrics only"):
        parse("graph/count", METRIC)


def test_tables_list_the_headline_metrics_in_order() -> None:
    expected = (
        "forgetting",
        "leak_at_1",
        "leak_at_5",
        "leak_at_100",
        "efficacy",
        "generalization",
        "ifr",
        "preservation",
        "preservation_symmetric",
        "subject_retention",
        "ifr_beyond_subject",
        "active_chains",
        "deep_edited",
    )
    assert headlines() == expected
    orders = [display.order for display in displays().values() if display.headline]
    assert len(set(orders)) == len(orders)
    assert list(displays())[: len(expected)] == list(expected)
    assert {name for name, each in displays().items() if each.integer} >= {
        "active_chains",
        "deep_edited",
    }


def test_an_unknown_name_is_answered_with_near_ones() -> None:
    with pytest.raises(UnknownQueryError, match=r"did you mean.*chains/enumerate") as caught:
        query("chains/enumarate")
    assert caught.value.remedy


def test_the_digest_follows_the_statements_and_not_the_header() -> None:
    one = parse("graph/count", HEADER)
    assert one.digest == parse("graph/count", HEADER.replace("sentences", "words")).digest
    assert one.digest != parse("graph/count", HEADER.replace("[1, 2]", "[1, 3]")).digest


@pytest.mark.parametrize(
    ("body", "mode", "columns"),
    [
        ("MATCH (s)\nRETURN DISTINCT s.a AS a, [s.b, 1] AS b\nLIMIT 1", "read", ("a", "b")),
        ("CALL () {\n  RETURN 1 AS x\n}\nRETURN x", "read", ("x",)),
        ("MATCH (s) SET s.a = 1", "write", ()),
        ("MATCH (s) CALL (s) {\n  DELETE s\n} IN TRANSACTIONS", "autocommit", ()),
        ("GRANT ROLE reader TO $name", "write", ()),
        ("// SET nothing\nSHOW INDEXES", "read", ()),
    ],
)
def test_mode_and_columns_are_those_of_the_statements(
    body: str, mode: str, columns: tuple[str, ...]
) -> None:
    found = parse("graph/count", f"// Count.\n\n{body}\n")
    assert (found.mode, found.columns) == (mode, columns)
