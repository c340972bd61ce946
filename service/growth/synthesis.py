"""Component 3 of ThinkEval (§4.3): validated triplets become a data-set graph, and its chains.

The graph is one like any imported: facts with prompt, question and paraphrases, entities with
aliases, and rewrite requests for the seed, so that `thinkeval score` takes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ...cypher import rows
from ...loaders.records import Fact, KnowledgeGraph, RewriteRequest, unique
from ..graphs.datasets import fact_row
from ..graphs.write import write_graph
from .entities import conflicts
from .writer import prompt_of

if TYPE_CHECKING:
    from .candidates import Candidate, Triplet
    from .context import Context


TARGETS = 3
"""Rewrite requests of the seed that a grown graph gets, at most."""


class Synthesis:
    """Component 3 of one pass.

    Args:
        seed: the seed under the names in force; None without one.
    """

    def __init__(self, context: Context, seed: Triplet | None) -> None:
        self._context, self._seed = context, seed
        self._stored: str | None = None

    def facts(self) -> list[Candidate]:
        """The candidates that are facts now; conflicts and parallel links get their states."""
        context = self._context
        found = [one for one in context.candidates.all("triplet") if one.state == "validated"]
        # A crawl's thresholds decide how many objects a subject has.
        for one, other in conflicts(found) if context.posted.elicit != "crawl" else ():
            if context.candidates.verdicts(one).verdict is None:
                one.end(
                    "conflict",
                    f"{one.triplet[1]} has one object a subject; {other.triplet[2]} has the"
                    " larger fraction of answers",
                )
        kept: dict[tuple[str, str], Candidate] = {}
        facts = []
        for one in found:
            subject, _, object = one.triplet
            if one.state != "validated":
                continue
            before = kept.setdefault((subject, object), one)
            if context.posted.single_link and before is not one:
                one.end("duplicate", f"{before.triplet[1]} links the pair already")
                continue
            facts.append(one)
        return facts

    def write(self, facts: Sequence[Candidate]) -> None:
        """Store the graph of these facts, unless it is stored already."""
        context, graph = self._context, self.graph(facts)
        shares = {one.id: (one.share, one.n_answers) for one in facts}
        state = repr((graph.content_digest, sorted(shares.items())))
        if state == self._stored or not facts:
            return
        header = rows.GraphHeader(
            graph.name, "dataset", graph.name, content_digest=graph.content_digest
        )
        fact_rows = [
            fact_row(fact)
            | {"p_pre": one.share, "n_samples": one.n_answers or None, "candidate": one.id}
            for one, fact in zip(facts, graph.facts, strict=True)
        ]
        fence = context.lease.assert_owned if context.lease is not None else None
        write_graph(context.db, header, graph.entities, fact_rows, graph.rewrites, fence=fence)
        context.write(str, "growth/made", run=context.run, graph=graph.name)
        self._stored = state

    def chains(self, facts: Sequence[Candidate]) -> list[rows.ChainRow]:
        """The chains from the seed's subject to its object, shortest first."""
        if self._seed is None or not facts:
            return []
        subject, relation, object = self._seed
        return self._context.db.read(
            rows.ChainRow,
            "chains/enumerate",
            graph=self._context.graph,
            subject=subject,
            object=object,
            relation=relation,
            max_steps=self._context.posted.max_steps,
            bare="include",
        )

    def graph(self, facts: Sequence[Candidate]) -> KnowledgeGraph:
        """The facts as records."""
        context = self._context
        names = unique(name for one in facts for name in (one.triplet[0], one.triplet[2]))
        made = tuple(self._fact(one) for one in facts)
        rewrites = tuple(self._rewrites(made))
        targets = [each.target_new for each in rewrites]
        return KnowledgeGraph(
            context.graph,
            tuple(context.entities.record(name) for name in unique([*names, *targets])),
            made,
            rewrites,
        )

    def _fact(self, one: Candidate) -> Fact:
        subject, relation, object = one.triplet
        template = self._context.relations.template(relation)
        prompt = prompt_of(self._context, one)
        questions = [text.replace("{}", subject, 1) for text in template.questions]
        if not questions and one.question and one.question != prompt.replace("{}", subject, 1):
            questions = [one.question]
        return Fact(
            subject,
            relation,
            object,
            prompt,
            tuple(questions),
            template.paraphrases or one.paraphrases,
        )

    def _rewrites(self, facts: Sequence[Fact]) -> list[RewriteRequest]:
        """Requests to change the seed: to the base graph's targets, or other objects like it.

        A run without a seed fact gets the base graph's requests to change facts that it found.
        """
        if self._seed is None:
            return self._rewrites_of_base(facts)
        seed = next((f for f in facts if (f.subject, f.relation, f.object) == self._seed), None)
        if seed is None:
            return []
        base = self._context.base
        objects = [
            r.target_new
            for r in (base.rewrites if base else ())
            if (r.subject, r.relation, r.target_true) == self._seed
        ]
        others = [*facts, *(base.facts if base else ())]
        objects += [f.object for f in others if f.relation == seed.relation]
        # Of a relation with one object in the whole graph: any entity of the same kind.
        kind = self._context.entities.record(seed.object).kind
        if kind is not None and base is not None:
            objects += [entity.name for entity in base.entities if entity.kind == kind]
        targets = [name for name in unique(objects) if name not in (seed.object, seed.subject)]
        return [
            RewriteRequest(
                RewriteRequest.make_id(seed.subject, seed.relation, target),
                self._context.graph,
                seed.prompt,
                seed.subject,
                seed.relation,
                seed.object,
                target,
                seed.question,
                seed.paraphrases,
            )
            for target in targets[:TARGETS]
        ]

    def _rewrites_of_base(self, facts: Sequence[Fact]) -> list[RewriteRequest]:
        found = {(f.subject, f.relation, f.object) for f in facts}
        base = self._context.base
        return [
            replace(request, dataset=self._context.graph, n_records=0)
            for request in (base.rewrites if base else ())
            if (request.subject, request.relation, request.target_true) in found
        ]
