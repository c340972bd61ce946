"""A growth run over the wire by a real worker that is killed in the middle: the next one resumes.

The server replays answers of a small world: they prove accounting and recovery, not quality.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.endpoints.cassette_server import Cassette, playing
from support.endpoints.scripted_model import SCHOOL
from support.serving import until
from thinkeval.cypher.run import Database
from thinkeval.service.base.settings import Settings
from thinkeval.service.graphs import datasets
from thinkeval.service.growth.kind import GROWTH
from thinkeval.service.growth.runs import require_run
from thinkeval.service.growth.schemas import GrowthIn

UNSTORED = 2 * 4
"""What a killed worker may have asked and not stored: as many answers as there are requests at the
same time may be on their way into the database while as many further requests are on the wire."""
DELAY_S = 0.03
KILL_AT = 15
TRIED = ("Oslo", "is the capital of", "Norway")
"""The fact of the statement by which a server without a form for JSON is tried once."""


def cassette() -> dict[str, object]:
    """Answers to every question about the school."""
    rules: list[dict[str, object]] = []

    def answer(contains: str, text: str) -> None:
        rules.append({"contains": contains, "answers": [{"text": text, "delay_s": DELAY_S}]})

    tried = dict(zip(("subject", "relation", "object"), TRIED, strict=True))
    answer(f"<<<\n{' '.join(TRIED)}.\n>>>", json.dumps({"triplets": [tried]}))
    for s, r, o in SCHOOL:
        question = f"What is it that {s} {r}?"
        about = [f for f in SCHOOL if f[0] in (s, o)]
        answer(f"Question: {question}", "\n".join(f"- {' '.join(f)}." for f in about))
        extracted = [{"subject": s, "relation": r, "object": o}]
        answer(f"<<<\n{s} {r} {o}.\n>>>", json.dumps({"triplets": extracted}))
        written = {"question": question, "sentence": f"{s} {r}"}
        answer(f"<<<\n{s} | {r} | {o}\n>>>", json.dumps(written))
        answer(f"<<<\n{s} {r}\n>>>", json.dumps({"paraphrases": []}))
    for s, r, o in SCHOOL:  # last, as prompts about a question have it in them
        answer(f"What is it that {s} {r}?", f"{o}.")
    return {"rules": rules, "otherwise": ["I do not know."]}


def worker(server: dict[str, str], url: str, folder: Path) -> subprocess.Popen[bytes]:
    own = {
        "THINKEVAL_LLM_ENDPOINTS": url,
        "THINKEVAL_LEASE_S": "2",
        "THINKEVAL_HOME": str(folder),
    }
    with (folder / "worker.log").open("ab") as log:
        command = [sys.executable, "-m", "thinkeval.service.worker"]
        return subprocess.Popen(command, env=os.environ | server | own, stdout=log, stderr=log)


def asked(tape: Cassette) -> list[str]:
    """Questions of the run, without those that find out what the server is able to do."""
    named = (*SCHOOL, TRIED)
    bodies = [json.dumps(request["body"], sort_keys=True) for request in tape.requests()]
    return [body for body in bodies if any(name in body for fact in named for name in fact)]


@pytest.mark.heavy
def test_a_killed_worker(
    db: Database, server: dict[str, str], graph_id: str, tmp_path: Path
) -> None:
    with playing(cassette()) as tape:
        posted = GrowthIn.model_validate(
            {
                "seed": "|".join(SCHOOL[0]),
                "graph": graph_id,
                "answers": {"model": "school", "url": tape.url},
                "greedy": True,
            }
        )
        run = GROWTH.store.submit(db, Settings(llm_endpoints=(tape.url,)), posted).edit
        first = worker(server, tape.url, tmp_path)
        try:
            until(lambda: len(asked(tape)) >= KILL_AT, 60)
        finally:
            first.kill()
            first.wait()
        before = require_run(db, run)
        assert before.state == "growing"
        assert before.calls > 0
        second = worker(server, tape.url, tmp_path)
        try:
            until(lambda: require_run(db, run).state == "finished", 60)
            until(lambda: GROWTH.store.get(db, run).status == "succeeded", 20)
        finally:
            second.kill()
            second.wait()
        row = require_run(db, run)
        bodies = asked(tape)
        assert len(set(bodies)) == row.calls
        assert len(bodies) - row.calls <= UNSTORED
        assert row.calls > before.calls
    found = datasets.stored_graph(db, graph_id).facts
    assert {(f.subject, f.relation, f.object) for f in found} == set(SCHOOL)
    db.autocommit(int, "growth/delete_run", id=run)
