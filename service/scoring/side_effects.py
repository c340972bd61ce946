"""Further probes of an edit: conclusions of rules, and known facts about its subject."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from ...cypher import rows
from ...loaders.records import Fact, digest
from ..base.errors import UsageError
from ..base.formatting import pluralize
from ..graphs.datasets import to_fact
from ..models.edit import SubjectOutcome
from ..rules.implications import other_premise, read
from ..rules.schemas import Triple, rules_digest
from ..rules.store import StoredRule, kept_rules, rules_of
from .probe import Answer, ProbedFact, Question, probe

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...editing.deltas import EditEffect
    from ...editing.probe import ProbeSettings
    from .request import ScoreRequest
    from .resolved import Resolved, Scope


# The additional probes of `score --implications`: conclusions that an edit touches, and premises.
#
# They are probed separately, after the facts in scope, so that no other number changes; in the
# edit's graph they have the role `implication`, which no chain passes.

ROLE = "implication"


@dataclass(frozen=True, slots=True)
class Implied:
    """The additional probes of one edit.

    Attributes:
        rules: ids of the rules that were applied.
        unasked: conclusions that cannot be probed, as their relation has no cloze.
    """

    questions: tuple[Question, ...]
    rules: tuple[str, ...]
    unasked: int
    identity: str

    def about(self) -> dict[str, object]:
        """For the record."""
        return {"asked": len(self.questions), "unasked": self.unasked, "rules": list(self.rules)}


def implied(db: Database, request: ScoreRequest, scope: Scope) -> Implied:
    """The conclusions and premises of every grounding an edit touches, without those in scope.

    Raises:
        UsageError: the data set has no rules with the status `kept`.
    """
    rules = rules_of(db, request.graph)
    if not rules:
        raise UsageError(
            f"{request.graph!r} has no rules with the status `kept`: an edit implies nothing.",
            remedy=f"`thinkeval graph rules add {request.graph} FILE`, or mine and review some.",
        )
    rewrite = request.rewrite
    edited = (rewrite.subject, rewrite.relation, rewrite.target_true, rewrite.target_new)
    found = read(db, request.graph, edited, rules)
    wanted = dict.fromkeys(
        triple
        for row in found
        for triple in (other_premise(row), (row.subject, row.relation, row.conclusion))
        if triple is not None
    )
    known = {(f.subject, f.relation, f.object) for f in scope.facts}
    known |= {(rewrite.subject, rewrite.relation, o) for o in edited[2:]}
    open_ = [triple for triple in wanted if triple not in known]
    stored = (
        [to_fact(row) for row in db.read(rows.FactRow, "graph/facts", graph=request.graph)]
        if open_
        else []
    )
    facts = {(f.subject, f.relation, f.object): f for f in stored}
    clozes = _clozes(stored, rules)
    questions = []
    for triple in open_:
        fact = facts.get(triple) or _fact(triple, clozes)
        if fact is not None:
            aliases = scope.aliases.get(fact.object, ())
            questions.append(Question(fact, aliases, role=ROLE, listed=triple in facts))
    return Implied(
        tuple(questions),
        tuple(stored.id for stored in rules),
        len(open_) - len(questions),
        digest([rules_digest(rules), sorted(q.fact.id for q in questions)]),
    )


def _clozes(facts: Sequence[Fact], rules: Sequence[StoredRule]) -> dict[str, str]:
    """{relation: cloze}: of most facts of the data set, else of a rule."""
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    for fact in facts:
        seen[fact.relation][fact.prompt] += 1
    out = {relation: counts.most_common(1)[0][0] for relation, counts in seen.items()}
    for stored in rules:
        relation = stored.rule.conclusion.relation
        if relation not in out and (clozes := stored.rule.conclusion_clozes()):
            out[relation] = clozes[0]
    return out


def _fact(triple: Triple, clozes: dict[str, str]) -> Fact | None:
    subject, relation, object_ = triple
    cloze = clozes.get(relation)
    return None if cloze is None else Fact(subject, relation, object_, prompt=cloze)


# Known facts about an edited subject: kept, weakened, following the new object, or lost.
#
# Subject retention cannot tell a subject that was moved (Paris lies in Italy, so that Italian is
# spoken there) from one that was forgotten. Facts of the subject that are on no chain are asked
# too; of those that are not kept, the edited model is asked for its likeliest object of the
# relation. All of it is by likelihood.

OPTIONS = 20
"""Objects of a relation that the edited model is asked for at most."""
KEPT = 0.5
"""A fact that keeps this fraction of its probability is kept."""
EXACT = "likelihood"


def before(resolved: Resolved, probed: Sequence[ProbedFact]) -> list[ProbedFact]:
    """The unedited model's answers about the subject's facts that are not among the probed ones."""
    rewrite = resolved.request.rewrite
    if rewrite.kind == "append":
        return []
    asked = {each.question.fact.id for each in probed}
    found = resolved.runtime.db.read(
        rows.FactRow, "probes/about_subject",
        graph=resolved.dataset.id, subject=rewrite.subject, relation=rewrite.relation,
        objects=[rewrite.target_true, rewrite.target_new],
    )  # fmt: skip
    questions = [
        Question(fact, resolved.scope.aliases.get(fact.object, ()), role="subject", listed=False)
        for fact in map(to_fact, found)
        if fact.id not in asked
    ]
    if not questions:
        return []
    runtime, loaded, settings = resolved.runtime, resolved.model.loaded, settings_of(resolved)
    key = digest([asdict(question) for question in questions])
    answers: Sequence[Answer] = runtime.memoised(
        ("subject", loaded.info.digest, loaded.info.dtype, settings.digest, key),
        lambda: probe(loaded, questions, settings, progress=runtime.progress),
    )
    return [ProbedFact(q, answer) for q, answer in zip(questions, answers, strict=True)]


def after(
    resolved: Resolved,
    effect: EditEffect,
    probed: Sequence[ProbedFact],
    further: Sequence[ProbedFact],
) -> list[ProbedFact]:
    """All facts with the edited model's answers; those not kept with its likeliest object.

    Args:
        probed: facts that are on chains, with both answers.
        further: of `before`.
    """
    from ...editing.deltas import applied

    if resolved.request.rewrite.kind == "append":
        return list(probed)
    if effect.changes_nothing:
        return [*probed, *(replace(each, post=each.pre) for each in further)]
    loaded = resolved.model.loaded
    with applied(loaded.model, effect):
        later = ask(resolved, effect, [each.question for each in further])
        both = [
            *probed,
            *(replace(each, post=now) for each, now in zip(further, later, strict=True)),
        ]
        moved = [place for place, each in enumerate(both) if _is_moved(resolved, each)]
        options = _options(resolved, [both[place] for place in moved])
        answers = iter(ask(resolved, effect, [q for each in options for q in each]))
    for place, questions in zip(moved, options, strict=True):
        found = [(q.fact.object, next(answers).values[EXACT]) for q in questions]
        both[place] = replace(both[place], instead=max(found, key=lambda pair: pair[1]))
    return both


def counted(db: Database, edit: str, request: ScoreRequest) -> SubjectOutcome | None:
    """The facts of a stored edit graph by outcome; None of a request to append."""
    rewrite = request.rewrite
    if rewrite.kind == "append":
        return None
    (found,) = db.read(
        SubjectOutcome, "edits/subject_facts",
        edit=edit, graph=request.graph, subject=rewrite.subject, relation=rewrite.relation,
        new=rewrite.target_new or None, known=request.known, entailed=entailed(db, request),
    )  # fmt: skip
    reason = None
    if not found.n:
        reason = f"the graph has no other fact about {rewrite.subject}"
        if found.excluded:
            reason = (
                f"the model knows 0 of {pluralize(found.excluded, 'other fact')}"
                f" about {rewrite.subject}"
            )
    return found.model_copy(update={"reason": reason})


def entailed(db: Database, request: ScoreRequest) -> list[dict[str, str]]:
    """The conclusions about the subject that the kept rules of the graph draw from the new object.

    The other premise of a rule, if it has two, is a fact of the graph.
    """
    rewrite = request.rewrite
    edited = (rewrite.subject, rewrite.relation, rewrite.target_true, rewrite.target_new)
    found = read(db, request.graph, edited, kept_rules(db, request.graph))
    return [
        {"relation": relation, "object": name}
        for relation, name in dict.fromkeys(
            (row.relation, row.conclusion)
            for row in found
            if row.side == "new" and row.subject == rewrite.subject
        )
    ]


def settings_of(resolved: Resolved) -> ProbeSettings:
    """The settings of the request's probe, by likelihood alone."""
    return replace(resolved.request.probe, measures=(EXACT,))


