"""docs/reference/graph-schema.md: labels, relationship types, properties, constraints, indexes.

Which label has which property is read off the queries: a variable that a pattern binds to a label,
and what is read or written of it. Names that the schema does not declare are no properties.
"""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache

from reference_pages.markdown import blocks, cell, code, table
from thinkeval import cypher

SCHEMA = "schema/constraints"

LABELS = {
    "Graph": "A stored graph: a data set, what a model answers, or an edit.",
    "Entity": "A subject or object; one node a name in each graph.",
    "Subject": "Second label of an entity of an edit: the subject of the edited fact.",
    "TargetTrue": "Second label of an entity of an edit: the old object.",
    "TargetNew": "Second label of an entity of an edit: the new object.",
    "RewriteRequest": "A fact to edit: subject, relation, prompt, old and new object.",
    "Edit": "An edit that was asked for, with its state and score; also a `Job`.",
    "Job": "Something for a worker to do: state, progress, lease.",
    "Post": "The request of a client, by its idempotency key.",
    "Queue": "The counter from which jobs take their tickets.",
    "Worker": "A process that takes jobs from the queue.",
    "Sweep": "Several methods on several rewrites, submitted as one.",
    "Rule": "An If-Then rule of a data set.",
    "Annotator": "Someone who labelled rules.",
    "Grounding": "A proof step: premises and the conclusion of a rule.",
    "KnowledgeSet": "A rule, facts and implications of the establish-and-update protocol.",
    "Question": "A question of a knowledge set.",
    "ProtocolRun": "A run of that protocol on a set.",
    "GrowthRun": "A run that grows a graph from what a model answers.",
    "Query": "A question that a growth run put to a model.",
    "Answer": "One answer to it.",
    "Statement": "A sentence that an answer holds.",
    "Candidate": "A triplet that a growth run found, and its review.",
    "Decision": "A decision about a candidate: by whom, when and why.",
    "Iteration": "One iteration of a growth run.",
    "AppendAnswers": "What both models answer at a prompt of an edit that appends.",
    "FormAnswer": "What a model answers about a fact in one form, before and after an edit.",
    "CheckAnswer": "What both models answer to a question that a data set asks after an edit.",
    "Experiment": "A stored experiment of a `kind`: a co-edit, a comparison of states, a protocol.",
    "Schema": "Version of the database.",
}
"""What a node of each label is."""

TYPES = {
    "FACT": ("Entity", "Entity", "A fact: subject, relation and object, with probabilities."),
    "IMPLIED": ("Entity", "Entity", "A conclusion that rules give, with its strength."),
    "REWRITES": ("Edit", "RewriteRequest", "The rewrite that an edit is of."),
    "PRODUCED": ("Edit", "Graph", "The edit graph of a scored edit."),
    "ASKS_FOR": ("Post", "Job", "The job of a request."),
    "LABELLED": ("Annotator", "Rule", "A label that an annotator gave."),
    "HAS_QUESTION": ("KnowledgeSet", "Question", "The questions of a set."),
    "USES": ("ProtocolRun", "KnowledgeSet", "The set that a run is on."),
    "ANSWERED": (
        "ProtocolRun, Edit or Graph",
        "Question, AppendAnswers, FormAnswer or CheckAnswer",
        "What the model answered in a run, both models about an appended answer, in a form, or to"
        " a check of the data set.",
    ),
    "MADE": ("GrowthRun", "Graph", "The graph that a run made."),
    "TO": ("Answer", "Query", "The question of an answer."),
    "OF": ("Statement", "Answer", "The answer that a statement was read from."),
    "FROM": ("Candidate", "Statement", "The statements that a candidate rests on."),
    "VALIDATED_BY": ("Candidate", "Query", "The questions that validated a candidate."),
    "ABOUT": ("Decision", "Candidate", "The candidate that a decision is about."),
    "HAD": ("GrowthRun", "Iteration", "The iterations of a run."),
    "SCORED": ("Experiment", "Edit", "An edit that it scored; `place` is its number."),
}
"""What a relationship of each type says: the labels of its ends, and its meaning."""

