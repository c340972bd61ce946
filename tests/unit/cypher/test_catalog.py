"""Every query file against its own header, and the reading of headers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
from pydantic import BeforeValidator

from support.row_types import read_into
from thinkeval.cypher import rows
from thinkeval.cypher.catalog import (
    MODES,
    REQUIRED,
    Query,
    names,
    parse,
    part_names,
    part_text,
    query,
)
from thinkeval.cypher.errors import QueryContractError, UnknownQueryError
from thinkeval.cypher.metric_display import MetricDisplay
from thinkeval.cypher.metric_options import displays, headlines, of_kind
from thinkeval.cypher.rows import reader

QUERIES = [query(name) for name in names()]
RETURNING = [q for q in QUERIES if q.columns]
PYTHON = {
    "STRING": str,
    "INTEGER": int,
    "FLOAT": float,
    "BOOLEAN": bool,
    "LIST<STRING>": tuple[str, ...],
    "LIST<FLOAT>": tuple[float, ...],
}
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
        if q.mode not in MODES:
            problems.append(f"{q.name}: mode {q.mode!r}")
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


def test_header_and_return_have_the_same_columns() -> None:
    problems = []
    for q in RETURNING:
        if returned(q) != list(q.columns):
            problems.append(f"{q.name}: returns {returned(q)}, the header has {list(q.columns)}")
        if not q.returns:
            problems.append(f"{q.name}: `returns:` does not say what a row is")
    fail_if_any(problems)


# Those of explore/ are for people in Neo4j Browser: they return what it draws; no code reads them.
# The migrations read columns by name, before the database is known to be one of ThinkEval.
RAW = {"schema/version", "schema/indexes", "schema/lock_version"}
RAW |= {"schema/set_version", "schema/set_constraints"}
READ_BY_CODE = [q for q in RETURNING if not q.name.startswith("explore/") and q.name not in RAW]


def as_tuple(hint: Any) -> Any:
    """A model's list is the row's tuple."""
    return tuple[get_args(hint)[0], ...] if get_origin(hint) is list else hint


def field_types(row_type: type[Any]) -> dict[str, tuple[Any, bool]]:
    """For each field of a row type its type, and whether the field needs a column."""
    hints = get_type_hints(row_type)
    if not is_dataclass(row_type):
        about = row_type.model_fields
        # A text of JSON is read into what it holds.
        return {
            name: (
                (str | None if field.annotation and NoneType in get_args(field.annotation) else str)
                if any(isinstance(each, BeforeValidator) for each in field.metadata)
                else as_tuple(hints[name]),
                field.is_required(),
            )
            for name, field in about.items()
        }
    return {
        each.name: (hints[each.name], each.default is MISSING and each.default_factory is MISSING)
        for each in fields(row_type)
    }


def row_problems(q: Query, row_type: type[Any]) -> Iterator[str]:
    """Yield the differences of a query's row type from the columns of its header."""
    where = f"{q.name}: {row_type.__name__}"
    if row_type in rows.PLAIN:
        found = dict.fromkeys(list(q.columns)[:1], (row_type, True))
    else:
        found = field_types(row_type)
    if lacking := [name for name in q.columns if name not in found]:
        yield f"{where} has no field for {lacking}"
        return
    if needed := [name for name, (_, needs) in found.items() if needs and name not in q.columns]:
        yield f"{where} needs {needed}, which the query does not return"
        return
    for name, column in q.columns.items():
        if column.type == "LIST<MAP>":
            record = get_args(found[name][0])[0]
            if found[name][0] != tuple[record, ...] or not field_types(record):
                yield f"{where}.{name} is {found[name][0]}, the header says {column.type}"
            continue
        expected: Any = PYTHON[column.type]
        if column.choices and row_type not in rows.PLAIN:
            expected = Literal[column.choices]
        # A metric may be undefined; whose header says FLOAT must not, which its reader checks.
        nullable = column.nullable or (row_type, name) == (rows.MetricRow, "value")
        if found[name][0] != (expected | None if nullable else expected):
            yield f"{where}.{name} is {found[name][0]}, the header says {column.type}"


def test_every_query_is_read_into_rows_with_its_columns() -> None:
    problems = []
    for q in READ_BY_CODE:
        types = read_into(q.name)
        if not types:
            problems.append(f"{q.name}: no call reads it")
        problems += [problem for each in types for problem in row_problems(q, each)]
    fail_if_any(problems)


@pytest.mark.parametrize(
    ("name", "row_type", "complaint"),
    [
        ("chains/count", rows.ChainRow, "has no field for ['chains']"),
        ("chains/count", float, "is <class 'float'>, the header says INTEGER"),
        ("chains/enumerate", int, "has no field for ['entities', "),
        ("chains/enumerate", rows.ScoredChainRow, "has no field for ['facts', "),
        ("graph/list_graphs", rows.CompleteGraphRow, "has no field for ['kind', "),
        ("depedit/list_runs", rows.ProtocolRunRow, ""),
        ("edits/page_edits", rows.GetEditRow, "needs ['provenance', 'graph', 'posted_as']"),
        ("metrics/ifr", rows.MissingRow, "has no field for ['id', "),
    ],
)
def test_a_type_with_other_fields_is_found(name: str, row_type: type[Any], complaint: str) -> None:
    problems = list(row_problems(query(name), row_type))
    assert any(complaint in each for each in problems) if complaint else not problems
    if not complaint:
        reader(row_type, name)
        return
    if "header says" not in complaint or row_type in rows.PLAIN:
        with pytest.raises(QueryContractError):
            reader(row_type, name)


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
            if name != "cases" and param.default is REQUIRED
        ]
    fail_if_any(problems)


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


def test_the_digest_follows_the_text() -> None:
    one, other = parse("graph/count", HEADER), parse("graph/count", HEADER + " ")
    assert one.digest == parse("graph/count", HEADER).digest
    assert one.digest != other.digest
