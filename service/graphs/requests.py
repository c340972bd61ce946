"""Requests built from a stored graph: rewrites that a user names, and answers to append."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ...cypher import rows
from ...cypher.rows.append import AppendKeyRow
from ...loaders.records import (
    SUBJECT_SLOT,
    Fact,
    KnowledgeGraph,
    RequestKind,
    RewriteRequest,
    digest,
    slug,
)
from ...loaders.texts import prompt_flaw
from ..base.errors import ConflictError, NotFoundError, UsageError
from ..base.formatting import pluralize
from . import datasets
from .write import rewrite_row

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...cypher.sending import Tx


@dataclass(frozen=True, slots=True)
class OwnRewrite:
    """A rewrite written out on the command line; all None when a stored one is meant.

    Attributes:
        forget: it has no target_new, and shall have none.
    """

    subject: str | None = None
    relation: str | None = None
    prompt: str | None = None
    target_true: str | None = None
    target_new: str | None = None
    forget: bool = False

    @property
    def written(self) -> bool:
        """True if any part of it is set."""
        return any((self.subject, self.relation, self.prompt, self.target_true, self.target_new))


FACT_FORM = 'Write a fact as "SUBJECT|RELATION|OBJECT", such as "Draco Malfoy|studied at|Hogwarts".'


def to_forget(text: str) -> OwnRewrite:
    """The request to forget the fact that a text names as `SUBJECT|RELATION|OBJECT`.

    Raises:
        UsageError: the text has another form.
    """
    parts = [part.strip() for part in text.split("|")]
    if len(parts) != 3 or not all(parts):
        raise UsageError(f"{text!r} names no fact.", remedy=FACT_FORM)
    subject, relation, target_true = parts
    return OwnRewrite(subject, relation, None, target_true, forget=True)


def rewrites(
    db: Database,
    graph: str,
    names: Sequence[str],
    own: OwnRewrite,
    everything: bool,
    kind: RequestKind | None = None,
) -> list[RewriteRequest]:
    """The rewrite requests of a stored data set (`datasets.get_or_import`) that a command is about.

    Args:
        kind: of everything, the requests of this kind; None: see `of_one_kind`.

    Raises:
        NotFoundError: no stored rewrite has that id or subject.
        UsageError: options that do not go together, or none at all; no request of the kind.
    """
    if sum((bool(names), own.written, everything)) != 1:
        raise UsageError(
            "Say which rewrite to score: an id or subject, --all, or --subject with its targets.",
            remedy=f"`thinkeval graph rewrites {graph}` lists the stored ones.",
        )
    if own.written:
        return [_own(db, graph, own)]
    stored, written = datasets.split_rewrites(db, graph)
    if everything:
        if not stored:
            raise UsageError(
                f"Graph {graph} has no rewrite requests.",
                remedy="Write one out with --subject, --prompt, --target-true and --target-new.",
            )
        if kind is None:
            return of_one_kind(stored)
        found = [request for request in stored if request.kind == kind]
        if not found:
            raise UsageError(
                f"Graph {graph} has no request to {kind}.",
                remedy=f"Make some: thinkeval graph rewrites {graph} --build append."
                if kind == "append"
                else f"`thinkeval graph rewrites {graph}` lists its requests.",
            )
        return found
    return [_named(stored, graph, name, written) for name in names]


def of_one_kind(requests: Sequence[RewriteRequest]) -> list[RewriteRequest]:
    """Those that replace an object, or, where there are none, those of the first one's kind.

    A table of several kinds would compare incomparable values.
    """
    replacing = [request for request in requests if request.kind == "replace"]
    return replacing or [request for request in requests if request.kind == requests[0].kind]


def _named(
    stored: Sequence[RewriteRequest], graph: str, name: str, written: Sequence[RewriteRequest] = ()
) -> RewriteRequest:
    """The rewrite of a name: of the data set, else one that a user wrote, by its id."""
    wanted = name.casefold()
    for found in (
        [r for r in stored if r.id == wanted],
        [r for r in stored if r.subject.casefold() == wanted],
        [r for r in stored if r.id.startswith(wanted)],
        [r for r in written if r.id == wanted],
    ):
        if len(found) == 1:
            return found[0]
        if found:
            raise UsageError(
                f"{len(found)} rewrites have the name {name!r}: {', '.join(r.id for r in found)}.",
                remedy="Give the id of one of them, or as much of it as tells it apart.",
            )
    known = [r.id for r in stored] + [r.subject for r in stored]
    raise NotFoundError("rewrite", name, known, listing=f"thinkeval graph rewrites {graph}")


def _own(db: Database, graph: str, own: OwnRewrite) -> RewriteRequest:
    texts = (own.subject, own.relation, own.prompt, own.target_true, own.target_new)
    own = OwnRewrite(*(text.strip() if text else None for text in texts), forget=own.forget)
    if not (own.subject and own.target_true and (own.relation or own.prompt)) or (
        own.forget == bool(own.target_new)
    ):
        raise UsageError(
            "A rewrite of your own needs --subject, --target-true, --target-new and one of"
            " --relation, --prompt; none of them blank.",
            remedy='A fact that shall be forgotten is named by --forget "SUBJECT|RELATION|OBJECT".',
        )
    _refuse_misspelt(db, own, graph)
    key = _key_of(db, graph, own) if own.forget else own.relation
    fact = _worded(db, graph, own.subject, key, own.prompt)
    prompt = own.prompt or (fact.prompt if fact else None)
    if prompt is None:
        raise NotFoundError(
            "relation",
            own.relation or "",
            _relations(db, graph),
            listing=f"thinkeval graph rules relations {graph}",
        )
    if prompt.count(SUBJECT_SLOT) != 1:
        raise UsageError(
            f"The prompt {prompt!r} needs {SUBJECT_SLOT} exactly once, for the subject.",
        )
    if (flaw := prompt_flaw(prompt)) is not None:
        raise UsageError(f"This rewrite cannot be stored: {flaw}.")
    relation = key or (fact.relation if fact else slug(prompt.replace(SUBJECT_SLOT, "")))
    parts = (own.subject, relation, prompt, own.target_true, own.target_new or "")
    for stored in datasets.list_rewrites(db, graph, subject=own.subject):
        if _parts(stored) == parts:
            return stored
    name = RewriteRequest.make_id(own.subject, relation, own.target_new or "", own.target_true)
    return RewriteRequest(
        id=f"{datasets.OWN}{name}--{digest(parts, 6)}",
        dataset=graph,
        prompt=prompt,
        subject=own.subject,
        relation=relation,
        target_true=own.target_true,
        target_new=own.target_new or "",
        question=fact.question if fact and fact.subject == own.subject else None,
        paraphrases=fact.paraphrases if fact else (),
    )


def _key_of(db: Database, graph: str, own: OwnRewrite) -> str | None:
    """A relation as the graph names it, where it was written in words: `studied at`."""
    relation = own.relation
    if relation is None or _worded(db, graph, own.subject or "", relation, None):
        return relation
    named = {name for name in _relations(db, graph) if slug(name) == slug(relation)}
    return named.pop() if len(named) == 1 else relation


def _relations(db: Database, graph: str) -> list[str]:
    """The relations of a graph's facts."""
    found = db.read(rows.VocabularyRow, "rules/vocabulary", graph=graph)
    return [row.name for row in found if row.sort == "relation" and row.name]


