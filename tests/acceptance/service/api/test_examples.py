"""The example answers of the API reference are answers of real runs.

One walk through the service: data sets, an edit and its results, rules, a sweep, a co-edit, an
appended answer, establish and update, a crawl with its review. Every answer has the fields of its
committed example. `THINKEVAL_WRITE_EXAMPLES=1` writes the examples anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.commands import Mine
from support.docs.example_answers import Recorder, writing
from support.own_graphs import appending
from support.serving import ENDED, Service, until
from thinkeval.service.api.reference import example_answers

FACT = "harry-potter--studied-at"
RULE = {
    "if": ["person was sorted into house", "house is a house at school"],
    "then": "person studied at school",
}
APPEND = appending(
    correct=["Hermione Granger", "Ron Weasley"],
    hard=["Xenophilius Lovegood", "Ginny Weasley"],
    random=["Herbology", "Keeper"],
)
RUNNING = ("queued", "running")
SMALL_SET = {"facts": 6, "unrelated": 2, "implications": 3, "copies": 1, "updates": 3}


@pytest.fixture(scope="module")
def ask(service: Service, mine: Mine, atlas: str, environment: dict[str, str]) -> Recorder:
    replaced = {
        mine.graph: "hogwarts", f"{mine.prefix}-": "my-", atlas: "atlas",
        mine.model: "organism", str(Path(mine.model).parent): "/models",
        environment["THINKEVAL_HOME"]: "/data", environment["THINKEVAL_CACHE"]: "/cache",
        environment["THINKEVAL_NEO4J_URI"]: "bolt://127.0.0.1:7687",
        environment.get("THINKEVAL_BROWSER_URL", "-"): "http://127.0.0.1:7474/browser/",
        service.url: "http://127.0.0.1:8000",
    }  # fmt: skip
    return Recorder(service.http, service.get("/openapi.json"), replaced)


def ended(ask: Recorder, operation: str, **name: str) -> Any:
    def look() -> bool:
        answer = service_json(ask, operation, **name)
        return answer["status"] in (*ENDED, "waiting_review")

    until(look, 240, 0.2)


def service_json(ask: Recorder, operation: str, **name: str) -> Any:
    """An answer that is not recorded."""
    return ask.http.get(ask.operations[operation][1].format(**name)).json()


def of_the_service(ask: Recorder, mine: Mine, atlas: str) -> None:
    for name in ("health", "ready", "metrics", "list_methods", "list_models", "list_metrics"):
        ask(name)
    ask("list_queries")
    ask("get_method", name="rome")
    ask("get_metric", name="ifr")
    ask("get_query", name="chains/leakage")
    ask("post_cypher", {"query": "MATCH (g:Graph) RETURN g.id AS graph, g.kind AS kind LIMIT 1"})


def of_graphs(ask: Recorder, mine: Mine, atlas: str) -> None:
    asked = {"source": "hogwarts", "name": f"{mine.prefix}-copy"}
    ask("import_graph", asked)
    ask("import_graph", asked)
    text = json.dumps([APPEND]).encode()
    files = {"file": ("friends.json", text, "application/json")}
    ask("preview_graph", files=files, form={"name": f"{mine.prefix}-friends"})
    ask("upload_graph", files=files, form={"name": f"{mine.prefix}-friends"})
    ask("list_graphs", query={"kind": "dataset"})
    ask("get_graph", graph=mine.graph)
    ask("list_rewrites_of_graph", graph=mine.graph)
    ask("list_rewrites", query={"graph": mine.graph})


def of_edits(ask: Recorder, mine: Mine, atlas: str) -> None:
    body = {"graph": mine.graph, "rewrite": FACT, "model": mine.model, "samples": 0}
    queued = ask("post_edit", body | {"method": "rome"})["id"]
    ended(ask, "get_edit", edit=queued)
    edit = ask("get_edit", edit=queued)["id"]
    ask("post_edit", body | {"method": "rome"})
    ask("list_edits", query={"graph": mine.graph})
    ask("follow_edit", edit=edit)
    for name in ("get_score", "get_chains", "get_leakage", "get_edit_graph", "get_leak_cut"):
        ask(name, edit=edit)
    ask("get_edit_query", edit=edit, name="metrics/ifr")
    ask("get_rewrite_leak_cut", graph=mine.graph, rewrite=FACT)
    for name in ("get_implications", "get_omega", "get_mixed_chains"):
        ask(name, edit=edit)
    sweep = ask("post_sweep", body_of_sweep(mine))["id"]
    until(lambda: service_json(ask, "get_sweep", sweep=sweep)["counts"]["succeeded"] == 2, 120)
    other = ask("get_sweep", sweep=sweep)["edits"]
    ask("list_sweeps")
    ask("cancel_sweep", sweep=sweep)
    ask("get_diff", a=edit, b=next(each for each in other if each.startswith("none")))
    ask("leaderboard", query={"graph": mine.graph})
    late = service_post(ask, "post_edit", body | {"method": "fine_tuning", "seed": 7})
    ask("cancel_edit", edit=late["id"])


def body_of_sweep(mine: Mine) -> dict[str, Any]:
    return {
        "graph": mine.graph, "rewrites": [FACT], "models": [mine.model], "samples": 0,
        "methods": ["none", "rome"],
    }  # fmt: skip


def service_post(ask: Recorder, operation: str, body: Any) -> Any:
    answer = ask.http.post(ask.operations[operation][1], json=body)
    assert answer.is_success, answer.text
    return answer.json()


def of_rules(ask: Recorder, mine: Mine, atlas: str) -> None:
    graph = mine.graph
    rule = ask("add_rules", {"rules": [RULE]}, graph=graph)["items"][0]["id"]
    ask("mine_rules", {"min_support": 2, "limit": 5}, graph=graph)
    ask("list_rules", graph=graph)
    ask("get_rule", graph=graph, rule=rule)
    for name in ("ann", "ben"):
        ask("label_rule", {"annotator": name, "label": "a"}, graph=graph, rule=rule)
    ask("get_agreement", graph=graph)
    ask("get_groundings", graph=graph, rule=rule)
    ask("get_closure", graph=graph)
    school = "Hogwarts School of Witchcraft and Wizardry"
    triple = {"subject": "Harry Potter", "relation": "studied at", "object": school}
    ask("get_proofs", graph=graph, query=triple)


def of_comparisons(ask: Recorder, mine: Mine, atlas: str) -> None:
    body = {
        "before": mine.model, "after": mine.model, "graph": mine.graph, "rewrites": [FACT],
        "samples": 0,
    }  # fmt: skip
    comparison = ask("post_comparison", body)["id"]
    ended(ask, "get_comparison", comparison=comparison)
    ask("get_comparison", comparison=comparison)
    ask("get_drift", comparison=comparison)
    ask("get_audit", comparison=comparison)
    ask("list_comparisons")
    ask("follow_comparison", comparison=comparison)
    ask("cancel_comparison", comparison=comparison)


def of_lines(ask: Recorder, mine: Mine, atlas: str) -> None:
    edit = {"graph": mine.graph, "rewrite": FACT, "model": mine.model, "samples": 0}
    queued = service_post(ask, "post_edit", edit | {"method": "rome"})["id"]
    ended(ask, "get_edit", edit=queued)
    scored = service_json(ask, "get_edit", edit=queued)["id"]
    body = {"edit": scored, "then": ["finetune:graph:steps=20"], "samples": 0}
    line = ask("post_line", body)["id"]
    ended(ask, "get_line", line=line)
    ask("post_line", body)
    ask("get_line", line=line)
    ask("get_states", line=line)
    ask("list_lines")
    ask("follow_line", line=line)
    ask("cancel_line", line=line)


def of_coedits(ask: Recorder, mine: Mine, atlas: str) -> None:
    body = {"graph": mine.graph, "rewrite": FACT, "model": mine.model, "method": "rome"}
    coedit = ask("post_coedit", body | {"rounds": 1})["id"]
    ended(ask, "get_coedit", coedit=coedit)
    ask("get_coedit", coedit=coedit)
    ask("get_frontier", coedit=coedit)
    ask("list_coedits")
    ask("follow_coedit", coedit=coedit)
    late = service_post(ask, "post_coedit", body | {"rounds": 2, "seed": 3})
    ask("cancel_coedit", coedit=late["id"])


def of_appends(ask: Recorder, mine: Mine, atlas: str) -> None:
    graph = f"{mine.prefix}-friends"
    rewrite = service_json(ask, "list_rewrites_of_graph", graph=graph)["items"][0]["id"]
    body = {"graph": graph, "rewrite": rewrite, "model": mine.model, "method": "rome", "samples": 0}
    edit = ask("post_append", body)["id"]
    ended(ask, "get_edit", edit=edit)
    for name in ("get_append", "get_append_answers", "get_additivity"):
        ask(name, edit=edit)


def of_protocol(ask: Recorder, mine: Mine, atlas: str) -> None:
    ask("build_knowledge_sets", {"graph": atlas, "init": "shuffled"} | SMALL_SET)
    first = ask("list_knowledge_sets", query={"graph": atlas})["items"][0]["id"]
    ask("get_knowledge_set", knowledge_set=first)
    lines = ask("export_knowledge_sets", query={"graph": atlas})
    ask("import_knowledge_sets", files={"file": ("sets.jsonl", lines.encode())})
    job = ask("post_protocol_runs", body_of_runs(first, "base", mine))["id"]
    ended(ask, "get_protocol_job", job=job)
    run = ask("get_protocol_job", job=job)["runs"][0]
    ask("list_protocol_jobs")
    ask("follow_protocol_job", job=job)
    ask("list_protocol_runs", query={"knowledge_set": first})
    ask("get_protocol_run", run=run)
    ask("report_protocol_runs", query={"graph": atlas})
    late = service_post(ask, "post_protocol_runs", body_of_runs(first, "finetune", mine))
    ask("cancel_protocol_job", job=late["id"])


def body_of_runs(name: str, strategy: str, mine: Mine) -> dict[str, Any]:
    return {"sets": [name], "strategies": [strategy], "model": mine.model}


def body_of_crawl(mine: Mine, graph: str, judge: str) -> dict[str, Any]:
    return {
        "seed": "Harry Potter", "elicit": "crawl", "base": mine.graph, "judge": judge,
        "graph": f"{mine.prefix}-{graph}", "answers": {"model": mine.model},
        "crawl": {"depth": 1, "samples": 2, "wordings": 2},
    }  # fmt: skip


def of_growth(ask: Recorder, mine: Mine, atlas: str) -> None:
    body = body_of_crawl(mine, "grown", judge="human")
    run = ask("post_growth", body)["id"]
    ended(ask, "get_growth", run=run)
    ask("get_growth", run=run)
    ask("list_growth")
    for name in ("get_growth_iterations", "list_candidates", "get_crawl_report"):
        ask(name, run=run)
    review = {"state": "review"}
    waiting = ask("list_candidates", query=review, run=run)["items"]
    ask("get_candidate", run=run, candidate=waiting[0]["id"])
    ask("decide_candidate", {"verb": "keep", "by": "ann"}, run=run, candidate=waiting[0]["id"])
    added = {"subject": "Harry Potter", "relation": "studied at", "object": "Durmstrang Institute"}
    ask("add_candidate", {"triplet": added, "by": "ann"}, run=run)
    verbs = f"candidate,verb\n{waiting[0]['id']},keep\n".encode()
    ask("post_decisions", files={"file": ("verbs.csv", verbs)}, form={"by": "ben"}, run=run)
    for name in ("list_decisions", "get_judge_table"):
        ask(name, run=run)
    ask("get_crawl_agreement", run=run, query={"other": run})


def of_finished_growth(ask: Recorder, mine: Mine, atlas: str) -> None:
    body = body_of_crawl(mine, "crawled", judge="none")
    run = service_post(ask, "post_growth", body)["id"]
    ended(ask, "get_growth", run=run)
    ask("export_growth", query={"packed": False}, run=run)
    late = service_post(ask, "post_growth", body | {"graph": f"{mine.prefix}-late"})["id"]
    ask("pause_growth", run=late)
    until(lambda: service_json(ask, "get_growth", run=late)["status"] not in RUNNING, 60, 0.2)
    ask("resume_growth", run=late)
    ask("cancel_growth", run=late)
    ask("follow_growth", run=run)


Part = Callable[[Recorder, Mine, str], None]
WALK: tuple[Part, ...] = (of_the_service, of_graphs, of_rules)
JOBS: tuple[Part, ...] = (
    of_edits,
    of_comparisons,
    of_lines,
    of_coedits,
    of_growth,
    of_finished_growth,
    of_appends,
    of_protocol,
)
"""What a worker computes takes minutes: walked where the examples are written."""


@pytest.fixture(scope="module")
def walked(ask: Recorder, mine: Mine, atlas: str) -> Recorder:
    for part in WALK + (JOBS if writing() else ()):
        part(ask, mine, atlas)
        if writing():
            example_answers.write(ask.document, ask.kept)
            example_answers.read.cache_clear()
    return ask


def test_real_answers_have_the_fields_of_their_examples(walked: Recorder) -> None:
    committed = example_answers.read()
    for operation, statuses in walked.kept.items():
        for status, answers in statuses.items():
            for media, answer in answers.items():
                shown = committed[operation][status][media]
                assert type(answer) is type(shown), operation
                if isinstance(shown, dict):
                    assert answer.keys() == shown.keys(), operation
