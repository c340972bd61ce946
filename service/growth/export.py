"""Graphs as files: KnowGIC's records of chains, or tables for a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ...cypher import rows
from ...loaders.knowgic import ALIASES_FILE, CHAINS_FILE
from ...loaders.knowgic_records import PARTS
from ...loaders.records import (
    LITERAL_SLOT,
    SUBJECT_SLOT,
    Fact,
    KnowledgeGraph,
    RewriteRequest,
    slot_parts,
)
from ...loaders.triple_files import (
    ENTITIES_TABLE,
    REWRITES_TABLE,
    STATEMENT_COLUMNS,
)
from ...loaders.wording import from_statement
from ..base.errors import UsageError
from ..graphs import datasets
from .schemas import ExportFormat, GrowthOut

if TYPE_CHECKING:
    from ...cypher.run import Database


Chains = Mapping[str, Sequence[tuple[Fact, ...]]]
"""Chains of each rewrite, by its id: the facts in order from subject to target_true."""


@dataclass(slots=True)
class Layout:
    """Files by name, and the lost parts: one sentence each, with counts."""

    files: dict[str, bytes] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)

    def lose(self, count: int, what: str) -> None:
        """Note something that the format cannot hold, if there is any."""
        if count:
            self.lost.append(f"{count:,} {what}")


def json_bytes(value: object) -> bytes:
    """Return indented JSON in UTF-8, as KnowGIC writes it."""
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()


def csv_bytes(header: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """A CSV file in UTF-8 with Unix line ends."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue().encode()


# A graph as KnowGIC's `chains.json` and aliases, which `loaders.knowgic` reads again.
#
# One record a chain. Its `broader_context` has the scope's other facts between entities of the
# chain; the first record of a rewrite also has the facts of its scope that no other record lists,
# so that every fact in the scope of a rewrite is in the file.
#
# The format has prompts but no relation names: after the import the relation of a fact is the
# slug of its prompt. It has no paraphrases, kinds of entities, or prompts of rewrites for
# specificity and generation, and no rewrite without a chain; `Layout.lost` counts those of a
# graph.

Triple = tuple[str, str, str]


def knowgic(graph: KnowledgeGraph, chains: Chains) -> Layout:
    """The files of a graph.

    Raises:
        UsageError: no rewrite of the graph has a chain, so there is no record to write.
    """
    layout, writer = Layout(), _Links()
    graph = _without_forgetting(graph, layout)
    records: list[dict[str, Any]] = []
    for rewrite in graph.rewrites:
        records += _records(rewrite, graph, chains.get(rewrite.id, ()), writer)
    if not records:
        raise UsageError(
            f"Graph {graph.name!r} has no rewrite with a chain, and chains.json is a list of"
            " chains.",
            remedy="Write the tables, which list facts: --format csv.",
        )
    for number, record in enumerate(records):
        record["case_id"] = number
    aliases = {entity.name: {"answer_alias": list(entity.aliases)} for entity in graph.entities}
    layout.files = {CHAINS_FILE: json_bytes(records), ALIASES_FILE: json_bytes(aliases)}
    _note_losses(layout, graph, chains, writer)
    return layout


class _Links:
    """Writes facts as links; repeats of a fact go through its questions."""

    def __init__(self) -> None:
        self.written: dict[Triple, int] = defaultdict(int)

    def of(self, facts: Iterable[Fact]) -> dict[str, list[str]]:
        """The four parallel lists of some facts."""
        lists: dict[str, list[str]] = {part: [] for part in PARTS}
        for fact in facts:
            number = self.written[_key(fact)]
            self.written[_key(fact)] += 1
            lists["questions"].append(fact.questions[number % len(fact.questions)])
            lists["answers"].append(fact.object)
            lists["prompts"].append(fact.prompt)
            lists["subjects"].append(fact.subject)
        return lists


def _key(fact: Fact) -> Triple:
    return (fact.subject, fact.relation, fact.object)


def _asked(fact: Fact) -> Fact:
    """The fact with a question: each link has one, and the prompt is one where no other is."""
    if fact.questions:
        return fact
    return replace(fact, questions=(fact.prompt.replace("{}", fact.subject, 1),))


