"""Graphs and runs as files: KnowGIC's published layouts, and the audit bundle of a run."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.resources import files as package_files
from typing import TYPE_CHECKING, Any, Literal

import yaml
from pydantic import BaseModel

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
    BASE_COLUMNS,
    BASE_FILE,
    ENTITIES_TABLE,
    PLAIN_COLUMNS,
    REWRITES_FILE,
    REWRITES_TABLE,
    STATEMENT_COLUMNS,
)
from ...loaders.wording import from_statement
from ..base.errors import UsageError
from ..graphs import datasets
from .output import with_digests
from .runs import require_run
from .schemas import CandidateOut, DecisionOut, GrowthOut

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


def in_scope(fact: Fact, rewrite: RewriteRequest) -> bool:
    """Return True if the chains of a rewrite may use a fact."""
    return not fact.cases or not rewrite.n_records or rewrite.id in fact.cases


def aliases_file(graph: KnowledgeGraph) -> dict[str, bytes]:
    """KnowGIC's file of aliases."""
    aliases = {entity.name: {"answer_alias": list(entity.aliases)} for entity in graph.entities}
    return {ALIASES_FILE: json_bytes(aliases)}


def json_bytes(value: object) -> bytes:
    """Indented JSON in UTF-8, as KnowGIC writes it."""
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
            remedy="Write the layout that lists facts: --format qwen-sample.",
        )
    for number, record in enumerate(records):
        record["case_id"] = number
    layout.files = {CHAINS_FILE: json_bytes(records)} | aliases_file(graph)
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
    scope = [_asked(fact) for fact in graph.facts if in_scope(fact, rewrite)]
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


# A graph as the tables that KnowGIC publishes beside chains; `loaders.triples` reads them again.
#
# * `kg.yaml`: subject → relation → objects.
# * `relations_one_to_one.csv`: the same facts, one a row.
# * `relations_all_combinations.csv`: every fact, then every longer chain of the rewrites, as paths
#   `A->B->C` with their relations `r1->r2`.
# * `atomic_samples.csv`: statements of each fact without its object: the prompt, then paraphrases.
# * `base_triple.csv`: the facts to edit.
#
# Three further parts are not in the published files, and make the import complete: columns
# `question1`, … of `atomic_samples.csv`, `attributes_with_aliases.json` (KnowGIC's format), and
# `rewrites.yaml` with the new objects. Lost parts are in `Layout.lost`: kinds of entities, which
# rewrites may use which fact, and prompts for specificity and generation.
#
# `tables` is the same graph for a spreadsheet, nothing of it twice: `facts.csv` (as
# `atomic_samples.csv`), `rewrites.csv`, and `entities.csv` with kinds and aliases.

ARROW = "->"


def triples(graph: KnowledgeGraph, chains: Chains) -> Layout:
    """The files of a graph."""
    layout = Layout()
    nested: dict[str, dict[str, list[str]]] = {}
    for fact in graph.facts:
        nested.setdefault(fact.subject, {}).setdefault(fact.relation, []).append(fact.object)
    plain = [(fact.subject, fact.relation, fact.object) for fact in graph.facts]
    requests = [_rewrite(rewrite, layout) for rewrite in graph.rewrites]
    bases = [r for r in graph.rewrites if ARROW not in r.subject + r.target_true]
    layout.files = {
        "kg.yaml": _yaml(nested),
        "relations_one_to_one.csv": csv_bytes(PLAIN_COLUMNS, plain),
        "relations_all_combinations.csv": csv_bytes(BASE_COLUMNS, _paths(graph, chains)),
        "atomic_samples.csv": _statements(graph, layout),
        REWRITES_FILE: _yaml(requests),
        **aliases_file(graph),
    }
    if bases:
        rows = dict.fromkeys((f"{r.subject}{ARROW}{r.target_true}", r.relation) for r in bases)
        layout.files[BASE_FILE] = csv_bytes(BASE_COLUMNS, rows)
    if not graph.rewrites:
        del layout.files[REWRITES_FILE]
    layout.lose(sum(e.kind is not None for e in graph.entities), "kinds of entities are left out")
    _triples_layout_note_losses(graph, layout)
    return layout


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
    _triples_layout_note_losses(graph, layout)
    return layout


def _triples_layout_note_losses(graph: KnowledgeGraph, layout: Layout) -> None:
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


def _table(header: Sequence[str], kinds: Sequence[str], rows: Sequence[Mapping[str, str]]) -> bytes:
    """Return rows as CSV: the columns of the header, then `kind1`, `kind2`, ... of each kind."""
    columns = [*header]
    for kind in kinds:
        n = max((sum(key.startswith(kind) for key in row) for row in rows), default=0)
        columns += [f"{kind}{i + 1}" for i in range(n)]
    return csv_bytes(columns, ([row.get(key, "") for key in columns] for row in rows))


