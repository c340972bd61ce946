"""The HTML of an audit: one file without scripts, fonts or pictures of elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ...cypher.metric_options import displays, integers
from .. import formatting
from ..graphs.edges import change
from ..schemas import KNOWN, MEASURE_NAMES
from . import drawing
from .drawing import Step

PAGE, DATA, SUMS = "audit.html", "audit.json", "SHA256SUMS"
"""Files of an audit."""

DRAWN = 24
"""Open chains of one request that are drawn; the others are rows of a table."""
LISTED = 300
"""Routes of one table, and facts; the others are in the other files alone."""
SMALL = 0.0005
"""Values below this would be shown as 0.000."""
CHANGED = 60
"""Facts that are shown at once; the others unfold."""


def render(content: dict[str, Any]) -> str:
    """Return the HTML of an audit."""
    header = content["header"]
    measure = header["measure"]
    return _environment().get_template(PAGE).render(
        header=header,
        states=content["states"],
        verdict=content["verdict"],
        requests=[_request(each, content, measure) for each in content["requests"]],
        facts=_facts(content["facts"], measure),
        n_asked=len(content["facts"]),
        drift=sorted(content["drift"], key=lambda each: each["measure"] != measure),
        queries=content["queries"],
        versions=content["versions"],
        measure=measure,
        limit=LISTED,
        floor=content["requests"][0]["routes"][measure]["floor"],
        data=DATA,
        sums=SUMS,
    )  # fmt: skip


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        figure=formatting.number,
        short=formatting.short,
        signed=formatting.signed,
        words=words,
        day=day,
        several=formatting.pluralize,
        plain=plain,
    )
    further: dict[str, Any] = {"names": MEASURE_NAMES, "bars": drawing.bars}
    environment.globals.update(further)
    return environment


def words(relation: str) -> str:
    """A relation as words: data sets write it with hyphens, underscores or spaces."""
    return relation.replace("-", " ").replace("_", " ")


def day(moment: str | None) -> str:
    """An ISO 8601 time to the minute, UTC."""
    return moment[:16].replace("T", " ") if moment else "–"


def plain(value: Any) -> str:
    """Return a value of a record in words; of a record without its empty fields."""
    if isinstance(value, dict):
        given = {key: each for key, each in value.items() if each is not None and each != ""}
        return ", ".join(f"{key} {plain(each)}" for key, each in given.items()) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(plain(each) for each in value) or "none"
    if isinstance(value, float):
        return f"{value:g}"
    if value is None:
        return "none"
    return ("no", "yes")[value] if isinstance(value, bool) else str(value)


def _request(request: dict[str, Any], content: dict[str, Any], measure: str) -> dict[str, Any]:
    """Return a request with everything that is about it."""

    def mine(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [each for each in items if each["request"] == request["edit"]]

    chains, ruled = mine(content["chains"]), mine(content["rule_routes"])
    (verdict,) = mine(content["verdict"]["requests"])
    (rules,), (metrics,) = mine(content["rules"]), mine(content["metrics"])
    alive = [each for each in chains if each["state"] in ("open", "opened")]
    gone = [each for each in chains if each["state"] not in ("open", "opened")]
    return {
        "about": request,
        "verdict": verdict,
        "facts": _facts(mine(content["facts"]), measure)["changed"],
        "metrics": _metric_rows(metrics, measure),
        "leak": metrics.get("leak"),
        "drawn": [(each, _drawn(each, measure)) for each in alive[:DRAWN]],
        "alive": [_row(each, measure) for each in alive[DRAWN : DRAWN + LISTED]],
        "gone": [_row(each, measure) for each in gone[:LISTED]],
        "n": {"alive": len(alive), "gone": len(gone)},
        "rules": rules,
        "ruled": [(each, _ruled(each)) for each in ruled[:LISTED]],
    }


def _drawn(chain: dict[str, Any], measure: str) -> Markup:
    by, names = chain["by"][measure], chain["entities"]
    values = zip(chain["relations"], names[1:], by["before"], by["after"], strict=True)
    return drawing.chain(names[0], [Step(*each) for each in values], chain["state"])


def _row(chain: dict[str, Any], measure: str) -> dict[str, Any]:
    by = chain["by"][measure]
    path = chain["entities"][0] + "".join(
        f" – {relation} → {name}"
        for relation, name in zip(chain["relations"], chain["entities"][1:], strict=True)
    )
    return {
        "path": path.replace("_", " "), "state": chain["state"],
        "before": by["product_before"], "after": by["product_after"],
    }  # fmt: skip


def _ruled(route: dict[str, Any]) -> Markup | None:
    """The drawing of a chain over conclusions; None of a proof, which is a list of premises."""
    if "links" not in route:
        return None
    steps = [
        Step(link["relation"], link["object"], link["pre"], link["post"], link["implied"])
        for link in route["links"]
    ]
    return drawing.chain(route["entities"][0], steps, route["state"])


def _metric_rows(metrics: dict[str, Any], measure: str) -> dict[str, Any]:
    """The headline metrics: label, meaning, and a cell for each measure."""
    shown = displays()
    measures = list(dict.fromkeys(value["measure"] for value in metrics["values"]))
    measures.sort(key=lambda each: each != measure)
    cells = {
        (value["metric"], value["measure"]): value
        for value in metrics["values"]
        if value["step"] is None
    }
    rows = [
        {
            "label": display.short or name.replace("_", " "),
            "meaning": metrics["meanings"].get(name, ""),
            "cells": [_cell(cells.get((name, each))) for each in measures],
        }
        for name, display in shown.items()
        if display.headline and any((name, each) in cells for each in measures)
    ]
    return {"measures": measures, "rows": rows}


def _cell(value: dict[str, Any] | None) -> dict[str, str]:
    """A metric's value with its interval, and the number of items it was taken over."""
    if value is None:
        return {"value": formatting.UNDEFINED, "n": ""}
    number = value["value"]
    if number is not None and value["metric"] in integers():
        number = int(number)
    left_out = f", {value['excluded']} left out" if value["excluded"] else ""
    text = formatting.with_interval(number, value["low"], value["high"])
    if value["low"] is None and number is not None and 0 < number < SMALL:
        text = formatting.short(number)
    return {"value": text, "n": f"n {value['n']}{left_out}"}


def _facts(facts: Iterable[dict[str, Any]], measure: str) -> dict[str, Any]:
    """The facts, changed and unchanged, those that moved most first."""
    rows = [_fact(each, measure) for each in facts]
    rows.sort(key=lambda row: (-row["moved"], row["subject"], row["relation"], row["object"]))
    changed = [row for row in rows if row["change"] not in ("kept", "unknown")]
    others = [row for row in rows if row["change"] in ("kept", "unknown")]
    folded = [*changed[CHANGED:], *others]
    return {
        "changed": changed[:CHANGED] or rows[:1],
        "folded": folded[:LISTED],
        "n_folded": len(folded),
        "n_changed": len(changed),
    }


def _fact(fact: dict[str, Any], measure: str) -> dict[str, Any]:
    values = fact["p"][measure]
    before, after = values["before"], values["after"]
    word, moved = "not measured", 0.0
    if before is not None and after is not None:
        word = "unknown" if before < KNOWN and after < KNOWN else change(before, after)
        moved = abs(after - before)
    names = ("subject", "relation", "object", "role")
    about = {name: fact[name] for name in names}
    return about | {"before": before, "after": after, "change": word, "moved": moved}