def _records(
    rewrite: RewriteRequest,
    graph: KnowledgeGraph,
    chains: Sequence[tuple[Fact, ...]],
    writer: _Links,
) -> list[dict[str, Any]]:
    scope = [_asked(fact) for fact in graph.facts if _in_scope(fact, rewrite)]
    between: dict[tuple[str, str], list[Fact]] = defaultdict(list)
    for fact in scope:
        between[fact.subject, fact.object].append(fact)
    contexts = [_context(chain, between) for chain in chains]
    listed = {_key(f) for facts in (*chains, *contexts) for f in facts}
    if contexts:
        contexts[0] += [fact for fact in scope if _key(fact) not in listed]
    return [
        {
            "case_id": 0,
            "requested_rewrite": [
                {
                    "prompt": rewrite.prompt,
                    "target_new": {"str": rewrite.target_new},
                    "target_true": {"str": rewrite.target_true},
                    "subject": rewrite.subject,
                }
            ],
            "chain": writer.of(_asked(fact) for fact in chain),
            "broader_context": writer.of(context),
        }
        for chain, context in zip(chains, contexts, strict=True)
    ]


def _in_scope(fact: Fact, rewrite: RewriteRequest) -> bool:
    """Return True if the chains of a rewrite may use a fact."""
    return not fact.cases or not rewrite.n_records or rewrite.id in fact.cases


def _context(chain: Sequence[Fact], between: dict[tuple[str, str], list[Fact]]) -> list[Fact]:
    own = {_key(fact) for fact in chain}
    entities = list(dict.fromkeys(name for fact in chain for name in (fact.subject, fact.object)))
    pairs = ((a, b) for a in entities for b in entities)
    return [fact for pair in pairs for fact in between.get(pair, ()) if _key(fact) not in own]


def _note_losses(layout: Layout, graph: KnowledgeGraph, chains: Chains, writer: _Links) -> None:
    kept = {r.id for r in graph.rewrites if chains.get(r.id)}
    asked = {_key(f): len(f.questions) for f in graph.facts}
    layout.lose(len(graph.rewrites) - len(kept), "rewrites have no chain and are left out")
    layout.lose(
        sum(key not in writer.written for key in asked), "facts are in no written rewrite's scope"
    )
    layout.lose(
        sum(0 < writer.written.get(key, 0) < n for key, n in asked.items()),
        "facts have more questions than links, so some of their questions are left out",
    )
    layout.lose(
        sum(not f.questions for f in graph.facts),
        "facts have no question; the format needs one, so their prompt is it",
    )
    layout.lose(
        sum(bool(f.paraphrases) for f in graph.facts), "facts have paraphrases, which are left out"
    )
    layout.lose(sum(e.kind is not None for e in graph.entities), "kinds of entities are left out")
    layout.lose(
        sum(bool(r.neighborhood or r.generation_prompts) for r in graph.rewrites),
        "rewrites have prompts for specificity or generation, which are left out",
    )
    layout.lose(
        sum(bool(r.checks) for r in graph.rewrites), "rewrites have checks, which are left out"
    )
    layout.lose(
        len({f.relation for f in graph.facts}),
        "relation names are replaced by the slugs of their prompts at the next import",
    )


# A graph for a spreadsheet, which `loaders.triples` reads again: `facts.csv` with statements of
# each fact without its object (the prompt, then paraphrases) and its questions, `rewrites.csv`,
# and `entities.csv` with kinds and aliases.


def tables(graph: KnowledgeGraph) -> Layout:
    """Return the tables of a graph, with all of its facts."""
    layout = Layout()
    graph = _without_forgetting(graph, layout)
    replaced = [rewrite for rewrite in graph.rewrites if not rewrite.correct]
    requests = [_rewrite(rewrite, layout) for rewrite in replaced]
    layout.files = {
        "facts.csv": _statements(graph, layout),
        REWRITES_TABLE: _table(
            ("subject", "relation", "target_true", "target_new", "prompt", "question"),
            ("paraphrase",),
            [_number("paraphrase", each.pop("paraphrases")) | each for each in requests],
        ),
        ENTITIES_TABLE: _table(
            ("entity", "kind"),
            ("alias",),
            [
                {"entity": each.name, "kind": each.kind or ""} | _number("alias", each.aliases)
                for each in graph.entities
            ],
        ),
    }
    layout.lose(len(graph.rewrites) - len(replaced), "requests to append are left out")
    layout.lose(sum(bool(r.checks) for r in replaced), "rewrites have checks, which are left out")
    layout.lose(
        sum(bool(f.cases) for f in graph.facts),
        "facts are for some rewrites only; after the import every rewrite may use them",
    )
    layout.lose(
        sum(bool(r.neighborhood or r.generation_prompts) for r in graph.rewrites),
        "rewrites have prompts for specificity or generation, which are left out",
    )
    layout.lose(
        sum(not _is_cloze(text) for r in graph.rewrites for text in r.paraphrases),
        "paraphrases of rewrites do not name the subject once, and are left out",
    )
    return layout


