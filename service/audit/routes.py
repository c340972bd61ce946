"""Routes to an object that shall be gone: chains of facts, and rules whose premises give it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from ..rules.mixed_chains import Chosen, mixed
from ..rules.omega import kept_rules, omega
from ..rules.schemas import rules_digest
from ..schemas import Measure, Score
from ..scoring.metrics import chain_rows

if TYPE_CHECKING:
    from ...cypher import rows
    from ...cypher.run import Database
    from ..rules.store import StoredRule
    from ..states.schemas import ComparedRequest

MOST = 1000
"""Routes by rules of one request that are listed; all of them are counted."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request of the comparison with its stored score.

    Attributes:
        measure: that its verdict and routes by rules are read by.
        edited: the edited fact, with the old and with the new object if it has one.
    """

    number: int
    asked: ComparedRequest
    score: Score
    measure: Measure
    edited: tuple[rows.FactRow, ...] = ()

    @property
    def edit(self) -> str:
        """Id of its score, by which the entries name it."""
        return self.asked.edit

    @property
    def old(self) -> tuple[float | None, float | None]:
        """The probability of the old object before and after, asked directly."""
        for row in self.edited:
            if row.role == "target_true":
                pre, post = (getattr(row, f"{self.measure}_{side}") for side in ("pre", "post"))
                return pre, post
        return None, None

    def floor(self, measure: Measure) -> float:
        """Product of probabilities above which a route leads to the object."""
        found = self.asked.routes.get(measure)
        return found.floor if found else 0.0


@dataclass(frozen=True, slots=True)
class ByChains:
    """The chains of a request.

    Attributes:
        rows: by the request's own measure.
        entries: data of their entries, strongest after first.
    """

    rows: Sequence[rows.ScoredChainRow]
    entries: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class ByRules:
    """The routes of a request by rules: a summary, and the data of their entries."""

    summary: dict[str, Any]
    entries: list[dict[str, Any]]


def state_of(before: float | None, after: float | None, floor: float) -> str:
    """Return the state of a route: `open`, `opened`, `closed`; `never` if it led nowhere."""
    was, now = ((value or 0.0) > floor for value in (before, after))
    if now:
        return "open" if was else "opened"
    return "closed" if was else "never"


def chains(db: Database, request: Request, measures: Iterable[Measure]) -> ByChains:
    """Every chain of a request with its facts' probabilities in both states, by each measure."""
    found: dict[Measure, list[rows.ScoredChainRow]] = {
        m: chain_rows(db, request.score, m) for m in measures
    }
    mine = found[request.measure]
    others = {m: {row.entities: row for row in listed} for m, listed in found.items()}
    entries = []
    for number, row in enumerate(mine, 1):
        by = {m: _by(request, m, others[m].get(row.entities)) for m in found}
        entries.append({
            "request": request.edit,
            "number": number,
            "facts_in_chain": row.steps,
            "entities": list(row.entities),
            "relations": [link.relation for link in row.links],
            "state": by[request.measure]["state"],
            "by": by,
        })  # fmt: skip
    return ByChains(mine, entries)


def _by(request: Request, measure: Measure, row: rows.ScoredChainRow | None) -> dict[str, Any]:
    """A chain by one measure: facts, their probabilities, the products, its state."""
    if row is None:
        return {"state": "not measured"}
    floor = request.floor(measure)
    return {
        "facts": [link.id.partition("|")[2] for link in row.links],
        "before": [link.pre for link in row.links],
        "after": [link.post for link in row.links],
        "product_before": row.r_pre,
        "product_after": row.r_post,
        "retention": row.ratio,
        "floor": floor,
        "state": state_of(row.r_pre, row.r_post, floor),
    }


def by_rules(db: Database, request: Request) -> ByRules:
    """Proofs of the fact from other facts by the kept rules, and chains over conclusions.

    Where the rules' closure is too large, the summary names the problem, and lists none.
    """
    rules = kept_rules(db, request.score.dataset)
    summary: dict[str, Any] = {
        "request": request.edit,
        "measure": request.measure,
        "rules": [
            {"id": each.id, "text": each.rule.text(), "confidence": each.rule.confidence}
            for each in rules
        ],
        "rules_digest": rules_digest(rules),
        "problem": None,
    }
    if not rules:
        return ByRules(summary | {"routes": 0, "listed": 0, "omega": []}, [])
    try:
        entries, total, counts = _found(db, request, rules)
    except UsageError as error:
        summary |= {"problem": error.detail, "routes": None, "listed": 0, "omega": []}
        return ByRules(summary, [])
    summary |= {"routes": total, "listed": len(entries), "omega": counts}
    return ByRules(summary, entries)


def _found(
    db: Database, request: Request, rules: Sequence[StoredRule]
) -> tuple[list[dict[str, Any]], int, list[dict[str, Any]]]:
    """The routes' data, how many there are, and Omega's counts."""
    measure, floor = request.measure, request.floor(request.measure)
    proved = omega(db, request.score, measure, rules, most=MOST)
    over = mixed(db, request.score, measure, rules, Chosen(limit=MOST))
    found = [
        {
            "form": "proof",
            "facts": proof.leaves,
            "rule": proof.rule,
            "text": proof.text,
            "before": proof.strength_pre,
            "after": proof.strength_post,
            "proof": proof.model_dump(),
        }
        for proof in proved.proofs
    ]
    found += [
        {
            "form": "chain over conclusions",
            "facts": chain.steps,
            "entities": chain.entities,
            "before": chain.r_pre,
            "after": chain.r_post,
            "links": chain.model_dump(mode="json")["links"],
        }
        for chain in over.items
    ]
    entries = [
        {
            "request": request.edit,
            "number": number,
            "measure": measure,
            "floor": floor,
            "state": state_of(each["before"], each["after"], floor),
            **each,
        }
        for number, each in enumerate(found, 1)
    ]
    counts = [
        {"kind": item.kind, "facts": item.step, "ways": item.chains, "surviving": item.surviving}
        for item in proved.items
    ]
    return entries, len(proved.proofs) + over.total, counts
