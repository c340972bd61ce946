"""Named parts of queries: how includes are resolved, and the parts of this package themselves."""

from __future__ import annotations

import re

import pytest

from thinkeval.cypher.catalog import Query, names, parse, part_names, part_text, query
from thinkeval.cypher.errors import QueryContractError, UnknownQueryError
from thinkeval.cypher.includes import read_part

QUERY = """// Count the facts.
//
// mode: read
// params:
//   $graph  GRAPH_ID  id of the graph
//   $most   INTEGER   how many
// returns: one row
//   n       INTEGER   facts

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
// params: $graph, $most

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
// params: $most, $graph

WHERE f.id STARTS WITH $graph
WITH f LIMIT $most
"""
PARTS = {"graph/_facts": FACTS, "graph/_limit": LIMIT}


def counted(text: str = QUERY, **parts: str) -> Query:
    """The query `graph/count`; `_facts` and `_limit` replace the parts of these names."""
    return parse("graph/count", text, (PARTS | {f"graph/{k}": v for k, v in parts.items()}).get)


def test_an_include_becomes_the_body_of_its_part() -> None:
    assert counted().text == QUERY.replace(
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


@pytest.mark.parametrize(
    ("old", "new", "parts", "complaint"),
    [
        (
            "graph/_facts",
            "graph/_fact",
            {},
            r"graph/count\.cypher, line 11: there is no part 'graph/_fact'",
        ),
        (
            "",
            "",
            {"_facts": FACTS.replace("_limit", "_limits")},
            r"graph/_facts\.cypher, line 11: there is no part 'graph/_limits'",
        ),
        (
            "",
            "",
            {"_limit": f"{LIMIT}// include: graph/_facts\n"},
            r"graph/_limit\.cypher, line 11: circular include:"
            r" graph/count → graph/_facts → graph/_limit → graph/_facts",
        ),
        (
            "//   $most   INTEGER   how many\n",
            "",
            {},
            r"graph/count\.cypher, line 10: graph/_facts uses \$most,"
            r" which the header of graph/count does not declare",
        ),
        (
            "",
            "",
            {"_facts": FACTS.replace("$graph, $most", "$graph")},
            r"graph/_facts\.cypher, line 11: graph/_limit uses \$most,"
            r" which the header of graph/_facts does not declare",
        ),
        (
            "",
            "",
            {"_limit": LIMIT.replace("params: $most, $graph", "params: $most")},
            r"graph/_limit\.cypher, line 9: \$graph is not declared",
        ),
        (
            "",
            "",
            {"_limit": LIMIT.replace("// binds:", "// leaves:")},
            r"graph/_limit",
        ),
        ("", "", {"_limit": LIMIT.replace("// params", "// param")}, r"graph/_limit"),
        (
            "// include: graph",
            "// include:graph",
            {},
            r"count\.cypher, line 11: .*is not a valid include",
        ),
        (
            "  // include",
            "RETURN 1 // include",
            {},
            r"count\.cypher, line 11: .*is not a valid include",
        ),
        ("graph/_facts", "graph/facts", {}, r"count\.cypher, line 11: .*is not a valid include"),
        (
            "// mode",
            "// include: graph/_facts\n// mode",
            {},
            r"count\.cypher, line 3: an include must be below the header",
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
        whole = parse("graph/count", resolving(name, part.params)).text
        used = set(re.findall(r"\$(\w+)", whole.split("\n\n", 1)[1]))
        if used != set(part.params):
            problems.append(f"{name}: uses {sorted(used)}, declares {sorted(part.params)}")
        if not part.doc.split("\n")[0].endswith("."):
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


def resolving(part: str, params: tuple[str, ...]) -> str:
    """A query that declares these parameters and holds nothing but one include."""
    declared = "".join(f"//   ${name}  ANY  a value\n" for name in params)
    return (
        f"// Nothing.\n// mode: read\n// params:\n{declared}// returns: nothing\n\n"
        f"// include: {part}\n"
    )


def test_no_include_is_left_in_a_resolved_text() -> None:
    left = [name for name in names() if "include:" in query(name).text]
    assert not left