MISSPELT = 0.8
"""Similarity to a name of the graph from which another name is taken for a mistyped one."""


def _refuse_misspelt(db: Database, own: OwnRewrite, graph: str) -> None:
    """A subject or old object that is nearly one of the graph would have no chain, silently."""
    for kind, name in (("subject", own.subject), ("target_true", own.target_true)):
        near = _names_like(db, graph, name, MISSPELT) if name else []
        if (
            name
            and name not in near
            and difflib.get_close_matches(name, near, n=1, cutoff=MISSPELT)
        ):
            known = _names_like(db, graph, name, 0.0)
            raise NotFoundError(kind, name, known, listing=f"thinkeval graph rewrites {graph}")


def _names_like(db: Database, graph: str, name: str, least: float) -> list[str]:
    """The name if a fact of the graph has it, else those that share enough of its letters."""
    letters = sorted(set(name), key=lambda letter: (-name.count(letter), letter))
    return db.read(str, "graph/close_names", graph=graph, wanted=name, letters=letters, least=least)


def _parts(rewrite: RewriteRequest) -> tuple[str, ...]:
    """The parts by which two rewrites are the same."""
    return (
        rewrite.subject,
        rewrite.relation,
        rewrite.prompt,
        rewrite.target_true,
        rewrite.target_new,
    )


def _worded(
    db: Database, graph: str, subject: str, relation: str | None, prompt: str | None
) -> Fact | None:
    """The stored fact that shares a rewrite's relation and prompt, its own subject's first."""
    found = db.read(
        rows.FactRow,
        "graph/worded_fact",
        graph=graph,
        subject=subject,
        relation=relation,
        prompt=prompt,
    )
    if not found and relation is None and prompt is not None:
        found = db.read(rows.FactRow, "graph/prompted_fact", graph=graph, prompt=prompt)
    return datasets.to_fact(found[0]) if found else None


# Requests to append an answer, built from a stored graph (PEAK, Ma et al. 2024, §5.1, App. A.1).
#
# Every pair of subject and relation with several objects O may give one request. The new answer
# o* is an entity of the relation's range that is not in O; hard false answers are entities of the
# range with a fact with o*, random ones are far from o*. The queries are in `cypher/append/`.
#
# Everything is deterministic. Names are tried from a place on that depends on subject and
# relation, so that requests of one graph differ in their answers.

