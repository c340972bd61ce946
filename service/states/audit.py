"""The content of an audit of an erasure: routes to the old object, and the verdict."""

from __future__ import annotations

import hashlib
import platform
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ... import cypher
from ...cypher import rows
from ...cypher.metric_options import displays
from .. import __version__
from ..base.errors import NotFoundError, NothingStoredError, UsageError
from ..base.formatting import percent, short
from ..models.edit import KNOWN, Measure, Score
from ..reports.verdict import FORGOT, UNKNOWN, Part
from ..reports.verdict import verdict as of_score
from ..rules.omega import Chosen, mixed, omega
from ..rules.schemas import rules_digest
from ..rules.store import kept_rules
from ..scoring import metrics, record
from ..scoring.metrics import chain_rows
from . import table
from . import verdict as judging
from .kind import COMPARISON
from .schemas import RouteRule

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ..rules.store import StoredRule
    from .schemas import ComparedRequest, ComparisonOut, StateComparison, StateOut
    from .verdict import StateVerdict


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

    def rule(self, measure: Measure) -> RouteRule:
        """The rule by which a route leads to the object in a state."""
        return self.asked.routes.get(measure) or RouteRule(floor=0.0, known=0.0)


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


def state_of(before: bool, after: bool) -> str:
    """Return the state of a route that leads to the object before, after, in both or in none."""
    if after:
        return "open" if before else "opened"
    return "closed" if before else "never"


def chains(db: Database, request: Request, measures: Iterable[Measure]) -> ByChains:
    """Every chain of a request with its facts' probabilities in both states, by each measure."""
    found: dict[Measure, list[rows.ScoredChainRow]] = {
        m: chain_rows(db, request.score, m) for m in measures
    }
    mine = found[request.measure]
    others = {m: {row.entities: row for row in listed} for m, listed in found.items()}
    entries = []
    for number, row in enumerate(_of_other_facts(mine, request), 1):
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


def _of_other_facts(
    found: Sequence[rows.ScoredChainRow], request: Request
) -> list[rows.ScoredChainRow]:
    """The chains without the edited fact itself, which is no route to its object."""
    return [
        row for row in found if row.steps > 1 or row.links[0].relation != request.asked.relation
    ]


def _by(request: Request, measure: Measure, row: rows.ScoredChainRow | None) -> dict[str, Any]:
    """A chain by one measure: facts, their probabilities, the products, its state."""
    if row is None:
        return {"state": "not measured"}
    rule, before, after = (
        request.rule(measure), [link.pre for link in row.links], [link.post for link in row.links]
    )  # fmt: skip
    return {
        "facts": [link.id.partition("|")[2] for link in row.links],
        "before": before,
        "after": after,
        "product_before": row.r_pre,
        "product_after": row.r_post,
        "retention": row.ratio,
        **rule.model_dump(include=set(RouteRule.model_fields)),
        "state": state_of(rule.leads(row.r_pre, before), rule.leads(row.r_post, after)),
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
    measure, rule = request.measure, request.rule(request.measure)
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
            "floor": rule.floor,
            "state": state_of(rule.leads(each["before"]), rule.leads(each["after"])),
            **each,
        }
        for number, each in enumerate(found, 1)
    ]
    counts = [
        {"kind": item.kind, "facts": item.step, "ways": item.chains, "surviving": item.surviving}
        for item in proved.items
    ]
    return entries, len(proved.proofs) + over.total, counts


# The verdict of an audit: forgotten facts, open routes, other changes.

Parts = tuple["Request", "ByChains", "ByRules"]

_DIRECT = {
    "took": "Asked directly, the model does not give {} any more",
    "took in part": "Asked directly, the model gives {} less often, but still gives it",
    "did not take": "Asked directly, the model still gives {}",
    UNKNOWN: "The model did not know {} before: there was nothing to forget",
}

_CHAINS, _RULES = ("chain of facts", "chains of facts"), ("route by rules", "routes by rules")


def verdict(out: StateComparison, parts: Sequence[Parts]) -> dict[str, Any]:
    """The comparison's verdict, to which open routes by rules count, and each request's numbers."""
    open_by_rules = {
        request.edit: None
        if rules.summary["problem"]
        else _open(Counter(each["state"] for each in rules.entries))
        for request, _, rules in parts
    }
    whole = judging.verdict(out, out.measure, open_by_rules)
    return {
        "measure": out.measure,
        "kind": whole.kind,
        "headline": whole.headline,
        "requests": [_of_request(out, whole, each, open_by_rules[each[0].edit]) for each in parts],
        "rest": " ".join(whole.sentences),
    }