MEANINGS = {
    "after": "of a decision, JSON: what it left; of a comparison, name of the second state",
    "after_digest": "digest of the second state of a comparison",
    "attempt": "number of the claim that holds the lease",
    "attempts": "number of times a worker claimed it",
    "before": "of a decision, JSON: what it found; of a comparison, name of the first state",
    "before_digest": "digest of the first state of a comparison",
    "affinity": "jobs with the same text are served by one loaded model",
    "neighborhood_p_pre": "sampled, one a prompt of the neighborhood",
    "paraphrases_p_pre": "sampled, one a paraphrase of the rewrite",
    "neighborhood_likelihood_pre": "teacher-forced, one a prompt of the neighborhood",
    "neighborhood_likelihood_norm_pre": "the same, normalised by length",
    "paraphrases_likelihood_pre": "teacher-forced, one a paraphrase",
    "paraphrases_likelihood_norm_pre": "the same, normalised by length",
    "templates2": "sentences that state the second premise",
    "templates3": "sentences that state the conclusion",
    "beat": "milliseconds since 1970 of its last sign of life",
    "id": "unique among the nodes of its label, or the relationships of its type",
    "answer": "what the model answered",
    "crashes": "number of workers that died while they did it; a lease that expired is a quarter",
    "decided_by": "who decided last",
    "edit": "id of the edit",
    "events": "JSON: what happened to it, in order",
    "generations_pre": "texts that the model wrote before the edit",
    "iteration": "number of the iteration in which it was found or asked",
    "judge": "which model judged it",
    "further_pre": "the form's further number before the edit",
    "given": "number of sentences in a prefix",
    "chance": "accuracy by chance",
    "key": "`GRAPH|NAME`, unique",
    "key_group": "facts with one number have one key in the edited layer",
    "kl": "KL divergence a token on the unedited model's own texts",
    "labelled_at": "ISO 8601",
    "lease_until": "milliseconds since 1970 until which the worker holds it",
    "log_lock": "locked while a decision is stored",
    "migrated_at": "ISO 8601",
    "n_decisions": "number of decisions",
    "n_entities": "number of entities",
    "perplexity_ratio": "perplexity on these texts, after divided by before",
    "place": "position among its kind, from 0",
    "queued_ms": "when it was queued, milliseconds since 1970",
    "reason": "why it has its state, or was decided so",
    "restoring": "name of the backup of which the database is being restored",
    "remedy": "what to do about the error",
    "role": "what it is for: of a fact `fact`, `target_true`, `target_new`, `implication`, …",
    "rule": "id of the rule",
    "score": "JSON: the score",
    "seconds": "time it took",
    "state": "of a run, a candidate or a statement: how far it is",
    "stop_reason": "why it ended or pauses",
    "strategy": "key of the strategy",
    "text": "the text itself; of a rule: its words",
    "ticket": "position in the queue, ascending",
    "tickets": "the last ticket that was given",
    "try": "number of the attempt",
    "update_norm": "norm of the update divided by that of the weights it changes",
    "kind": "what it is among the nodes of its label, such as `dataset` or `edit`",
    "model": "the model it was computed with",
    "number": "position among its kind, from 0 or 1",
    "run": "id of the run it belongs to",
    "seed": "seed of everything random in it",
    "status": "queued, running, succeeded, failed or cancelled; of a rule: whether it is kept",
    "cancel": "true if the job shall be cancelled",
    "complete": "true if readers see it",
    "conclusion": "id of the conclusion",
    "constraints": "digest of the schema/constraints that was applied last",
    "copy": "number of the updated copy; null in phase establish",
    "corrected": "JSON: the corrected subject, relation, object",
    "device": "what it computes on",
    "established": "its answer in phase establish; null in that phase",
    "expected": "the right answer; null where nothing follows any longer",
    "finished_at": "ISO 8601",
    "host": "machine it runs on, for information only",
    "judge_corrected": "JSON: the judge's correction",
    "judged": "what the model judge decided",
    "n_facts": "number of facts",
    "other_pre": "probability of the other premise",
    "parts": "ids of the parts that are stored",
    "phase": "phase of the protocol",
    "pid": "its process there, for information only",
    "premise1": "id of a fact or conclusion",
    "premise2": "id of a fact or conclusion; null for a rule with one premise",
    "sets": "ids of the knowledge sets drawn from it",
    "started_at": "ISO 8601",
    "verdict": "what a person decided",
}
"""Meanings of names that no parameter explains, or several explain differently."""

_LIST = re.compile(r"UNWIND \[(.*?)\] AS (label|type|property)", re.S)
_NODE = re.compile(r"\((?P<var>\w*):(?P<label>[A-Z]\w*)")
_EDGE = re.compile(r"\[(?P<var>\w*):(?P<label>[A-Z_]+)\b")
_CONSTRAINT = re.compile(
    r"CREATE (?P<kind>CONSTRAINT|INDEX) (?P<name>\w+) IF NOT EXISTS FOR "
    r"(?:\(\w+:(?P<node>\w+)\)|\(\)-\[\w+:(?P<edge>\w+)\]-\(\)) (?P<rest>[^;]*);"
)
_MAP = r"\s*\{(?P<body>[^{}]*)\}"


@cache
def declared() -> dict[str, tuple[str, ...]]:
    """Names that the schema declares: `label`, `type` and `property`."""
    text = cypher.query(SCHEMA).text
    return {
        kind: tuple(sorted(re.findall(r"'(\w+)'", names))) for names, kind in _LIST.findall(text)
    }