LEAST_CORRECT = 3
"""Smallest number of correct answers of a request."""
LEAST_HARD = 2
"""Smallest number of hard false answers of a request."""
WANTED = 10
"""Number of hard, of random false answers, and of prompts of locality that a request may have."""
PERCENTILE = 0.9
"""A new answer's P0 is not above this quantile of its range: the model does not give it."""
RANGE = 200
"""Largest number of entities of a range that are asked for P0."""
TRIED = 32
"""Largest number of new answers that are tried for one subject and relation."""

Pair = tuple[str, str]
"""Subject and relation."""
Prior = Mapping[str, float]
"""P0 of each name of a range at the prompt of a pair."""


@dataclass(frozen=True)
class Key(AppendKeyRow):
    """A pair of subject and relation with several objects.

    Attributes:
        kinds: kinds of the relation's range.
        range: entities of the range without the subject, at most RANGE and those of `correct`
            among them, by name from the pair's own place on.
    """

    kinds: tuple[str, ...]
    range: tuple[str, ...]

    @property
    def pair(self) -> Pair:
        """Subject and relation."""
        return self.subject, self.relation

    @property
    def turn(self) -> int:
        """The place, modulo their number, from which names are tried."""
        return _turn(self.subject, self.relation)


@dataclass(frozen=True, slots=True)
class RefusedKey:
    """A pair that gives no request, and why."""

    subject: str
    relation: str
    reason: str


@dataclass(frozen=True, slots=True)
class Requests:
    """The requests built of a graph, and the pairs that give none.

    Attributes:
        keys: number of pairs with at least LEAST_CORRECT objects.
        stored: number of them that have a request to append already.
        built: new requests, by id.
        refused: pairs that give none.
    """

    keys: int
    stored: int
    built: tuple[RewriteRequest, ...]
    refused: tuple[RefusedKey, ...]


def _turn(*parts: str) -> int:
    return int(digest(parts, 8), 16)


def keys(db: Database, graph: str) -> list[Key]:
    """The pairs of a graph with at least LEAST_CORRECT objects, by relation and subject."""
    found = db.read(rows.AppendKeyRow, "append/keys", graph=graph, least=LEAST_CORRECT)
    relations = sorted({row.relation for row in found})
    ranges = {
        row.relation: row
        for row in db.read(rows.AppendRangeRow, "append/ranges", graph=graph, relations=relations)
    }
    return [_key(row, ranges[row.relation]) for row in found]


def _key(row: rows.AppendKeyRow, of: rows.AppendRangeRow) -> Key:
    start = _turn(row.subject, row.relation) % len(of.names)
    turned = of.names[start:] + of.names[:start]
    others = [n for n in turned if n not in row.correct][: max(0, RANGE - len(row.correct))]
    kept = {*others, *row.correct} - {row.subject}
    inside = tuple(name for name in turned if name in kept)
    return Key(**vars(row), kinds=of.kinds, range=inside)


def new_answers(key: Key, prior: Prior | None) -> tuple[str, ...]:
    """The names that can be the new answer of a pair, at most TRIED.

    Args:
        prior: P0 of the names of the range; None: any name that is not a correct answer.
    """
    free = [name for name in key.range if name not in key.correct]
    if prior is not None and free:
        bound = quantile([prior[name] for name in key.range])
        free = [name for name in free if prior[name] <= bound]
    return tuple(free[:TRIED])


def quantile(values: Sequence[float], share: float = PERCENTILE) -> float:
    """The smallest value not exceeded by at least this fraction of the values (nearest rank)."""
    return sorted(values)[math.ceil(share * len(values)) - 1]


def build(
    db: Database, graph: KnowledgeGraph, found: Sequence[Key], priors: Mapping[Pair, Prior] | None
) -> Requests:
    """Requests for the pairs that have none yet; stores nothing.

    Args:
        graph: content of the stored data set.
        found: its pairs (`keys`).
        priors: P0 by pair, of those that have no request yet; None: new answers by name only.
    """
    todo = without_request(graph, found)
    tried = {
        key.pair: new_answers(key, priors[key.pair] if priors is not None else None) for key in todo
    }
    chosen = _chosen(db, graph.name, todo, tried)
    accepted = [key for key in todo if len(chosen[key.pair].names) >= LEAST_HARD]
    asked = [_row(key, chosen[key.pair].new) | {"turn": key.turn} for key in accepted]
    limits = {"graph": graph.name, "rows": asked, "limit": WANTED}
    far = db.read(rows.NewAnswerRow, "append/random", **limits)
    near = db.read(rows.AppendLocalityRow, "append/locality", **limits)
    taken = {request.id for request in graph.rewrites}
    built: list[RewriteRequest] = []
    refused = [
        _refused(key, tried[key.pair], chosen[key.pair]) for key in todo if key not in accepted
    ]
    for key, random, locality in zip(accepted, far, near, strict=True):
        if random.names:
            request = _request(graph.name, key, chosen[key.pair], random, locality)
            id_ = f"{request.id}--append" if request.id in taken else request.id
            built.append(replace(request, id=id_))
        else:
            reason = f"no entity is far from {random.new!r}: there is no random false answer"
            refused.append(RefusedKey(key.subject, key.relation, reason))
    return Requests(
        keys=len(found),
        stored=len(found) - len(todo),
        built=tuple(sorted(built, key=lambda request: request.id)),
        refused=tuple(sorted(refused, key=lambda each: (each.relation, each.subject))),
    )


