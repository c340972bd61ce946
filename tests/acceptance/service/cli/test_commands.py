"""The way of a user through the command line, from import to report."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support import real_model
from support.commands import Cli, Done, Mine
from support.own_graphs import without_traces
from thinkeval.cypher.run import Database
from thinkeval.editing import models, registry
from thinkeval.editing.errors import EditFailedError, FetchError
from thinkeval.editing.methods import memit
from thinkeval.editing.probe.matching import gives
from thinkeval.service.cli.codes import NOTHING
from thinkeval.service.cli.demo import KNOWN, TAUGHT
from thinkeval.service.cli.show import METRICS
from thinkeval.service.graphs import datasets
from thinkeval.service.models.edit import Score
from thinkeval.service.reports.verdict import best_method
from thinkeval.service.scoring.runtime import RuntimeModel

Call = Callable[..., Done]
DEMO = "harry-potter--studied-at"
HOGWARTS = "Hogwarts School of Witchcraft and Wizardry"
HEADLINE = ("efficacy", "ifr", "preservation")


@dataclass(frozen=True)
class Scored:
    """One edit, scored by the command line."""

    edit: str
    score: dict[str, Any]

    def value(self, metric: str, measure: str = "likelihood", step: int | None = None) -> float:
        return next(
            v["value"]
            for v in self.score["values"]
            if (v["metric"], v["measure"], v["step"]) == (metric, measure, step)
        )


def scoring(mine: Mine, *more: str) -> list[str]:
    return ["score", "-g", mine.graph, "--model", mine.model, "--seed", "3", *more]


@pytest.fixture(scope="module")
def rome(thinkeval: Cli, mine: Mine) -> Scored:
    score = thinkeval(*scoring(mine, DEMO, "-m", "rome", "--json")).json[0]
    assert not score["reused"]
    return Scored(score["edit"], score)


def test_help_shows_every_command(thinkeval: Cli) -> None:
    shown = thinkeval.process("--help")
    for command in ("demo", "import", "probe", "score", "show", "report", "doctor", "results"):
        assert command in shown.out


def test_the_package_runs_as_a_module(thinkeval: Cli) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "thinkeval", "--version"],
        env=os.environ | thinkeval.env, cwd=thinkeval.cwd, capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == thinkeval.process("--version").out


@pytest.mark.parametrize("args", [("--help",), ("score", "--help")])
def test_help_answers_at_once_as_it_loads_nothing_heavy(
    thinkeval: Cli, args: tuple[str, ...]
) -> None:
    """Its seconds are measured by benchmarks/service/help_start.py."""
    told = thinkeval.process(*args, PYTHONPROFILEIMPORTTIME="1", code=0).err
    loaded = {line.rpartition("|")[2].strip() for line in told.splitlines()}
    assert {"typer", "thinkeval.service.cli.main"} <= loaded
    assert not loaded & {
        "torch", "transformers", "neo4j", "pandas", "numpy", "matplotlib", "fastapi", "httpx",
        "huggingface_hub", "thinkeval.cypher.rows.jobs", "thinkeval.service.scoring.score",
        "thinkeval.service.scoring.sweep",
    }  # fmt: skip


def test_import_says_what_it_did_and_twice_changes_nothing(thinkeval: Cli, mine: Mine) -> None:
    again = thinkeval.process("import", "hogwarts", "--name", mine.graph, "--json").json
    assert again["status"] == "unchanged"
    assert again["kept"]["facts"] == 108
    shown = thinkeval("import", "hogwarts", "--name", mine.graph)
    assert f"{mine.graph}: unchanged" in " ".join(shown.out.split())


def test_graphs_and_rewrites_are_listed(thinkeval: Cli, mine: Mine) -> None:
    listed = {g["id"]: g for g in thinkeval("results", "graphs", "--json").json}
    graph = listed[mine.graph]
    assert (graph["kind"], graph["n_facts"], graph["n_entities"]) == ("dataset", 108, 54)
    assert graph["n_rewrites"] == 6
    assert mine.graph[:12] in thinkeval("results", "graphs").out
    rewrites = thinkeval("graph", "rewrites", mine.graph, "--json").json
    demo = next(r for r in rewrites if r["id"].startswith(DEMO))
    assert demo["chains"] == {"1": 1, "2": 10, "3": 27, "4": 34, "5": 31}
    assert "382 chains" in thinkeval("graph", "rewrites", mine.graph).out


def test_probe_says_what_the_model_knows(at_once: Call, mine: Mine, db: Database) -> None:
    args = ["probe", mine.graph, "--model", mine.model, "--samples", "0", "--json"]
    known = at_once(*args).json
    assert known["n_facts"] == 108
    # Of several friends of Harry's none can be likelier than 1/2 to be named first.
    content = datasets.stored_graph(db, mine.graph)
    asked = Counter((f.subject, f.prompt) for f in content.facts)
    aliases = {entity.name: entity.aliases for entity in content.entities}
    assert known["n_known"] >= 0.98 * sum(n == 1 for n in asked.values())
    assert known["n_known"] == known["known"]["0.05"]
    assert known["graph"].startswith(f"{mine.graph}@")
    assert len(known["facts"]) == 108
    for fact in known["facts"]:
        if fact["p"] > 0.5:
            assert gives(fact["says"], (fact["object"], *aliases[fact["object"]]))
    assert at_once(*args).json == known
    assert "Least known facts" in at_once(*args[:-1]).out


def test_probe_ends_with_the_rewrites_that_are_worth_scoring(at_once: Call, mine: Mine) -> None:
    args = ["probe", mine.graph, "--model", mine.model, "--samples", "0", "--wordings"]
    found = at_once(*args, "--json").json
    assert set(found["known"]) == {"0.5", "0.2", "0.05"}
    assert sum(row["facts"] for row in found["relations"]) == 108
    assert sum(row["known"]["0.5"] for row in found["relations"]) == found["known"]["0.5"]
    assert found["best"] == sorted(found["best"], key=lambda fact: -fact["p"])
    assert set(found["wordings"][0]["means"]) >= {"cloze", "question"}
    rewrites = found["rewrites"]
    assert len(rewrites) == 6
    assert all(row["scorable"] for row in rewrites)
    counts = [row["known_chains"] for row in rewrites]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > 0
    shown = at_once(*args, COLUMNS="80").out
    assert max(len(line) for line in shown.splitlines() if "thinkeval score" not in line) <= 80
    whole = " ".join(shown.replace("\\\n", " ").split())  # a long command goes on after a `\`
    assert whole.endswith(rewrites[0]["command"])
    for title in ("Known facts by relation", "Best known facts", "Mean likelihood by wording"):
        assert title in shown


def test_a_fact_that_the_model_does_not_know_is_not_edited(at_once: Call, mine: Mine) -> None:
    own = ("--subject", "Harry Potter", "--relation", "studied at", "--target-true", "Gryffindor")
    args = scoring(mine, *own, "--target-new", "Slytherin", "-m", "none", "--samples", "0")
    done = at_once(*args, "--json")
    assert (done.code, done.json) == (NOTHING, [])
    assert done.err.startswith("not edited: none on ")
    assert "nothing to measure" in done.err
    assert "--anyway" in done.err
    assert done.err.count("\n") == 1
    assert at_once(*args).out == ""
    (score,) = at_once(*args, "--anyway", "--json").json
    assert score["provenance"]["anyway"] is True


def test_score_ends_as_show_does(at_once: Call, mine: Mine, rome: Scored) -> None:
    """Verdict, four numbers, through whom, and the next command; all metrics with an option."""
    done = at_once(*scoring(mine, DEMO, "-m", "rome"))
    assert (done.code, done.err) == (0, "")
    assert f"{rome.edit}: rome on " in done.out
    assert ", stored earlier\n" in done.out
    for metric, title in METRICS.items():
        row = next(line for line in done.out.splitlines() if line.startswith(f"{title} "))
        assert f"{rome.value(metric):.3f}" in row
    assert "Through whom: " in done.out
    steps = at_once("show", rome.edit, "--json").json["next"]["steps"]
    commands = [step["command"] for step in steps]
    for command in commands or [f"thinkeval results chains {rome.edit} --surviving"]:
        assert f"\n  {command}\n" in done.out
    shown = at_once("show", rome.edit)
    assert shown.out == done.out.replace(", stored earlier", "")
    more = at_once("show", rome.edit, "--all-metrics").out
    assert more.endswith(shown.out)
    for metric in HEADLINE:
        row = next(line for line in more.splitlines() if line.startswith(f"{METRICS[metric]} "))
        assert f"{rome.value(metric, 'p'):.3f}" in row


def test_show_alone_shows_the_newest_edit(at_once: Call, mine: Mine) -> None:
    edit = at_once(*scoring(mine, DEMO, "-m", "none", "--force", "--json")).json[0]["edit"]
    assert at_once("show", "--json").json["edit"] == edit


def test_score_as_csv_is_one_row_an_edit(
    at_once: Call, mine: Mine, rome: Scored, tmp_path: Path
) -> None:
    shown = at_once(*scoring(mine, DEMO, "-m", "rome", "--csv"))
    rows = list(csv.DictReader(io.StringIO(shown.out)))
    assert [r["edit"] for r in rows] == [rome.edit]
    assert float(rows[0]["ifr"]) == pytest.approx(rome.value("ifr"), rel=1e-12)
    assert float(rows[0]["ifr_by_steps_2"]) == rome.value("ifr_by_steps", step=2)
    file = tmp_path / "scores.csv"
    assert at_once(*scoring(mine, DEMO, "-m", "rome", "--csv", "-o", str(file))).code == 0
    assert file.read_text(encoding="utf-8").strip() == shown.out.strip()
    file = tmp_path / "scores.json"
    assert at_once(*scoring(mine, DEMO, "-m", "rome", "--json", "-o", str(file))).out == ""
    assert json.loads(file.read_text(encoding="utf-8"))[0]["edit"] == rome.edit


def test_a_rewrite_is_found_by_its_subject_too(at_once: Call, mine: Mine) -> None:
    shown = at_once(*scoring(mine, "luna lovegood", "-m", "none", "--samples", "0", "--json"))
    assert shown.json[0]["subject"] == "Luna Lovegood"
    assert shown.json[0]["rewrite"].startswith("luna-lovegood--studied-at")


def test_the_gate_fails_with_one_and_says_where_to_look(
    thinkeval: Cli, mine: Mine, rome: Scored
) -> None:
    failed = thinkeval(
        *scoring(mine, DEMO, "-m", "rome", "--max-ifr", "0.1", "--min-preservation", "1.5"), code=1
    )
    ifr, preservation = failed.err.splitlines()
    assert f"{rome.value('ifr'):.4f} > 0.1" in ifr
    assert f"thinkeval results chains {rome.edit} --surviving" in ifr
    assert "Preservation" in preservation
    assert rome.edit in failed.out, "the score is shown all the same"


def test_the_gate_holds(at_once: Call, mine: Mine, rome: Scored) -> None:
    limits = ("--max-ifr", "1", "--min-preservation", "0.5")
    held = at_once(*scoring(mine, DEMO, "-m", "rome", *limits))
    assert (held.code, held.err) == (0, "")
    broken = at_once(*scoring(mine, DEMO, "-m", "rome", "--measure", "p", "--max-ifr", "0"))
    assert broken.code == 1
    assert f"{rome.value('ifr', 'p'):.4f} > 0" in broken.err


def test_a_gate_on_what_was_not_measured_does_not_pass(at_once: Call, mine: Mine) -> None:
    done = at_once(
        *scoring(mine, "luna-lovegood", "-m", "none", "--samples", "0", "--json"),
        "--measure", "p", "--max-ifr", "0.1",
    )  # fmt: skip
    assert "--samples" in done.error
    own = ("--subject", "Harry Potter", "--relation", "studied at", "--target-true", "Gryffindor")
    args = scoring(mine, *own, "--target-new", "Hufflepuff", "-m", "none", "--samples", "0")
    unknown = at_once(*args, "--max-ifr", "0.1")
    assert (unknown.code, unknown.out) == (1, "")
    assert "not edited: none on " in unknown.err
    assert "gate: what was not edited was not measured" in unknown.err


def test_surviving_chains_with_retention_per_link(at_once: Call, rome: Scored) -> None:
    chains = at_once("results", "chains", rome.edit, "--surviving", "--json", "--limit", "0").json
    assert len(chains) == rome.value("active_chains")
    for chain in chains:
        assert chain["surviving"]
        assert chain["entities"][0] == "Harry Potter"
        assert chain["entities"][-1] == HOGWARTS
        assert len(chain["links"]) == chain["steps"]
        product = 1.0
        for link in chain["links"]:
            assert link["ratio"] == pytest.approx(link["post"] / link["pre"])
            product *= link["ratio"]
        assert chain["ratio"] == pytest.approx(product)
    shown = at_once(
        "results", "chains", rome.edit, "--surviving", "--steps", "2", "--limit", "1"
    ).out
    assert "survives" in shown
    assert "Facts that carry most surviving chains" in shown
    two = at_once("results", "chains", rome.edit, "--steps", "2", "--json", "--limit", "0").json
    assert {chain["steps"] for chain in two} == {2}


def test_one_report_in_four_formats_holds_the_same_numbers(
    at_once: Call, mine: Mine, rome: Scored, tmp_path: Path
) -> None:
    other = at_once(*scoring(mine, DEMO, "-m", "memit", "--json")).json[0]
    scores = {"rome": rome, "memit": Scored(other["edit"], other)}
    edits = tuple(score.edit for score in scores.values())
    rows = json.loads(at_once("report", *edits, "-f", "json").out)
    best, second = (r["Method"] for r in rows)
    assert {best, second} == scores.keys()
    judged = [Score.model_validate(each.score) for each in scores.values()]
    assert best == best_method(judged, "likelihood").score.method, "in the order of the verdicts"
    for row in rows:
        assert row["IFR"] == pytest.approx(scores[row["Method"]].value("ifr"), rel=1e-12)
        assert row["Efficacy"] == pytest.approx(scores[row["Method"]].value("efficacy"), rel=1e-12)
        (ifr,) = (
            value
            for value in scores[row["Method"]].score["values"]
            if (value["metric"], value["measure"], value["step"]) == ("ifr", "likelihood", None)
        )
        assert (row["rewrites"], row["chains"]) == (1, ifr["n"])
        assert ifr["n"] + ifr["excluded"] == 103
    assert rows[0]["differences"] == [], "the best method is what the others are compared with"
    (ifr,) = (each for each in rows[1]["differences"] if each["metric"] == "ifr")
    assert (ifr["best"], ifr["method"], ifr["rewrites"]) == (best, second, 1)
    assert ifr["value"] == pytest.approx(rows[1]["IFR"] - rows[0]["IFR"], rel=1e-12)
    table = list(csv.DictReader(io.StringIO(at_once("report", *edits, "-f", "csv").out)))
    assert [float(r["Preservation"]) for r in table] == [
        pytest.approx(scores[name].value("preservation"), rel=1e-12) for name in (best, second)
    ]
    rounded = f"{rome.value('ifr'):.3f}"
    markdown = at_once("report", *edits, "-f", "markdown").out
    assert any(line.startswith("|") and rounded in line for line in markdown.splitlines())
    latex = at_once("report", *edits, "-f", "latex").out
    assert any(line.endswith(r"\\") and rounded in line for line in latex.splitlines())
    file = tmp_path / "table.md"
    written = at_once("report", *edits, "-o", file)
    assert written.out == ""
    assert file.read_text(encoding="utf-8").strip() == markdown.strip()
    each = json.loads(at_once("report", "-g", mine.graph, "--each", "-f", "json").out)
    assert set(edits) <= {r["edit"] for r in each}


def test_all_rewrites_by_several_methods_give_one_table(
    at_once: Call, mine: Mine, rome: Scored
) -> None:
    shown = at_once(*scoring(mine, "--all", "-m", "none", "-m", "fine_tuning", "--samples", "0"))
    assert (shown.code, shown.err) == (0, "")
    assert "known chains a method of at most 5 facts" in shown.out
    rows = json.loads(at_once("report", "-g", mine.graph, "--all-rewrites", "-f", "json").out)
    counted = {r["Method"]: r["rewrites"] for r in rows}
    assert counted["fine_tuning"] == 6
    # rome was scored on one rewrite.
    assert counted[rome.score["method"]] == 1
    common = at_once("report", "-g", mine.graph, "-f", "json")
    assert "The methods were scored on different rewrites" in common.err
    assert "left out: " in common.err
    assert {r["rewrites"] for r in json.loads(common.out)} == {1}
    control = next(r for r in rows if r["Method"] == "none")
    assert (control["IFR"], control["Preservation"]) == (1.0, 1.0)


def test_tuning_shows_its_plan_first(at_once: Call, mine: Mine) -> None:
    """Nothing is edited or stored, so no other test scores by a tuned setting."""
    asked = ("model", "tune", mine.model, "-g", mine.graph, "-m", "memit", "-m", "kn", "--dry-run")
    plan = at_once(*asked, "--json")
    assert "kn: nothing is tuned; it keeps its values." in plan.err
    assert (plan.json["edits"], plan.json["held_out"], plan.json["methods"]) == (12, 2, ["memit"])
    facts = plan.json["facts"]
    assert len({fact["subject"] for fact in facts}) == len(facts) == 7
    shown = at_once(*asked).out
    assert "At most 12 edits for each of memit, those held out included." in shown
    assert all(fact["target_new"] in shown for fact in facts)


def test_what_there_is_can_be_listed(at_once: Call) -> None:
    methods = {m["name"]: m for m in at_once("model", "methods", "--json").json}
    assert {"rome", "memit", "fine_tuning", "none"} <= set(methods)
    assert {"gpt2-xl", "gpt-j-6b", "llama3-8b"} <= set(methods["rome"]["hparams"])
    assert "Meng" in at_once("model", "methods", "rome").out
    metrics = {m["name"] for m in at_once("db", "metrics", "--json").json}
    assert {"metrics/ifr", "metrics/preservation", "metrics/efficacy"} <= metrics
    assert metrics <= {q["name"] for q in at_once("db", "queries", "--json").json}
    assert at_once("db", "queries", "metrics/ifr").out.startswith("// Indirect Fact Recovery")


def test_doctor_finds_all_that_is_needed(at_once: Call) -> None:
    found = {f["check"]: f for f in at_once("doctor", "--json").json}
    assert all(f["ok"] for f in found.values())
    assert found["neo4j server"]["found"].startswith(("bolt", "neo4j"))


def test_doctor_says_what_is_missing(at_once: Call) -> None:
    done = at_once("doctor", "--json", THINKEVAL_NEO4J_PASSWORD="wrong")
    assert done.code == 2
    database = next(f for f in done.json if f["check"] == "neo4j server")
    assert not database["ok"]
    assert "THINKEVAL_NEO4J_PASSWORD" in database["remedy"]


def test_the_demo_tells_the_whole_story(
    at_once: Call, db: Database, organism: RuntimeModel
) -> None:
    """On the organism of the session: by every method, with chains that survive and times."""
    with without_traces(db, "hogwarts"):
        demo = ("demo", "--model", "organism", "--samples", "1")
        result = at_once(*demo, "--json").json
        scores = {s["method"]: Scored(s["edit"], s) for s in result["scores"]}
        replacing = {name for name in registry.names() if not registry.forgets(name)}
        assert set(scores) == replacing
        assert scores["none"].value("ifr") == 1.0
        assert scores["random_delta"].value("efficacy") < 0.1
        for method in ("rome", "memit", "alphaedit"):
            assert scores[method].value("efficacy") > 0.8
            assert 0 < scores[method].value("ifr") < 1
        assert result["failed"] == []
        assert result["seconds"] >= sum(result["stages"].values()) * 0.5
        shown = at_once(*demo)
        assert shown.code == 0
        for method in replacing:
            assert re.search(rf"^ *[\d.]+ s  \d+ of {len(scores)}: {method}$", shown.err, re.M)
        assert re.search(r" s  none: efficacy \S+, IFR 1.00, Preservation 1.00$", shown.err, re.M)
        assert shown.out.startswith(TAUGHT.opening)
        for part in ("fine_tuning", "Hogwarts", "Scores by edit"):
            assert part in shown.out
        edit, why = result["look_at"]["edit"], result["look_at"]["why"]
        end = shown.out.partition("Look at ")[2]
        assert end.partition(": ")[2].startswith(why)
        for part in ("Verdict by likelihood", "Through whom: ", f"thinkeval show {edit}"):
            assert part in end


def test_the_demo_edits_a_real_model(
    at_once: Call, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models, "fetch_smollm2", lambda *_: real_model.model_folder())
    with without_traces(db, "world"):
        shown = at_once("demo", "-m", "memit", "-m", "none")
        assert shown.code == 0
        assert shown.out.startswith(KNOWN.opening)
        for part in (
            "Look at memit: ",
            "What else to edit, by memit: ",
            "China",
            "report -g world",
        ):
            assert part in shown.out
        told = at_once("demo", "-m", "memit", "--json").json
        (score,) = (Scored(s["edit"], s) for s in told["scores"])
        assert score.score["reused"]
        assert shown.err.count("No published hyperparameters") == 1
        assert score.value("efficacy") > 0.9
        assert 0.4 < score.value("ifr") < 0.9
        assert "p" not in {v["measure"] for v in score.score["values"]}


def test_the_demo_takes_the_organism_where_no_model_can_be_fetched(
    at_once: Call, db: Database, organism: RuntimeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise FetchError("SmolLM2 could not be fetched (index: no route; hub: no route)")

    monkeypatch.setattr(models, "fetch_smollm2", fails)
    with without_traces(db, "hogwarts"):
        done = at_once("demo", "-m", "none")
        assert done.code == 0
        assert "no route" in done.err
        assert done.out.startswith(KNOWN.opening)
        assert TAUGHT.opening in done.out
        asked = at_once("demo", "--model", "smollm2", "-m", "none")
        assert (asked.code, "no route" in asked.err) == (2, True)


def test_the_demo_goes_on_without_a_method_that_cannot_edit_the_model(
    at_once: Call,
    db: Database,
    tiny_gpt2: tuple[Any, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise EditFailedError("the update is not finite")

    monkeypatch.setattr(memit, "execute", fails)
    for part in tiny_gpt2:
        part.save_pretrained(tmp_path / "mine")
    asked = ("demo", "--model", tmp_path / "mine", "--samples", "1", "-m", "memit")
    with without_traces(db, "world"):
        told = at_once(*asked, "-m", "none", "--json").json
        assert [score["method"] for score in told["scores"]] == ["none"]
        assert [failed["method"] for failed in told["failed"]] == ["memit"]
        assert "not finite" in told["failed"][0]["reason"]
        assert "not finite" in at_once(*asked, code=2).err
