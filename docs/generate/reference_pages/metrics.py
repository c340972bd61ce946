"""docs/reference/metrics.md: each metric with its formula, meaning, direction and Cypher."""

from __future__ import annotations

from reference_pages.contracts import columns, params_table, prose
from reference_pages.markdown import anchor, blocks, cell, code, details, fence, inline, table
from thinkeval import cypher
from thinkeval.cypher.metric_options import displays

BETTER = {"yes": "higher", "no": "lower", "neither": "neither"}


def page() -> str:
    """The Markdown: a table of all metrics, then one section a metric."""
    shown = displays()
    rows = [
        (
            f"[`{name}`](#{anchor(name)})",
            cell(shown[name].short),
            cell(cypher.query(f"metrics/{name}").summary),
            BETTER[str(cypher.query(f"metrics/{name}").higher_is_better)],
            "yes" if shown[name].headline else "",
            "yes" if shown[name].interval else "",
            ", ".join(shown[name].kinds),
        )
        for name in shown
    ]
    return blocks(
        "# Metrics",
        f"The {len(rows)} metrics of a score, each with its formula, its source, the case in which"
        " it is undefined, and the Cypher query that computes it.",
        "A metric is one file of `cypher/metrics/`. Its row has a `value`, the number `n` of items"
        " it was taken over, and the number `excluded` that could not be counted; a value that is"
        " undefined is null, with its n. `thinkeval db queries metrics/ifr --edit EDIT` prints a"
        " query"
        " with the parameters of an edit, ready for Neo4j Browser. The sampled and the two"
        " teacher-forced probabilities give one value each (measures `p`, `likelihood` and"
        " `likelihood_norm`): `$pre` and `$post` name the properties that are read.",
        table(
            ("Metric", "Label", "What it is", "Better", "Headline", "Interval", "Requests"), rows
        ),
        *(_metric(name) for name in shown),
    )


def _metric(name: str) -> str:
    query, display = cypher.query(f"metrics/{name}"), displays()[name]
    facts = [
        ("Label in tables", cell(display.short)),
        ("Read as", cell(display.meaning)),
        ("Better", BETTER[str(query.higher_is_better)]),
        ("Source", cell(query.source or "")),
        ("Requests", f"to {' and to '.join(display.kinds)} an answer"),
        ("Query", code(query.name)),
    ]
    return blocks(
        f"## {name}",
        prose(query.doc),
        "\n".join(f"- {inline(head)}: {text}" for head, text in facts if text),
        columns(query),
        details("Parameters", params_table(query)),
        details("Cypher", fence(query.text.rstrip(), "cypher")),
    )
