"""Named parts of queries: how includes are resolved, and the parts of this package themselves."""

from __future__ import annotations

import re

import pytest

from thinkeval.cypher.catalog import Query, names, parse, part_names, part_text, query
from thinkeval.cypher.errors import QueryContractError, UnknownQueryError
from thinkeval.cypher.includes import read_part

QUERY = """// Count the facts.
// params:
//   $graph  GRAPH_ID  id of the graph

CALL () {
  // include: graph/_facts
}
RETURN count(f) AS n
"""

FACTS = """// The facts of a graph.
//
// expects: nothing
// binds:
//   f  RELATIONSHIP  a fact

// Ids start with the graph's.
MATCH ()-[f:FACT]->()

// include: graph/_limit
WITH f
"""

LIMIT = """// At most $most facts of $graph.
//
// expects:
//   f  RELATIONSHIP  a fact
// binds:
//   f  RELATIONSHIP  a fact
// params:
//   $most   INTEGER = 5
//         how many
//   $graph  GRAPH_ID  the facts' graph

WHERE f.id STARTS WITH $graph
WITH f LIMIT $most
"""
PARTS = {"graph/_facts": FACTS, "graph/_limit": LIMIT}


def counted(text: str = QUERY, **parts: str) -> Query:
    """The query `graph/count`; `_facts` and `_limit` replace the parts of these names."""
    return parse("graph/count", text, (PARTS | {f"graph/{k}": v for k, v in parts.items()}).get)


def test_an_include_becomes_the_body_of_its_part() -> None:
    declared = QUERY.replace(
        "// params:\n", "// params:\n//   $most   INTEGER = 5\n//         how many\n"
    )
    assert counted().text == declared.replace(
        "  // include: graph/_facts\n",
        "  // Ids start with the graph's.\n"
        "  MATCH ()-[f:FACT]->()\n"
        "\n"
        "  WHERE f.id STARTS WITH $graph\n"
        "  WITH f LIMIT $most\n"
        "  WITH f\n",
    )


def test_the_digest_is_that_of_the_resolved_text() -> None:
    assert counted().digest == parse("graph/count", counted().text).digest
    assert counted().digest != counted(_limit=LIMIT.replace("LIMIT", "SKIP")).digest
    assert counted().digest == counted(_limit=LIMIT.replace("At most", "Up to")).digest


def test_a_part_may_be_included_twice() -> None:
    twice = QUERY.replace("  // include: graph/_facts\n", "  // include: graph/_facts\n" * 2)
    assert counted(twice).text.count("WITH f LIMIT $most") == 2


def test_a_query_takes_the_parameters_of_its_parts() -> None:
    found = counted().params
    assert (found["most"].default, found["most"].doc) == (5, "how many")
    assert found["graph"].doc == "id of the graph"
    without = QUERY.replace("// params:\n//   $graph  GRAPH_ID  id of the graph\n", "")
    assert counted(without).params["graph"].doc == "the facts' graph"


@pytest.mark.parametrize(
    ("old", "new", "parts", "complaint"),
    [
        (
            "graph/_facts",
            "graph/_fact",
            {},
            r"graph/count\.cypher, line 6: there is no part 'graph/_fact'",
        ),
        (
            "",
            "",
            {"_facts": FACTS.replace("_limit", "_limits")},
            r"graph/_facts\.cypher, line 10: there is no part 'graph/_limits'",
        ),
        (
            "",
            "",
            {"_limit": f"{LIMIT}// include: graph/_facts\n"},
            r"graph/_limit\.cypher, line 14: circular include:"
            r" graph/count → graph/_facts → graph/_limit → graph/_facts",
        ),
        (
            "",
            "",
            {"_limit": LIMIT.replace("//   $graph  GRAPH_ID  the facts' graph\n", "")},
            r"graph/_limit\.cypher, line 11: \$graph is not declared",
        ),
        (
            "",
            "",
            {"_limit": LIMIT.replace("// binds:", "// leaves:")},
            r"graph/_limit",
        ),
        (
            "// include: graph",
            "// include:graph",
            {},
            r"count\.cypher, line 6: .*is not a valid include",
        ),
        (
            "  // include",
            "RETURN 1 // include",
            {},
            r"count\.cypher, line 6: .*is not a valid include",
        ),
        ("graph/_facts", "graph/facts", {}, r"count\.cypher, line 6: .*is not a valid include"),
        (
            "// params",
            "// include: graph/_facts\n// params",
            {},
            r"count\.cypher, line 2: an include must be below the header",
        ),
    ],
)
def test_an_include_that_cannot_be_resolved_is_refused(
    old: str, new: str, parts: dict[str, str], complaint: str
) -> None:
    assert old in QUERY
    assert not parts or parts.items() - PARTS.items()
    with pytest.raises(QueryContractError, match=complaint):
        counted(QUERY.replace(old, new, 1), **parts)


def test_parts_are_no_queries() -> None:
    assert not set(part_names()) & set(names())
    for part in part_names():
        with pytest.raises(UnknownQueryError):
            query(part)


def test_every_part_follows_its_contract_and_is_included() -> None:
    problems = []
    texts = {name: query(name).text for name in names()}
    for name in part_names():
        part = read_part(name, part_text(name) or "")
        query_of_it = parse("graph/count", f"// Nothing.\n\n// include: {name}\n")
        whole = query_of_it.text
        used = set(re.findall(r"\$(\w+)", whole.split("\n\n", 1)[1]))
        if used != set(query_of_it.params):
            problems.append(f"{name}: uses {sorted(used)}, declares {sorted(query_of_it.params)}")
        if not part.doc.endswith("."):
            problems.append(f"{name}: the header starts with no sentence")
        problems += [
            f"{name}: {variable} is not in its text"
            for variable in [*part.expects, *part.binds]
            if not re.search(rf"\b{variable}\b", whole.split("\n\n", 1)[1])
        ]
        problems += [f"{name}: {v} is not explained" for v, e in part.binds.items() if not e.doc]
        code = [line.strip() for line in part.body if line.strip() and "//" not in line]
        if not any(all(line in text for line in code) for text in texts.values()):
            problems.append(f"{name}: no query includes it")
    assert not problems, "\n" + "\n".join(problems)


def test_no_include_is_left_in_a_resolved_text() -> None:
    left = [name for name in names() if "include:" in query(name).text]
    assert not left