def ask(resolved: Resolved, effect: EditEffect, questions: Sequence[Question]) -> list[Answer]:
    """Ask the model, to which the effect is applied; by likelihood."""
    if not questions:
        return []
    return probe(
        resolved.model.loaded, questions, settings_of(resolved),
        prompt_change=effect.prompt_change, progress=resolved.runtime.progress,
    )  # fmt: skip


def _is_moved(resolved: Resolved, each: ProbedFact) -> bool:
    """Return True if the fact is about the subject, was known, and is not kept."""
    rewrite, fact = resolved.request.rewrite, each.question.fact
    if fact.subject != rewrite.subject or fact.relation == rewrite.relation:
        return False
    if each.question.role not in ("fact", "subject") or each.post is None:
        return False
    pre, post = each.pre.values[EXACT], each.post.values[EXACT]
    return pre > 0 and pre >= resolved.request.known and post < KEPT * pre


def _options(resolved: Resolved, moved: Sequence[ProbedFact]) -> list[list[Question]]:
    """For each fact, the questions about the objects of its relation that are options."""
    if not moved:
        return []
    graph = resolved.dataset.id
    found = resolved.runtime.db.read(
        rows.SubjectOptionsRow,
        "edits/subject_options",
        graph=graph,
        relations=sorted({each.question.fact.relation for each in moved}),
        new=resolved.request.rewrite.target_new or None,
        entailed=entailed(resolved.runtime.db, resolved.request),
    )
    of = {row.relation: row for row in found}
    aliases = resolved.scope.aliases
    return [
        [
            Question(
                replace(fact, object=name), aliases.get(name, ()), role="subject", listed=False
            )
            for name in drawn(graph, fact.object, of[fact.relation])
        ]
        for fact in (each.question.fact for each in moved)
    ]


def drawn(graph: str, own: str, of: rows.SubjectOptionsRow) -> list[str]:
    """At most OPTIONS objects of a relation: a fact's own, those that follow, then others.

    Which ones is decided by graph and relation alone.
    """
    draw = random.Random(f"{graph}|{of.relation}")
    following = [name for name in of.following if name != own]
    rest = [name for name in of.objects if name != own and name not in of.following]
    for names in (following, rest):
        draw.shuffle(names)
    return sorted([own, *following, *rest][:OPTIONS])
