"""`thinkeval compare` and `comparisons`: one state and several, formats, and refused words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.commands import Cli, Mine

REWRITE = "harry-potter--studied-at"
FACT = "Luna Lovegood|studied at|Hogwarts School of Witchcraft and Wizardry"


def test_an_edit_is_compared_with_its_base(
    mine: Mine, thinkeval: Cli, at_once: Any, tmp_path: Path
) -> None:
    asked = ("-g", mine.graph, "--samples", "0")
    (score,) = thinkeval(
        "score", REWRITE, "-m", "rome", "--model", mine.model, *asked, "--json"
    ).json
    after = f"{mine.model}+edit:{score['edit']}"
    words = ("compare", mine.model, after, *asked, "--rewrite", REWRITE, "--forget", FACT)
    done = thinkeval(*words, "--json").json
    replaced, forgotten = done["states"][0]["requests"]
    assert (replaced["kind"], forgotten["kind"]) == ("replace", "forget")
    ifr = {v["measure"]: v["value"] for v in replaced["values"] if v["metric"] == "ifr"}
    own = {v["measure"]: v["value"] for v in score["values"] if v["metric"] == "ifr"}
    assert abs(ifr["likelihood"] - own["likelihood"]) < 1e-6
    again = thinkeval(*words)
    assert "stored earlier" in again.out
    assert "Facts to forget" in again.out
    assert "0 steps: facts with the subject at one end" in again.out
    shown = at_once(
        "results", "comparisons", done["id"], "--table", "drift", "-f", "csv"
    ).out.splitlines()
    assert shown[0].startswith("facts,n,kept,weakened,replaced,lost,added")
    assert shown[1].startswith(f"all facts,{done['n_facts']},")
    assert done["id"] in at_once("results", "comparisons", "-g", mine.graph).out
    assert "IFR" in at_once("show", replaced["edit"]).out
    assert "forgotten" in at_once("show", forgotten["edit"]).out
    report = at_once("report", "--kind", "forget", "-g", mine.graph, "-f", "csv").out
    assert "compare:" in report
    gone = at_once("results", "comparisons", done["id"], "--delete")
    assert "2 edits" in gone.err + gone.out
    assert at_once("results", "comparisons", done["id"]).code == 2


def test_a_later_change_is_shown_drawn_and_found(
    mine: Mine, thinkeval: Cli, at_once: Any, tmp_path: Path
) -> None:
    asked = ("-g", mine.graph, "--samples", "0")
    (score,) = thinkeval(
        "score", REWRITE, "-m", "rome", "--model", mine.model, *asked, "--json"
    ).json
    tune = "+finetune:graph:steps=4"
    words = (
        "compare", mine.model, f"+edit:{score['edit']}", "+8bit", tune, *asked, "-r", REWRITE,
    )  # fmt: skip
    curve = tmp_path / "curve.svg"
    first = thinkeval(*words, "--figure", str(curve), "--drawing", "retention")
    for text in ("retention", "8bit", tune, "open again", "of the change is left"):
        assert text in first.out, text
    assert curve.read_bytes().startswith(b"<?xml")
    done = thinkeval(*words, "--json").json
    assert [state["spec"] for state in done["states"]] == [words[2], "+8bit", tune]
    kept = done["states"][0]["requests"][0]["retention"]["likelihood"]
    assert kept["retention"] == 1
    assert "stored earlier" in thinkeval(*words).out
    table = at_once(
        "results", "comparisons", done["id"], "--table", "states", "-f", "csv"
    ).out.splitlines()
    assert table[0].startswith("state,retention,p(new),p(old),IFR,chains,Preservation,facts")
    assert "drift_kept" in table[0]
    assert len(table) == 4
    latex = tmp_path / "table.tex"
    words = ("results", "comparisons", done["id"], "--table", "states", "-f", "latex")
    assert at_once(*words, "-o", str(latex)).code == 0
    assert "\\toprule\nstate & retention" in latex.read_text()
    (tuned,) = done["states"][2]["updates"]
    after = f"{mine.model}+edit:{score['edit']}+edit:{tuned}"
    assert at_once("compare", mine.model, after, *asked).code == 0
    assert (
        at_once("results", "chains", done["states"][2]["requests"][0]["edit"], "--limit", "1").code
        == 0
    )
    assert at_once("results", "comparisons", done["id"], "--delete").code == 0
    assert at_once("results", "comparisons", done["id"]).code == 2


def test_refused_at_once(mine: Mine, at_once: Any, tmp_path: Path) -> None:
    model = mine.model
    for words, problem in (
        (("compare", model, f"{model}+edit:none-such", "-g", mine.graph), "none-such"),
        (("compare", model, model, "-g", mine.graph, "--forget", "x"), "names no fact"),
        (("compare", model, model, "-g", mine.graph, "--rewrite", "none-such"), "none-such"),
        (("compare", model, model, "-g", mine.graph, "--implications"), "nothing is requested"),
        (("compare", model, "endpoint:ftp://x#m", "-g", mine.graph), "http"),
        (("compare", f"{model}+adapter:{tmp_path}", model, "-g", mine.graph), "adapter"),
        (("compare", model), "states"),
        (("compare", model, "+9bit", "-g", mine.graph), "no change of a state"),
        (("compare", model, "+finetune:none.txt:steps=2", "-g", mine.graph), "none.txt"),
        (("compare", model, "+finetune:graph:steps=0", "-g", mine.graph), "out of range"),
        (("compare", model, "+adapter:none", "+finetune:graph"), "after an adapter"),
        (("compare", model, "+8bit", "--figure", "curve.gif"), "no format of figures"),
        (("results", "comparisons", "none-such"), "none-such"),
        (("results", "comparisons", "--delete"), "Name a comparison"),
    ):
        done = at_once(*words)
        assert done.code == 2, words
        assert problem in done.error, (words, done.err)
