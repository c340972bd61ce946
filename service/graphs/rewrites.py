"""Find the rewrite request that a user names by id or subject, or build the one written out."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...loaders.records import SUBJECT_SLOT, Fact, RequestKind, RewriteRequest, digest, slug
from ..errors import NotFoundError, UsageError
from . import datasets

if TYPE_CHECKING:
    from ...cypher.run import Database


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
            remedy=f"`thinkeval rewrites {graph}` lists the stored ones.",
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
                remedy=f"Make some: thinkeval rewrites {graph} --build append."
                if kind == "append"
                else f"`thinkeval rewrites {graph}` lists its requests.",
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
    raise NotFoundError("rewrite", name, known, listing=f"thinkeval rewrites {graph}")


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
    content = datasets.content(db, graph)
    facts = content.facts
    _refuse_misspelt(facts, own, graph)
    key = _key_of(facts, own.relation) if own.forget else own.relation
    fact = _matching(facts, key, own)
    prompt = own.prompt or (fact.prompt if fact else None)
    if prompt is None:
        raise NotFoundError(
            "relation",
            own.relation or "",
            {f.relation for f in facts},
            listing=f"thinkeval rules relations {graph}",
        )
    if prompt.count(SUBJECT_SLOT) != 1:
        raise UsageError(
            f"The prompt {prompt!r} needs {SUBJECT_SLOT} exactly once, for the subject.",
        )
    relation = key or (fact.relation if fact else slug(prompt.replace(SUBJECT_SLOT, "")))
    parts = (own.subject, relation, prompt, own.target_true, own.target_new or "")
    for stored in content.rewrites:
        if _parts(stored) == parts:
            return stored
    last = own.target_new or f"forget {own.target_true}"
    name = RewriteRequest.make_id(own.subject, relation, last)
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


def _key_of(facts: Sequence[Fact], relation: str | None) -> str | None:
    """A relation as the graph names it, where it was written in words: `studied at`."""
    if relation is None or any(fact.relation == relation for fact in facts):
        return relation
    named = {fact.relation for fact in facts if slug(fact.relation) == slug(relation)}
    return named.pop() if len(named) == 1 else relation


def _refuse_misspelt(facts: Sequence[Fact], own: OwnRewrite, graph: str) -> None:
    """A subject or old object that is nearly one of the graph would have no chain, silently."""
    known = {name for fact in facts for name in (fact.subject, fact.object)}
    for kind, name in (("subject", own.subject), ("target_true", own.target_true)):
        if name and name not in known and difflib.get_close_matches(name, known, n=1, cutoff=0.8):
            raise NotFoundError(kind, name, known, listing=f"thinkeval rewrites {graph}")


def _parts(rewrite: RewriteRequest) -> tuple[str, ...]:
    """The parts by which two rewrites are the same."""
    return (
        rewrite.subject,
        rewrite.relation,
        rewrite.prompt,
        rewrite.target_true,
        rewrite.target_new,
    )


def _matching(facts: Sequence[Fact], relation: str | None, own: OwnRewrite) -> Fact | None:
    """The stored fact that shares the rewrite's relation or prompt, its own subject's first."""
    same = [f for f in facts if relation in (None, f.relation) and own.prompt in (None, f.prompt)]
    mine = [f for f in same if f.subject == own.subject]
    return next(iter(mine or same), None)