def _number(kind: str, texts: Iterable[str]) -> dict[str, str]:
    return {f"{kind}{i}": text for i, text in enumerate(texts, 1)}


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
    if rewrite.kind == "forget":
        del entry["target_new"]
        entry["forget"] = True
    ends = (rewrite.target_new, rewrite.target_true)
    if rewrite.id != RewriteRequest.make_id(rewrite.subject, rewrite.relation, *ends):
        entry["id"] = rewrite.id
    if rewrite.checks:
        entry["checks"] = [check.stated for check in rewrite.checks]
    if rewrite.question and rewrite.question.count(rewrite.subject) == 1:
        entry["question"] = rewrite.question.replace(rewrite.subject, SUBJECT_SLOT)
    elif rewrite.question:
        layout.lose(1, f"question of a rewrite does not name {rewrite.subject!r} once: left out")
    return entry


def _is_cloze(text: str) -> bool:
    """Return True if an import takes the text as a paraphrase."""
    return len(slot_parts(text)) == 2 and LITERAL_SLOT not in text


# The audit bundle of a growth run: everything its graph rests on, in files.
#
# * `run.json`: model, endpoint, request, digest of the prompts, state and cost. * `prompts/*.md`:
# the prompts as they are installed; texts as they were sent: `answers.jsonl`. * `answers.jsonl`:
# every raw answer with its request. * `statements.jsonl`, `candidates.jsonl`: triplets read from
# them, and their outcome. * `decisions.jsonl`: every decision, in order. * `iterations.jsonl`:
# the table of iterations. * `facts.jsonl`: the facts of the graph. * `sha256sums.txt`: digest of
# each file; `sha256sum -c` checks them.
#
# Two bundles of a finished run are equal byte by byte: rows are ordered, and nothing in them
# depends on when the bundle was written. A key is never part of a run; should the value of the
# configured one have entered an answer, or an address contain a password, it is replaced.

KEY_VARIABLES = ("THINKEVAL_LLM_API_KEY", "OPENAI_API_KEY", "THINKEVAL_API_KEY")
HIDDEN = "[removed]"
_USER_OF_ADDRESS = re.compile(r"(?<=://)[^/@\s\"]+@")
_JSON_COLUMNS = ("request", "capabilities", "messages", "checks", "corrected", "judge_corrected")
_DERIVED = ("notes", "reused", "scored_as", "counts", "judged")
"""Fields of a run that follow from others."""


def audit_bundle(db: Database, run: str) -> dict[str, bytes]:
    """The files of the bundle, by name.

    Raises:
        NotFoundError: no such run; says which are close.
    """
    found = require_run(db, run)
    about = {k: getattr(found, k) for k in GrowthOut.model_fields if k not in _DERIVED}
    about["iterations"] = len(found.iterations)
    files = {
        "run.json": json_bytes(_plain(about)),
        "answers.jsonl": _lines(db.read(rows.AllAnswersRow, "growth/all_answers", run=run)),
        "statements.jsonl": _lines(
            db.read(rows.AllStatementsRow, "growth/all_statements", run=run)
        ),
        "candidates.jsonl": _lines(db.read(CandidateOut, "growth/candidates", run=run)),
        "decisions.jsonl": _lines(db.read(DecisionOut, "growth/decisions", run=run)),
        "iterations.jsonl": _lines(found.iterations),
        "facts.jsonl": _facts(db, found.graph),
        **_prompts(),
    }
    return with_digests({name: _without_secrets(body) for name, body in files.items()})


def _lines(found: Iterable[Any]) -> bytes:
    return "".join(
        json.dumps(_plain(_columns(row)), ensure_ascii=False, sort_keys=True) + "\n"
        for row in found
    ).encode()


def _columns(row: Any) -> dict[str, Any]:
    """Return the stored columns of a row, whether they are shown or not."""
    if not isinstance(row, BaseModel):
        return asdict(row)
    shown = row.model_dump(exclude_none=False)
    return {name: shown.get(name, getattr(row, name)) for name in type(row).model_fields}


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """The row with its columns of JSON as values."""
    return {
        name: json.loads(value) if name in _JSON_COLUMNS and isinstance(value, str) else value
        for name, value in row.items()
    }


def _facts(db: Database, graph: str) -> bytes:
    """Return the facts with their measured values, without empty columns."""
    lines = []
    for row in db.read(rows.FactRow, "graph/facts", graph=graph):
        values = {k: v for k, v in asdict(row).items() if v not in (None, (), [])}
        lines.append(json.dumps(values, ensure_ascii=False, sort_keys=True) + "\n")
    return "".join(lines).encode()


