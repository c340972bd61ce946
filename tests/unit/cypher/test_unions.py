"""Unions of metrics: the text that joins the files of metrics, and `chains/metrics` itself."""

from __future__ import annotations

import pytest

from thinkeval.cypher.catalog import names, over_chains, query
from thinkeval.cypher.errors import QueryContractError
from thinkeval.cypher.unions import is_union, joined
from thinkeval.cypher.unions import over_chains as over_chains_of

UNION = """// Several metrics.

CALL (c, s, o) {
// union: metrics/
CALL (c, s, o) {
  // include: METRIC
}
RETURN 'METRIC' AS metric, value
// end of union
}
RETURN metric, value
"""

PRODUCTS = """// The sum of the products.

// include: metrics/_cases
CALL (c, s, o) {
  // include: chains/_scored
  RETURN sum(R) AS value
}
RETURN value
ORDER BY value
"""

LENGTHS = """// The number of paths.

// include: metrics/_cases
CALL (c, s, o) {
  // include: chains/_chains
  WITH collect(r) AS found
  // include: chains/_links
  RETURN size(found) AS value
}
RETURN value
"""

FACTS = """// The number of facts.

// include: metrics/_targets
RETURN count(old) AS value
"""

METRICS = {"metrics/facts": FACTS, "metrics/lengths": LENGTHS, "metrics/products": PRODUCTS}


def test_every_metric_over_chains_is_joined_and_reads_the_chains_from_a_list() -> None:
    assert is_union(UNION)
    assert not is_union(PRODUCTS)
    assert over_chains_of(METRICS) == ["metrics/lengths", "metrics/products"]
    assert (
        joined("chains/some", UNION, METRICS)
        == """// Several metrics.

CALL (c, s, o) {
CALL (c, s, o) {
  CALL (c, s, o) {
    // include: chains/_found
    WITH collect(r) AS found
    // include: chains/_links
    RETURN size(found) AS value
  }
  RETURN value
}
RETURN 'metrics/lengths' AS metric, value
UNION ALL
CALL (c, s, o) {
  CALL (c, s, o) {
    // include: chains/_found_scored
    RETURN sum(R) AS value
  }
  RETURN value
}
RETURN 'metrics/products' AS metric, value
}
RETURN metric, value
"""
    )


def test_a_union_that_includes_no_metric_is_refused() -> None:
    text = UNION.replace("  // include: METRIC\n", "  RETURN 1 AS value\n")
    with pytest.raises(QueryContractError, match=r"chains/some.*// include: METRIC"):
        joined("chains/some", text, METRICS)


def test_the_query_of_all_metrics_over_chains_has_each_once_and_all_their_parameters() -> None:
    whole = query("chains/metrics")
    assert len(over_chains()) >= 9
    for name in names("metrics/"):
        times = whole.text.count(f"RETURN '{name}' AS metric")
        assert times == (name in over_chains()), name
    own = {"metrics"}
    taken = {key: param for name in over_chains() for key, param in query(name).params.items()}
    assert set(whole.params) == set(taken) | own
    for key in taken:
        same = (whole.params[key].default, whole.params[key].choices, whole.params[key].bounds)
        assert same == (taken[key].default, taken[key].choices, taken[key].bounds), key