@cache
def properties() -> dict[str, tuple[str, ...]]:
    """The properties of each label and relationship type, as the queries read and write them."""
    known = set(declared()["property"])
    owners = {*declared()["label"], *declared()["type"]}
    found: dict[str, set[str]] = defaultdict(set)
    for name in cypher.names():
        if name == SCHEMA:
            continue
        query = cypher.query(name)
        for statement in query.statements:
            for pattern in (_NODE, _EDGE):
                for each in pattern.finditer(statement):
                    if each["label"] in owners:
                        rest = statement[each.end() :]
                        inline_map = re.match(_MAP, rest)
                        body = inline_map["body"] if inline_map else ""
                        found[each["label"]].update(re.findall(r"(\w+):", body))
                        if each["var"]:
                            fields = query.params["rows"].fields if "rows" in query.params else ()
                            found[each["label"]].update(_of(statement, each["var"], fields))
    found["FACT"] -= {"subject", "object"}  # ends of the relationship, not properties of it
    return {owner: tuple(sorted(found[owner] & known)) for owner in sorted(owners)}


def _of(statement: str, var: str, fields: object) -> set[str]:
    """Names read or written of a variable in a statement."""
    names = set(re.findall(rf"(?<![\w.]){var}\.(\w+)", statement))
    for other in re.findall(rf"properties\({var}\) AS (\w+)", statement):
        names.update(re.findall(rf"(?<![\w.]){other}\.(\w+)", statement))
    for found in re.finditer(
        rf"(?<![\w.]){var}(?: \+?= \w+)? ?\+?=?\s*\{{([^{{}}]*)\}}", statement
    ):
        names.update(re.findall(r"(\w+):", found[1]))
        names.update(re.findall(r"\.(\w+)", found[1]))
        if ".*" in found[1]:
            names.update(map(str, fields))  # type: ignore[call-overload]
    if re.search(rf"SET {var} \+?= row\b(?!\.)", statement):
        names.update(map(str, fields))  # type: ignore[call-overload]
    return names


@cache
def meanings() -> dict[str, str]:
    """A meaning of each property, by the query that writes it.

    Parameters of queries that read are left out: they choose rows, and are no properties.
    """
    found: dict[str, str] = {}
    names = cypher.names()
    queries = sorted(map(cypher.query, names), key=lambda each: not each.name.startswith("graph/"))
    writing = [query for query in queries if query.mode != "read"]
    for query in writing:
        for key, entry in query.params["rows"].fields.items() if "rows" in query.params else ():
            _note(found, key, entry.doc)
    for query in writing:
        for key, entry in query.params.items():
            _note(found, key, entry.doc)
    found |= MEANINGS
    for name in declared()["property"]:
        if name.endswith("_post") and name not in found:
            found[name] = f"`{name.removesuffix('_post')}_pre` after the edit"
        elif name[:-1] + "x" in found and name[-1] in "yz":
            found[name] = f"{name[-1]}'s, as `{name[:-1]}x`"
    return found


def _note(found: dict[str, str], key: str, doc: str) -> None:
    relative = doc.startswith(("the same", "and ", "as ", "that ", "those "))
    after = key.endswith("_post") and f"{key.removesuffix('_post')}_pre" in declared()["property"]
    if key in declared()["property"] and doc and not relative and not after:
        found.setdefault(key, doc)


def page() -> str:
    """The Markdown: nodes, relationships, properties, constraints and indexes."""
    props = declared()["property"]
    return blocks(
        "# Graph schema",
        f"What is in the database: {len(LABELS)} labels, {len(TYPES)} relationship types,"
        f" {len([x for x in props if _owners(x)])} properties, and the constraints and indexes on"
        " them.",
        "The names are declared in `cypher/schema/constraints.cypher`, which is applied when"
        " ThinkEval connects to a database that lacks some. Ids are texts; the key of an entity is"
        " `GRAPH|NAME`, the id of a fact `GRAPH|DIGEST`."
        " [Neo4j Browser](../how-to/neo4j-browser.md) shows how to look at an edit.",
        "## Nodes",
        table(
            ("Label", "What it is", "Properties"),
            ((code(x), cell(LABELS[x]), _codes(properties()[x])) for x in LABELS),
        ),
        "## Relationships",
        table(
            ("Type", "From", "To", "What it says", "Properties"),
            ((code(x), *map(cell, TYPES[x]), _codes(properties()[x])) for x in TYPES),
        ),
        "## Properties",
        "A property that ends in `_pre` is a measurement before the edit, one in `_post` after it.",
        table(
            ("Property", "Of", "Meaning"),
            (
                (code(x), _codes(_owners(x)), cell(meanings().get(x, "")))
                for x in props
                if _owners(x)
            ),
        ),
        "## Constraints and indexes",
        table(("Name", "Kind", "On"), map(_constraint, _CONSTRAINT.finditer(_schema_text()))),
    )


def _codes(names: tuple[str, ...]) -> str:
    return ", ".join(map(code, names))


def _owners(name: str) -> tuple[str, ...]:
    return tuple(owner for owner, names in properties().items() if name in names)


def _schema_text() -> str:
    return cypher.query(SCHEMA).text


def _constraint(found: re.Match[str]) -> tuple[str, str, str]:
    unique = found["kind"] == "CONSTRAINT"
    names = re.findall(r"\w+\.(\w+)", found["rest"])
    owner = found["node"] or found["edge"]
    return (
        code(found["name"]),
        "unique" if unique else "index",
        code(f"{owner}({', '.join(names)})"),
    )
