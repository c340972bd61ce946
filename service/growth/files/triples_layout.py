"""A graph as the tables that KnowGIC publishes beside chains; `loaders.triples` reads them again.

* `kg.yaml`: subject → relation → objects.
* `relations_one_to_one.csv`: the same facts, one a row.
* `relations_all_combinations.csv`: every fact, then every longer chain of the rewrites, as paths
  `A->B->C` with their relations `r1->r2`.
* `atomic_samples.csv`: statements of each fact without its object: the prompt, then paraphrases.
* `base_triple.csv`: the facts to edit.

Three further parts are not in the published files, and make the import complete: columns
`question1`, … of `atomic_samples.csv`, `attributes_with_aliases.json` (KnowGIC's format), and
`rewrites.yaml` with the new objects. What is lost is in `Layout.lost`: kinds of entities, which
rewrites may use which fact, and prompts for specificity and generation.
"""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from ....loaders.records import SUBJECT_SLOT, Fact, KnowledgeGraph, RewriteRequest
from ....loaders.triple_files import (
    BASE_COLUMNS,
    BASE_FILE,
    PLAIN_COLUMNS,
    REWRITES_FILE,
    STATEMENT_COLUMNS,
)
from ....loaders.wording import from_statement
from .layout import Chains, Layout, aliases_file, csv_bytes

ARROW = "->"


def triples(graph: KnowledgeGraph, chains: Chains) -> Layout:
    """The files of a graph."""
    layout = Layout()
    nested: dict[str, dict[str, list[str]]] = {}
    for fact in graph.facts:
        nested.setdefault(fact.subject, {}).setdefault(fact.relation, []).append(fact.object)
    plain = [(fact.subject, fact.relation, fact.object) for fact in graph.facts]
    bases = [r for r in graph.rewrites if ARROW not in r.subject + r.target_true]
    layout.files = {
        "kg.yaml": _yaml(nested),
        "relations_one_to_one.csv": csv_bytes(PLAIN_COLUMNS, plain),
        "relations_all_combinations.csv": csv_bytes(BASE_COLUMNS, _paths(graph, chains)),
        "atomic_samples.csv": _statements(graph),
        REWRITES_FILE: _yaml([_rewrite(rewrite, layout) for rewrite in graph.rewrites]),
        **aliases_file(graph),
    }
    if bases:
        rows = dict.fromkeys((f"{r.subject}{ARROW}{r.target_true}", r.relation) for r in bases)
        layout.files[BASE_FILE] = csv_bytes(BASE_COLUMNS, rows)
    if not graph.rewrites:
        del layout.files[REWRITES_FILE]
    layout.lose(
        sum(bool(f.cases) for f in graph.facts),
        "facts are for some rewrites only; after the import every rewrite may use them",
    )
    layout.lose(sum(e.kind is not None for e in graph.entities), "kinds of entities are left out")
    layout.lose(
        sum(bool(r.neighborhood or r.generation_prompts) for r in graph.rewrites),
        "rewrites have prompts for specificity or generation, which are left out",
    )
    return layout


def _yaml(value: object) -> bytes:
    return yaml.safe_dump(value, allow_unicode=True, sort_keys=False, width=1000).encode()


def _paths(graph: KnowledgeGraph, chains: Chains) -> Iterator[tuple[str, str]]:
    seen: set[tuple[str, str]] = set()
    longer = (c for r in graph.rewrites for c in chains.get(r.id, ()) if len(c) > 1)
    for path in (*((fact,) for fact in graph.facts), *longer):
        entities = [path[0].subject, *(fact.object for fact in path)]
        row = (ARROW.join(entities), ARROW.join(fact.relation for fact in path))
        if row not in seen:
            seen.add(row)
            yield row


def _statements(graph: KnowledgeGraph) -> bytes:
    n_statements = max((1 + len(f.paraphrases) for f in graph.facts), default=1)
    n_questions = max((len(f.questions) for f in graph.facts), default=0)
    subject, predicate, object_ = STATEMENT_COLUMNS
    header = [subject, object_, predicate]
    header += [f"statement{i + 1}" for i in range(n_statements)]
    header += [f"question{i + 1}" for i in range(n_questions)]
    rows = []
    for fact in graph.facts:
        stated = [_statement(cloze, fact) for cloze in (fact.prompt, *fact.paraphrases)]
        stated += [""] * (n_statements - len(stated))
        asked = [*fact.questions, *[""] * (n_questions - len(fact.questions))]
        rows.append([fact.subject, fact.object, fact.relation, *stated, *asked])
    return csv_bytes(header, rows)


def _statement(cloze: str, fact: Fact) -> str:
    """The cloze with the subject; the cloze itself where the sentence would be read as another."""
    filled = cloze.replace(SUBJECT_SLOT, fact.subject, 1)
    same = from_statement(filled, fact.subject, fact.object) == cloze
    return filled if same else cloze


def _rewrite(rewrite: RewriteRequest, layout: Layout) -> dict[str, object]:
    entry: dict[str, object] = {
        "subject": rewrite.subject,
        "relation": rewrite.relation,
        "target_true": rewrite.target_true,
        "target_new": rewrite.target_new,
        "prompt": rewrite.prompt,
        "paraphrases": list(rewrite.paraphrases),
    }
    if rewrite.question and rewrite.question.count(rewrite.subject) == 1:
        entry["question"] = rewrite.question.replace(rewrite.subject, SUBJECT_SLOT)
    elif rewrite.question:
        layout.lose(1, f"question of a rewrite does not name {rewrite.subject!r} once: left out")
    return entry