def _of_request(
    out: StateComparison, whole: StateVerdict, parts: Parts, open_by_rules: int | None
) -> dict[str, Any]:
    request, chains, rules = parts
    found = of_score(request.score, request.measure, chains.rows)
    by_chains = Counter(each["state"] for each in chains.entries)
    by_rules = Counter(each["state"] for each in rules.entries)
    gone = _gone(request)
    kind = judging.judged(request.asked, out.measure, open_by_rules).kind
    return {
        "request": request.edit,
        "kind": "broke" if whole.kind == "broke" else kind,
        "gone": gone,
        "direct": _directly(request, gone, found.installed),
        "leak": _leak(request),
        "chains": _routes(_CHAINS, by_chains, len(chains.entries), request),
        "rules": _rules(by_rules, rules, request),
        "counts": {"chains": dict(by_chains), "rules": dict(by_rules)},
        "parts": {
            name: _part(part)
            for name, part in zip(
                ("asked directly", "left by chains", "facts around it", "facts about the subject"),
                found.parts,
                strict=True,
            )
        },
    }


def _gone(request: Request) -> float | None:
    """Fraction of the old object's probability that is gone; None where it was not known."""
    before, after = request.old
    if before is None or after is None or before < KNOWN:
        return None
    return 1 - after / before


def _word(gone: float | None) -> str:
    if gone is None:
        return UNKNOWN
    return next(word for least, word in FORGOT if gone >= least)


def _part(part: Part) -> dict[str, Any]:
    return {
        "word": part.word, "grade": part.grade, "value": part.value, "sentence": part.sentence,
        "rule": part.rule,
    }  # fmt: skip


def _open(states: Counter[str]) -> int:
    return states["open"] + states["opened"]


def _directly(request: Request, gone: float | None, installed: Part) -> str:
    """Return the model's answer to the question itself: the old object, and the new if any."""
    text = _DIRECT[_word(gone)].format(request.asked.target_true)
    if gone is not None:
        before, after = map(short, request.old)
        lost = f"{percent(gone)} of it is gone" if gone >= 0 else "it grew"
        text += f": its probability was {before} and is {after}, {lost}"
    return f"{text}." + (f" {installed.sentence}" if request.asked.kind == "replace" else "")


def _leak(request: Request) -> str | None:
    """Asked again and again; only of requests to forget."""
    if request.asked.kind != "forget":
        return None
    values = [request.score.number(f"leak_at_{k}", request.measure) for k in (1, 5, 100)]
    if values[0] is None:
        return None
    one, five, hundred = map(short, values)
    return (
        f"Asked k times, the probability that at least one answer begins with"
        f" {request.asked.target_true} is {one} for k = 1, {five} for 5 and {hundred} for 100."
    )


def _routes(names: tuple[str, str], states: Counter[str], total: int, request: Request) -> str:
    """Return the numbers of routes to the object, before and now, in words."""
    if not total:
        return f"No {names[0]} leads to {request.asked.target_true} in this graph."
    before, after = states["open"] + states["closed"], _open(states)
    opened = f", {states['opened']} of them newly opened" if states["opened"] else ""
    return (
        f"{before:,} of {total:,} {names[total > 1]} led to {request.asked.target_true} before,"
        f" {after:,} {'does' if after == 1 else 'do'} now{opened}."
    )


def _rules(states: Counter[str], rules: ByRules, request: Request) -> str:
    summary = rules.summary
    if summary["problem"]:
        return f"Routes by rules are not known: {summary['problem']}"
    if not summary["rules"]:
        return "The graph has no kept rules: routes by rules are not known."
    text = _routes(_RULES, states, len(rules.entries), request)
    missing = summary["routes"] - summary["listed"]
    return text + (f" {missing} further ones are counted and not listed." if missing else "")


# The content of an audit, read off a stored comparison and its graphs.
#
#     header, states · of all requests: questions, facts, routes by chains and by rules, metrics ·
#     drift, verdict, queries, versions
#
# Nothing is asked of a model, and nothing is scored again: an audit has values that are stored.

FORMAT = 2
"""Of `audit.json`: 1 was a list of entries, each with the digest of the one before."""

