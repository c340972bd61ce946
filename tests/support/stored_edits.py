"""Scored edits in the database without a model: graph, record and score; a frontier of co-edits.

Written the way `service.scoring.score` writes it, so that captions, labels and links are the real
ones.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from typing import Any

from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.loaders.records import Fact, RewriteRequest
from thinkeval.service.base.leases import Lease, Writer, event, new_token, now
from thinkeval.service.graphs.write import rewrite_row, write_graph
from thinkeval.service.models.edit import (
    AppendOut,
    ConversationOut,
    MetricValue,
    Score,
    ScoringOptions,
)
from thinkeval.service.models.leakcut import CoEditFact, CoEditOut, RoundOut
from thinkeval.service.scoring.append import measured
from thinkeval.service.scoring.model_graph import entities_of, fact_row
from thinkeval.service.scoring.probe import Answer, ProbedFact, Question, Role

MEASURES = ("p", "likelihood", "likelihood_norm")


def probed(
    ends: tuple[str, str, str],
    pre: float,
    post: float,
    role: Role = "fact",
    *,
    listed: bool = True,
    said: Sequence[str] = (),
) -> ProbedFact:
    """One fact with its probabilities, the same in every measure."""
    subject, relation, object_ = ends
    fact = Fact(subject, relation, object_, prompt=f"{{}} {relation}")
    before, after = (
        Answer(dict.fromkeys(MEASURES, value), answers, n_samples=len(answers))
        for value, answers in ((pre, (object_,)), (post, tuple(said) or (object_,)))
    )
    return ProbedFact(Question(fact, role=role, listed=listed), before, after)


def store_edit(
    db: Database,
    edit: str,
    facts: Sequence[ProbedFact],
    *,
    dataset: str,
    method: str = "rome",
    options: ScoringOptions | None = None,
    scored: Sequence[str] = ("likelihood",),
    provenance: Mapping[str, Any] | None = None,
    rewrite: str | RewriteRequest = "the-rewrite",
    append: AppendOut | None = None,
    answers: Sequence[Mapping[str, Any]] = (),
    conversation: ConversationOut | None = None,
) -> Score:
    """Write the edit as succeeded; the first two facts are the edited one, with both objects.

    Args:
        scored: the measures of which the score holds IFR and efficacy.
        rewrite: the request, or the id of one that is made of the first two facts.
        append: how an answer was appended; then the score holds efficacy, and additivity.
        answers: of an append, as cypher/append/write_answers.cypher takes them.
    """
    options = options or ScoringOptions()
    true, new = (each.question.fact for each in facts[:2])
    asked = rewrite
    if isinstance(asked, str):
        asked = RewriteRequest(
            id=asked,
            dataset=dataset,
            prompt=true.prompt,
            subject=true.subject,
            relation=true.relation,
            target_true=true.object,
            target_new=new.object,
        )
    with db.transaction() as tx:
        tx.run(rows.WrittenRow, "graph/merge_rewrites", dataset=dataset, rows=[rewrite_row(asked)])
        tx.run(
            rows.MergeEditRow,
            "edits/merge_edit",
            id=edit,
            model="m",
            method=method,
            dataset=dataset,
            rewrite=asked.id,
            status="running",
        )
        if answers:
            tx.run(
                rows.WrittenRow,
                "append/write_answers",
                edit=edit,
                rows=[dict(row) for row in answers],
            )
    header = rows.GraphHeader(edit, "edit", dataset, model="m", edit=edit, measures=MEASURES)
    entities = entities_of([each.question.fact for each in facts], {})
    write_graph(db, header, entities, [fact_row(each) for each in facts])
    case = {
        "id": edit,
        "graph": edit,
        "subject": true.subject,
        "object": true.object,
        "relation": true.relation,
        "rewrite": None,
    }
    values = []
    for measure in scored:
        pool = {
            "cases": [case],
            "max_steps": options.max_steps,
            "bare": options.bare,
            "pre": f"{measure}_pre",
            "post": f"{measure}_post",
            **options.counted,
        }
        for name in ("ifr", "ifr_by_steps", "efficacy") if append is None else ("efficacy",):
            values += [
                MetricValue(
                    metric=name,
                    measure=measure,
                    step=r.step,
                    value=r.value,
                    n=r.n,
                    excluded=r.excluded,
                )
                for r in db.metric(name, **pool)
            ]
    if append is not None:
        values += measured(db, [edit])[edit]
    score = Score(
        edit=edit,
        dataset=dataset,
        rewrite=asked.id,
        subject=true.subject,
        relation=true.relation,
        prompt=true.prompt,
        target_true=true.object,
        target_new=new.object,
        model="m",
        method=method,
        options=options,
        values=values,
        n_facts=len(facts),
        provenance=dict(provenance or {}),
        conversation=conversation,
        append=append,
    )
    with db.transaction() as tx:
        end_edit(tx.run, edit, score=score.model_dump_json())
    return score


def end_edit(
    write: Writer,
    edit: str,
    status: str = "succeeded",
    *,
    score: str | None = None,
    at: str | None = None,
    error: str | None = None,
) -> None:
    """Record how an edit ended, as a command does: under a lease of its own."""
    told = {"stage": "probe pre", "progress": 0.1, "event": event("running", "probe pre")}
    token = new_token()
    (begun,) = write(rows.BeginJobRow, "jobs/begin", id=edit, lease=token, lease_ms=60_000, **told)
    assert begun.begun
    if score is not None:
        write(
            rows.WrittenRow,
            "edits/write_score",
            id=edit,
            graph=edit,
            score=score,
            provenance=json.dumps(json.loads(score).get("provenance")),
        )
    lease = Lease(token, begun.attempt)
    (ended,) = write(
        rows.FinishJobRow, "jobs/finish",
        **lease.params, status=status, at=at or now(), error=error,
        event=event(status, status),
    )  # fmt: skip
    assert ended.finished


def queue_again(db: Database, edit: str) -> None:
    """Queue an edit whatever its status was, as if it had been submitted again."""
    job = {"id": edit, "place": 0, "request": "{}", "affinity": "", "total": 1, "properties": {}}
    told = {"limit": 10**6, "again": True, "event": event("queued", "waiting")}
    (row,) = db.write(rows.SubmitJobsRow, "jobs/submit", kind="edit", rows=[job], **told)
    assert row.outcome == "queued"


def random_facts(seed: int, others: int = 5, links: int = 40) -> list[ProbedFact]:
    """An edited fact and random others about few entities: parallel facts, cycles, zeros."""
    draw = random.Random(seed)
    names = ["S", "T", *(f"E{i}" for i in range(others))]
    facts = {
        ("S", "r", "T"): probed(
            ("S", "r", "T"), 0.9, 0.2, "target_true", listed=draw.random() < 0.5
        ),
        ("S", "r", "N"): probed(("S", "r", "N"), 0.01, 0.9, "target_new", listed=False),
    }
    while len(facts) < links:
        subject, object_ = draw.sample(names, 2)
        ends = (subject, draw.choice(("r", "q", "t")), object_)
        pre, post = (draw.choice((0.0, *(draw.random() for _ in range(5)))) for _ in range(2))
        facts.setdefault(ends, probed(ends, pre, post))
    return list(facts.values())


HOGWARTS = "Hogwarts School of Witchcraft and Wizardry"
ILVERMORNY = "Ilvermorny School of Witchcraft and Wizardry"
ID = "coedit-memit-harry-potter-0123456789"


def co_edited(id: str, subject: str, added: int, **values: Any) -> CoEditFact:
    """A co-edit of `subject | studied at`."""
    usual = {
        "object": HOGWARTS, "prompt": "{} studied at", "target_new": "Beauxbatons Academy",
        "source": "relation", "old_pre": 0.98, "old_post": 0.01, "new_pre": 0.001, "new_post": 0.95,
    }  # fmt: skip
    own = {"id": id, "subject": subject, "relation": "studied at", "added": added}
    return CoEditFact.model_validate(usual | own | values)


def round_of(number: int, **values: Any) -> RoundOut:
    """A round; values not given are those of a round which installs everything."""
    usual = {
        "edit": f"memit-harry-potter-{number}", "facts": number + 1, "ifr": 0.4, "n_chains": 103,
        "leaking": 76, "surviving": 83, "efficacy": 0.986, "preservation": 1.0,
        "n_preservation": 61, "preservation_unedited": 0.99, "n_preservation_unedited": 106,
        "subject_retention": 0.97, "n_subject_retention": 11,
    }  # fmt: skip
    return RoundOut.model_validate(usual | values | {"number": number})


def frontier(**values: Any) -> CoEditOut:
    """Three rounds; round 1 is chosen, round 2 lost the first edit."""
    ron = "hogwarts-ron"
    rounds = [
        round_of(0),
        round_of(
            1, ifr=0.061, ifr_low=0.02, ifr_high=0.11, leaking=9, surviving=12, preservation=0.95,
            preservation_unedited=0.94, coedit_efficacy=0.95, n_coedits=1,
            coedits=[co_edited(ron, "Ron Weasley", 1)], coedited_retention=0.8,
            n_coedited_retention=4,
        ),
        round_of(
            2, ifr=0.016, leaking=0, surviving=2, preservation=0.6, preservation_unedited=0.55,
            efficacy=0.265, reaches=False, coedit_efficacy=0.9, n_coedits=2,
            coedits=[
                co_edited(ron, "Ron Weasley", 1, new_post=0.9),
                co_edited("hogwarts-hermione", "Hermione Granger", 2, new_post=0.9, source="given"),
            ],
        ),
    ]  # fmt: skip
    usual = {
        "id": ID, "graph": "hogwarts", "rewrite": "harry-potter--studied-at--ilvermorny",
        "subject": "Harry Potter", "relation": "studied at", "target_true": HOGWARTS,
        "target_new": ILVERMORNY, "model": "organism-gpt2-seed0", "method": "memit",
        "measure": "likelihood", "request": {"rewrite": "harry-potter", "method": "memit"},
        "rounds": rounds, "chosen": 1, "met": None, "stopped": "no chain leaks",
        "sequential": False,
    }  # fmt: skip
    return CoEditOut.model_validate(usual | values)
