"""Comparisons that 0.2 stored, as this version reads them.

A comparison of two states has one state now. A line of states (`lasting`) was stored beside its
comparisons; a migration puts them into one record, `{"line": ..., "states": [...]}`.
"""

from __future__ import annotations

from typing import Any


def request(value: dict[str, Any]) -> dict[str, Any]:
    """A request of two states as one of a base and its states."""
    if "before" not in value or "after" not in value:
        return value
    rest = {name: each for name, each in value.items() if name not in ("before", "after")}
    return {"base": value["before"], "states": [value["after"]], **rest}


def result(value: dict[str, Any]) -> dict[str, Any]:
    """A stored result in the shape of this version; one that has it already stays as it is."""
    if "line" in value:
        return _of_line(value["line"], value["states"])
    if "states" in value:
        return value
    state = {name: value[name] for name in value if name not in _OUTER}
    state |= {side: renamed(value[side]) for side in ("before", "after")}
    state["spec"] = state["after"]["spec"]
    return {name: value[name] for name in _OUTER if name in value} | {
        "id": value["id"], "notes": value.get("notes", []),
        "request": request(value.get("request", {})), "states": [state | {"id": value["id"]}],
    }  # fmt: skip


def renamed(state: dict[str, Any]) -> dict[str, Any]:
    """Return the record of a state with `spec`, which was `word`."""
    return {"spec" if name == "word" else name: value for name, value in state.items()}


_OUTER = ("graph", "n_facts", "request", "created_at", "reused")
"""Fields of the comparison that a state does not have."""


def _of_line(line: dict[str, Any], compared: list[dict[str, Any]]) -> dict[str, Any]:
    """A line of states: its comparisons, with the numbers that it compared with the first."""
    states = []
    for old, of_pair in zip(line["states"], compared, strict=True):
        (state,) = result(of_pair)["states"]
        (asked,) = state["requests"]
        asked = asked | {
            "retention": {
                measure: {name: numbers[name] for name in _KEPT}
                | {"undefined": line["undefined"].get(measure)}
                for measure, numbers in old["numbers"].items()
            }
        }
        update = [old["fine_tune"]] if old.get("fine_tune") else []
        states.append(state | {"spec": old["change"], "requests": [asked], "updates": update})
    names = ("id", "graph", "notes", "request", "created_at")
    return {name: line[name] for name in names} | {
        "states": states, "n_facts": compared[0]["n_facts"]
    }  # fmt: skip


_KEPT = ("retention", "change", "target_true", "reopened")