LEAK = (
    "leak@k = 1 - (1 - p_post)^k. From likelihoods it is the probability that at least one of k"
    " answers drawn at temperature 1 begins with the object: begins with it, not is about it. From"
    " sampled answers it is a function of few answers, 0 where none of them named the object. From"
    " length-normalised likelihoods it is no probability of an answer."
)
"""Definition of leak@k, for a reader of the record."""

USED = (
    "experiments/page", "graph/facts", "chains/scored",
    "rules/list_rules", "closure/state", "closure/atoms", "closure/write_conclusions",
    "closure/write_groundings", "closure/groundings", "closure/omega",
    "closure/mixed",
)  # fmt: skip
"""Queries of an audit itself: the values of their rows are in its content."""


def collect(db: Database, id: str) -> dict[str, Any]:
    """Return the content of the audit of a comparison.

    Raises:
        NotFoundError: there is no such comparison, or the graph of one of its requests is gone.
        UsageError: it has no requests.
    """
    out, state = _audited(db, id)
    if not state.requests:
        raise UsageError(
            f"Comparison {id!r} watched the graph: no fact of it shall be forgotten or replaced.",
            remedy='Compare the states with --forget "SUBJECT|RELATION|OBJECT", and audit that.',
        )
    requests = [
        Request(
            number, asked, record.get_score(db, asked.edit), state.measure, _edited(db, asked.edit)
        )
        for number, asked in enumerate(state.requests, 1)
    ]
    ways = [chains(db, each, state.measures) for each in requests]
    ruled = [by_rules(db, each) for each in requests]
    return {
        "header": _header(out, state),
        "states": [_state(db, side, each) for side, each in _sides(state)],
        "requests": [_request(db, each) for each in requests],
        "facts": list(_facts(db, state, requests)),
        "chains": [data for each in ways for data in each.entries],
        "rules": [each.summary for each in ruled],
        "rule_routes": [data for each in ruled for data in each.entries],
        "metrics": [_metrics(each) for each in requests],
        "drift": list(_drift(state)),
        "verdict": verdict(state, list(zip(requests, ways, ruled, strict=True))),
        "queries": list(_queries(state)),
        "versions": _versions(state),
    }


def _audited(db: Database, id: str) -> tuple[ComparisonOut, StateComparison]:
    """A comparison and the state that is audited: the only one, or that of the named graph.

    Raises:
        NotFoundError: there is no such comparison or state.
        UsageError: the comparison has several states.
    """
    for out in COMPARISON.store.page(db, part=id):
        for state in out.states:
            if state.id == id and out.id != id:
                return out, state
    # The second raises: it reads the job, and no query of an audit does.
    out = COMPARISON.store.find(db, id) or COMPARISON.store.result(db, id)
    if len(out.states) > 1:
        named = ", ".join(f"{each.id} ({each.after.name})" for each in out.states)
        raise UsageError(
            f"Comparison {id!r} has {len(out.states)} states, and an audit is of one.",
            remedy=f"Name one of them: {named}.",
        )
    return out, out.states[0]


def _drift(out: StateComparison) -> Iterator[dict[str, Any]]:
    for measure in out.measures:
        yield {"measure": measure, **out.drift[measure].model_dump(), "meaning": table.MEANING}


def _sides(out: StateComparison) -> tuple[tuple[str, StateOut], ...]:
    return ("before", out.before), ("after", out.after)


def _header(out: ComparisonOut, state: StateComparison) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "program": {"thinkeval": __version__},
        "comparison": out.id,
        "compared_at": out.created_at,
        "graph": out.graph,
        "graph_digest": state.provenance.get("graph_digest"),
        "n_facts": out.n_facts,
        "measures": list(state.measures),
        "measure": state.measure,
        "same_weights": state.same,
        "notes": list(state.notes),
        "submitted": out.request,
    }


def _state(db: Database, side: str, state: StateOut) -> dict[str, Any]:
    """A state with the records of the edits that it names."""
    edits = []
    for each in state.about.get("edits", ()):
        try:
            score = record.get_score(db, each["edit"])
        except (NotFoundError, NothingStoredError):
            edits.append({**each, "stored": False})
            continue
        names = ("hparams", "hparams_digest", "seed", "strength", "forget", "model", "created_at")
        about = {name: score.provenance.get(name) for name in names}
        fact = {
            "subject": score.subject, "relation": score.relation,
            "target_true": score.target_true, "target_new": score.target_new,
        }  # fmt: skip
        edits.append({**each, "stored": True, **fact, **about})
    return {"side": side, **state.model_dump(), "edits": edits}


