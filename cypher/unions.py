"""Unions of metrics: one query of several metrics over chains, which joins their files.

In a query, the lines between `// union: metrics/` and `// end of union` are repeated for each query
of `metrics/` that includes `chains/_chains` or `chains/_scored`, and joined by UNION ALL. In them
`METRIC` is replaced by the metric's name, `// include: METRIC` by the metric's query:

    // union: metrics/
    CALL (c, s, o) {
      // include: METRIC
    }
    RETURN 'METRIC' AS metric, id, step, value, n, excluded
    // end of union

The metric's ORDER BY is left out, as each row that is sorted would count the lists of its case as
memory of its own. Of its includes, `metrics/_cases` is left out, and `chains/_found` and
`chains/_found_scored` are put in the places of `chains/_chains` and `chains/_scored`: they read the
chains of a case `c` from lists, which the query has made before.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping

from .errors import QueryContractError
from .header import body_start
from .includes import INCLUDE

IN_PLACE_OF = {"chains/_chains": "chains/_found", "chains/_scored": "chains/_found_scored"}
"""Parts that read the chains of a case from a list, by the part that enumerates them."""

_CASES = "metrics/_cases"
_UNION = re.compile(
    r"^(?P<indent> *)// union: metrics/\n(?P<lines>.*?)\n *// end of union$",
    re.DOTALL | re.MULTILINE,
)
_QUERY = re.compile(r"^(?P<indent> *)// include: METRIC$", re.MULTILINE)
_ORDER = "ORDER BY "


def over_chains(texts: Mapping[str, str]) -> list[str]:
    """The names of the queries whose text includes the chains of a case, in their order."""
    return [
        name
        for name, text in texts.items()
        if any(_part(line) in IN_PLACE_OF for line in text.split("\n"))
    ]


def is_union(text: str) -> bool:
    """Return True if a query's text holds a union of metrics."""
    return bool(_UNION.search(text))


def joined(name: str, text: str, metrics: Mapping[str, str]) -> str:
    """The text of a query with its union written out; its includes are not resolved.

    Args:
        name: name of the query, for errors.
        metrics: texts of the files of the metrics, by name, such as `metrics/ifr`.

    Raises:
        QueryContractError: the lines to repeat do not include the metric.
    """

    def union(found: re.Match[str]) -> str:
        lines = found["lines"]
        if not _QUERY.search(lines):
            raise QueryContractError(f"{name}: the union lacks the line `// include: METRIC`.")
        join = f"\n{found['indent']}UNION ALL\n"
        return join.join(_of(metric, metrics[metric], lines) for metric in over_chains(metrics))

    return _UNION.sub(union, text)


def _of(metric: str, text: str, lines: str) -> str:
    """The lines of a union for one metric."""
    body = "\n".join(
        line.replace(part, IN_PLACE_OF[part]) if (part := _part(line)) in IN_PLACE_OF else line
        for line in text.rstrip("\n").split("\n")[body_start(text) :]
        if not line.startswith(_ORDER) and _part(line) != _CASES
    )
    with_query = _QUERY.sub(lambda found: textwrap.indent(body, found["indent"]), lines)
    return with_query.replace("METRIC", metric)


def _part(line: str) -> str | None:
    """The part that a line includes, if it does."""
    found = INCLUDE.fullmatch(line)
    return found["part"] if found else None