def _prompts() -> dict[str, bytes]:
    folder = package_files("thinkeval.service.growth").joinpath("prompts")
    if not folder.is_dir():
        return {}
    return {
        f"prompts/{file.name}": file.read_bytes()
        for file in folder.iterdir()
        if file.name.endswith(".md")
    }


def _without_secrets(body: bytes) -> bytes:
    text = _USER_OF_ADDRESS.sub("", body.decode())
    for variable in KEY_VARIABLES:
        key = os.environ.get(variable, "").strip()
        if len(key) > 3:
            text = text.replace(key, HIDDEN)
    return text.encode()


# Export of a stored graph, or of the graph of a growth run, in KnowGIC's published layouts.

LAYOUTS = {"knowgic": knowgic, "qwen-sample": triples}
MOST_CHAINS = 100_000
"""Of one rewrite; chains.json with more would be of gigabytes."""


def export_graph(
    db: Database, graph: str, layout: str, *, single_link: bool = True, max_steps: int = 5
) -> Layout:
    """A stored data set in one of the layouts.

    Args:
        single_link: of the facts from one entity to another that a rewrite may use, write one:
            the one that chains use (the edited fact first, then the likeliest, then the smallest
            id). The chains are the same, as parallel facts give one chain.
        max_steps: longest chain that is written, 1..5.

    Raises:
        NotFoundError: no such data set.
        UsageError: a rewrite has too many chains, or the layout cannot hold any of it.
    """
    stored = datasets.stored_graph(db, graph)
    chains = {r.id: _chains(db, stored, r, max_steps) for r in stored.rewrites}
    dropped = 0
    if single_link:
        before = len(stored.facts)
        stored, chains = one_link_a_pair(stored, chains)
        dropped = before - len(stored.facts)
    made = LAYOUTS[layout](stored, chains)
    made.lose(dropped, "facts run parallel to another and are left out (--single-link)")
    return made


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


def one_link_a_pair(
    graph: KnowledgeGraph, chains: Chains
) -> tuple[KnowledgeGraph, dict[str, list[tuple[Fact, ...]]]]:
    """The graph with at most one fact from one entity to another in the scope of each rewrite.

    Without rewrites: in the whole graph.
    """
    kept: set[str] = set()
    chosen: dict[str, list[tuple[Fact, ...]]] = {}
    for rewrite in graph.rewrites:
        best = _chosen(graph, rewrite, chains.get(rewrite.id, ()))
        kept |= {fact.id for fact in best.values()}
        chosen[rewrite.id] = [
            tuple(best[fact.subject, fact.object] for fact in chain)
            for chain in chains.get(rewrite.id, ())
        ]
    if not graph.rewrites:
        kept = {fact.id for fact in _chosen(graph, None, ()).values()}
    facts = tuple(fact for fact in graph.facts if fact.id in kept)
    return replace(graph, facts=facts), chosen


def _chosen(
    graph: KnowledgeGraph, rewrite: RewriteRequest | None, chains: Sequence[tuple[Fact, ...]]
) -> dict[tuple[str, str], Fact]:
    used = {fact.id for chain in chains for fact in chain}
    between: dict[tuple[str, str], list[Fact]] = defaultdict(list)
    for fact in graph.facts:
        if rewrite is None or in_scope(fact, rewrite):
            between[fact.subject, fact.object].append(fact)
    relation = rewrite.relation if rewrite else None
    edited = (rewrite.subject, rewrite.target_true) if rewrite else None
    return {
        pair: min(
            facts,
            key=lambda f: (not (pair == edited and f.relation == relation), f.id not in used, f.id),
        )
        for pair, facts in between.items()
    }


# The formats of an export, of a run or of a stored graph, as every interface offers them.

Format = Literal["knowgic", "qwen-sample", "csv", "audit"]
"""KnowGIC's two published layouts, tables for a spreadsheet, and all that a run rests on."""


def exported(
    db: Database, name: str, format: Format, *, single_link: bool = True, max_steps: int = 5
) -> Layout:
    """The files of a run, or of a graph where no run has that name.

    Raises:
        NotFoundError: no such run or graph; `audit` takes a run only.
        UsageError: as `export_graph`.
    """
    if format == "audit":
        return Layout(audit_bundle(db, name))
    runs = db.read(GrowthOut, "growth/runs", id=name)
    graph = runs[0].graph if runs else name
    if format == "csv":
        return tables(datasets.stored_graph(db, graph))
    return export_graph(db, graph, format, single_link=single_link, max_steps=max_steps)