def without_request(graph: KnowledgeGraph, found: Sequence[Key]) -> list[Key]:
    """The pairs that have no request to append in the graph."""
    stored = {(r.subject, r.relation) for r in graph.rewrites if r.kind == "append"}
    return [key for key in found if key.pair not in stored]


@dataclass(frozen=True, slots=True)
class _Chosen:
    """A new answer with its hard false answers; both empty where nothing could be tried."""

    new: str = ""
    names: tuple[str, ...] = ()


def _chosen(
    db: Database, graph: str, todo: Sequence[Key], tried: Mapping[Pair, Sequence[str]]
) -> dict[Pair, _Chosen]:
    """Of each pair the new answer with the most hard false answers; of several the first."""
    asked = [_row(key, new) | {"kinds": list(key.kinds)} for key in todo for new in tried[key.pair]]
    best = {key.pair: _Chosen() for key in todo}
    for row in db.read(rows.NewAnswerRow, "append/hard", graph=graph, rows=asked, limit=WANTED):
        before = best[row.subject, row.relation]
        if not before.new or len(row.names) > len(before.names):
            best[row.subject, row.relation] = _Chosen(row.new, row.names)
    return best


def _row(key: Key, new: str) -> dict[str, object]:
    return {"subject": key.subject, "relation": key.relation, "new": new}


def _refused(key: Key, tried: Sequence[str], best: _Chosen) -> RefusedKey:
    if not tried:
        reason = "no entity of the range is left that the model does not give already"
    else:
        reason = (
            f"at most {pluralize(len(best.names), 'hard false answer')} with"
            f" {pluralize(len(tried), 'new answer')} tried;"
            f" at least {LEAST_HARD} are needed"
        )
    return RefusedKey(key.subject, key.relation, reason)


def _request(
    dataset: str,
    key: Key,
    chosen: _Chosen,
    random: rows.NewAnswerRow,
    locality: rows.AppendLocalityRow,
) -> RewriteRequest:
    return RewriteRequest(
        id=RewriteRequest.make_id(key.subject, key.relation, chosen.new),
        dataset=dataset,
        prompt=key.prompt,
        subject=key.subject,
        relation=key.relation,
        target_true=key.correct[0],
        target_new=chosen.new,
        question=key.question,
        paraphrases=key.paraphrases,
        neighborhood=locality.prompts,
        neighborhood_objects=locality.answers,
        correct=key.correct,
        hard=chosen.names,
        random=tuple(name for name in random.names if name not in chosen.names),
    )


def store(db: Database, graph: KnowledgeGraph, built: Sequence[RewriteRequest]) -> None:
    """Add requests to a stored data set, in one transaction; its own requests stay.

    The stored digest of its content becomes that of the content with the requests.

    Raises:
        ConflictError: the graph has changed since its content was read.
    """
    whole = replace(graph, rewrites=(*graph.rewrites, *built))

    def write(tx: Tx) -> None:
        (before,) = tx.run(rows.GraphRow, "graph/get_graph", graph=graph.name)
        if before.content_digest not in (None, graph.content_digest):
            raise ConflictError(
                f"Graph {graph.name!r} has changed while its requests were built.",
                remedy="Run the command again.",
            )
        header = datasets.header(whole, (*before.extends, graph.content_digest))
        tx.run(rows.MergeGraphRow, "graph/merge_graph", **vars(header))
        written = [rewrite_row(request) for request in built]
        tx.run(rows.WrittenRow, "graph/merge_rewrites", dataset=graph.name, rows=written)
        tx.run(rows.CompleteGraphRow, "graph/complete_graph", graph=graph.name)

    db.atomically(write)


def of_graph(db: Database, graph: str) -> tuple[KnowledgeGraph, list[Key]]:
    """The content of a stored data set and its pairs (`keys`)."""
    return datasets.content(db, graph), keys(db, graph)