def _request(db: Database, request: Request) -> dict[str, Any]:
    """A request with its question, how it was sent, and parameters that repeat its queries."""
    asked, score = request.asked, request.score
    provenance = score.provenance
    name = "chains/scored"
    return {
        "number": request.number,
        "edit": asked.edit,
        "kind": asked.kind,
        "rewrite": asked.rewrite,
        "subject": asked.subject,
        "relation": asked.relation,
        "target_true": asked.target_true,
        "target_new": asked.target_new,
        "prompt": asked.prompt,
        "question": asked.prompt.replace("{}", asked.subject),
        "options": score.options.model_dump(),
        "probe": provenance.get("probe"),
        "probe_digest": provenance.get("probe_digest"),
        "seed": provenance.get("seed"),
        "n_facts_in_scope": score.n_facts,
        "routes": {m: found.model_dump() for m, found in asked.routes.items()},
        "parameters": {m: metrics.query_params(db, score, m, name) for m in asked.routes},
    }


def _edited(db: Database, edit: str) -> tuple[rows.FactRow, ...]:
    """The edited fact in its forms, asked with the prompts of its request."""
    found = db.read(rows.FactRow, "graph/facts", graph=edit)
    return tuple(row for row in found if row.role in ("target_true", "target_new"))


def _facts(
    db: Database, out: StateComparison, requests: Iterable[Request]
) -> Iterator[dict[str, Any]]:
    """All facts of the graph with both probabilities, then the edited ones of each request."""
    for row in db.read(rows.FactRow, "graph/facts", graph=out.id):
        yield _fact(row, None, out.measures)
    for request in requests:
        for row in request.edited:
            yield _fact(row, request.edit, out.measures)


def _fact(row: rows.FactRow, request: str | None, measures: Iterable[Measure]) -> dict[str, Any]:
    """A fact; `request` names the edit where it was asked with the request's own prompts."""
    data: dict[str, Any] = {
        "request": request,
        "fact": row.fact,
        "role": row.role,
        "subject": row.subject,
        "relation": row.relation,
        "object": row.object,
        "prompt": row.prompt,
        "question": row.question,
        "p": {m: _both(row, m) for m in measures},
        "n_samples": row.n_samples,
        "answers": {"before": _listed(row.answers_pre), "after": _listed(row.answers_post)},
    }
    for group in ("paraphrases", "neighborhood"):
        texts = getattr(row, group)
        taken = [m for m in measures if getattr(row, f"{group}_{m}_pre") is not None]
        if texts and taken:
            values = {m: _both(row, f"{group}_{m}") for m in taken}
            data[group] = {"texts": list(texts), "p": values}
    return data


def _both(row: rows.FactRow, name: str) -> dict[str, Any]:
    pre, post = getattr(row, f"{name}_pre"), getattr(row, f"{name}_post")
    return {"before": _listed(pre), "after": _listed(post)}


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _metrics(request: Request) -> dict[str, Any]:
    score: Score = request.score
    shown = displays()
    used = dict.fromkeys(value.metric for value in score.values)
    data = {
        "request": request.edit,
        "n_facts": score.n_facts,
        "values": [value.model_dump() for value in score.values],
        "meanings": {name: shown[name].meaning for name in used if name in shown},
    }
    return data | ({"leak": LEAK} if request.asked.kind == "forget" else {})


def _queries(out: StateComparison) -> Iterator[dict[str, Any]]:
    """Every query with its text as it is now; `same` is True if the comparison used this text."""
    recorded: Mapping[str, str] = out.provenance.get("queries", {})
    for name in sorted({*recorded, *USED}):
        now = cypher.query(name) if name in cypher.names() else None
        text = now.text if now else None
        yield {
            "name": name,
            "used_by": ["comparison"] * (name in recorded) + ["audit"] * (name in USED),
            "digest_of_comparison": recorded.get(name),
            "digest": now.digest if now else None,
            "sha256": hashlib.sha256(text.encode()).hexdigest() if text else None,
            "same": None if name not in recorded or now is None else recorded[name] == now.digest,
            "text": text,
        }


def _versions(out: StateComparison) -> dict[str, Any]:
    return {
        "comparison": out.provenance.get("versions", {}),
        "audit": {"thinkeval": __version__, "python": platform.python_version()},
    }