def _table(header: Sequence[str], kinds: Sequence[str], rows: Sequence[Mapping[str, str]]) -> bytes:
    """Return rows as CSV: the columns of the header, then `kind1`, `kind2`, ... of each kind."""
    columns = [*header]
    for kind in kinds:
        n = max((sum(key.startswith(kind) for key in row) for row in rows), default=0)
        columns += [f"{kind}{i + 1}" for i in range(n)]
    return csv_bytes(columns, ([row.get(key, "") for key in columns] for row in rows))


def _number(kind: str, texts: Iterable[str]) -> dict[str, str]:
    return {f"{kind}{i}": text for i, text in enumerate(texts, 1)}


def _statements(graph: KnowledgeGraph, layout: Layout) -> bytes:
    subject, predicate, object_ = STATEMENT_COLUMNS
    rows, otherwise = [], 0
    for fact in graph.facts:
        clozes = (fact.prompt, *fact.paraphrases)
        stated = [_statement(cloze, fact) for cloze in clozes]
        again = [from_statement(text, fact.subject, fact.object) for text in stated]
        otherwise += sum(read != cloze for read, cloze in zip(again, clozes, strict=True))
        names = {subject: fact.subject, object_: fact.object, predicate: fact.relation}
        rows.append(names | _number("statement", stated) | _number("question", fact.questions))
    layout.lose(otherwise, "prompts or paraphrases of facts are read otherwise after the import")
    return _table((subject, object_, predicate), ("statement", "question"), rows)


def _statement(cloze: str, fact: Fact) -> str:
    """The cloze with the subject; the cloze itself where the sentence would be read as another."""
    filled = cloze.replace(SUBJECT_SLOT, fact.subject, 1)
    same = from_statement(filled, fact.subject, fact.object) == cloze
    return filled if same else cloze


def _without_forgetting(graph: KnowledgeGraph, layout: Layout) -> KnowledgeGraph:
    kept = tuple(rewrite for rewrite in graph.rewrites if rewrite.kind != "forget")
    layout.lose(len(graph.rewrites) - len(kept), "requests to forget are left out")
    return replace(graph, rewrites=kept)


def _rewrite(rewrite: RewriteRequest, layout: Layout) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "subject": rewrite.subject,
        "relation": rewrite.relation,
        "target_true": rewrite.target_true,
        "target_new": rewrite.target_new,
        "prompt": rewrite.prompt,
        "paraphrases": [text for text in rewrite.paraphrases if _is_cloze(text)],
    }
    if rewrite.question and rewrite.question.count(rewrite.subject) == 1:
        entry["question"] = rewrite.question.replace(rewrite.subject, SUBJECT_SLOT)
    elif rewrite.question:
        layout.lose(1, f"question of a rewrite does not name {rewrite.subject!r} once: left out")
    return entry


def _is_cloze(text: str) -> bool:
    """Return True if an import takes the text as a paraphrase."""
    return len(slot_parts(text)) == 2 and LITERAL_SLOT not in text


MOST_CHAINS = 100_000
"""Of one rewrite; chains.json with more would be of gigabytes."""


def _chains(
    db: Database, graph: KnowledgeGraph, rewrite: RewriteRequest, max_steps: int
) -> list[tuple[Fact, ...]]:
    by_id = {f"{graph.name}|{fact.id}": fact for fact in graph.facts}
    case = {k: v for k, v in datasets.case(graph.name, rewrite).items() if k != "id"}
    found = db.read(
        rows.ChainRow, "chains/enumerate", **case, max_steps=max_steps, limit=MOST_CHAINS + 1
    )
    if len(found) > MOST_CHAINS:
        raise UsageError(
            f"Rewrite {rewrite.id!r} has more than {MOST_CHAINS:,} chains.",
            remedy="Write shorter chains only: --max-steps.",
        )
    return [tuple(by_id[id_] for id_ in row.facts) for row in found]


def exported(db: Database, name: str, format: ExportFormat, *, max_steps: int = 5) -> Layout:
    """The files of a run's graph, or of a graph where no run has that name.

    Args:
        max_steps: longest chain that is written, 1..5.

    Raises:
        NotFoundError: no such run or graph.
        UsageError: a rewrite has too many chains, or none has one.
    """
    runs = db.read(GrowthOut, "growth/runs", id=name)
    graph = datasets.stored_graph(db, runs[0].graph if runs else name)
    if format == "csv":
        return tables(graph)
    return knowgic(graph, {r.id: _chains(db, graph, r, max_steps) for r in graph.rewrites})
