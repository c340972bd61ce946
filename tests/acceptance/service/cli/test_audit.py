"""`thinkeval results audit`: a comparison as a folder, checked, and opened in a browser."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from support.axe import violations
from support.commands import Cli, Mine
from support.states.audits import is_whole
from support.watching import fits
from thinkeval.service.base.settings import Settings

FACT = "Luna Lovegood|studied at|Hogwarts School of Witchcraft and Wizardry"
NARROW = {"width": 390, "height": 800}


@pytest.fixture(scope="module")
def forgotten(
    mine: Mine, thinkeval: Cli, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, Any], Path]:
    """A comparison of the organism with itself after a fact was forgotten; its audit."""
    thinkeval("graph", "rules", "add", mine.graph, "hogwarts")
    asked = ("-g", mine.graph, "--samples", "0", "--forget", FACT)
    (score,) = thinkeval("score", "-m", "npo", "--model", mine.model, *asked, "--json").json
    after = f"{mine.model}+edit:{score['edit']}"
    compared = thinkeval("compare", mine.model, after, *asked, "--json").json
    folder = tmp_path_factory.mktemp("audit") / "luna"
    done = thinkeval("results", "audit", compared["id"], "-o", folder)
    assert "chains of facts led to Hogwarts" in done.out
    assert f"(cd {folder} && sha256sum -c SHA256SUMS)" in done.out
    assert is_whole(folder)
    return compared, folder


def content_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "audit.json").read_text(encoding="utf-8"))


def test_it_has_what_the_comparison_found(forgotten: tuple[dict[str, Any], Path]) -> None:
    compared, folder = forgotten
    found = content_of(folder)
    (state,) = compared["states"]
    (request,) = state["requests"]
    routes = request["routes"]["likelihood"]
    chains = found["chains"]
    assert len(chains) == routes["chains"]
    assert sum(each["state"] in ("open", "opened") for each in chains) == routes["after"]
    (metrics,) = found["metrics"]
    overall = [value for value in metrics["values"] if value["step"] is None]
    values = {(value["metric"], value["measure"]): value["value"] for value in overall}
    for value in request["values"]:
        assert values[value["metric"], value["measure"]] == value["value"]
    assert "begins with the object" in metrics["leak"]
    (verdict,) = found["verdict"]["requests"]
    assert verdict["gone"] == pytest.approx(values["forgetting", "likelihood"])
    is_open = any(each["state"] in ("open", "opened") for each in chains)
    assert verdict["kind"] in (("leaks", "broke") if is_open else ("leaks", "broke", None))
    states = found["states"]
    (state,) = compared["states"]
    digests = [state["before"]["digest"], state["after"]["digest"]]
    assert [each["digest"] for each in states] == digests
    (edit,) = states[1]["edits"]
    assert edit["forget"]["retain"]["n"] > 0, "what the method retained"
    queries = {each["name"]: each for each in found["queries"]}
    for name in ("states/drift", "states/routes"):
        assert "comparison" in queries[name]["used_by"]
        assert queries[name]["same"] is True
    facts = [each for each in found["facts"] if not each["request"]]
    assert len(facts) == compared["n_facts"]


def test_refused_at_once(
    forgotten: tuple[dict[str, Any], Path], at_once: Any, tmp_path: Path
) -> None:
    compared, folder = forgotten
    before = content_of(folder)
    (tmp_path / "another file").touch()
    for words, problem in (
        (
            (
                "results",
                "audit",
            ),
            "comparison",
        ),
        (("results", "audit", compared["id"]), "--output"),
        (("results", "audit", "none-such", "-o", tmp_path / "new"), "none-such"),
        (("results", "audit", compared["id"], "-o", folder), "an audit already"),
        (("results", "audit", compared["id"], "-o", tmp_path, "--force"), "no audit"),
    ):
        done = at_once(*words)
        assert done.code == 2
        assert problem in done.error, (words, done.err)
    assert not (tmp_path / "new").exists()
    assert is_whole(folder)
    assert content_of(folder) == before


def test_an_audit_is_replaced_by_force(
    forgotten: tuple[dict[str, Any], Path], thinkeval: Cli, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(forgotten[1], tmp_path / "copy"))
    (folder / "audit.html").write_text("altered", encoding="utf-8")
    assert not is_whole(folder)
    done = thinkeval("results", "audit", forgotten[0]["id"], "-o", folder, "--force", "--json").json
    assert is_whole(folder)
    assert done == {"folder": str(folder), "verdict": content_of(folder)["verdict"]}


@pytest.mark.heavy
def test_a_browser_opens_it_without_a_server(
    forgotten: tuple[dict[str, Any], Path], chromium: Browser, test_settings: Settings
) -> None:
    address = (forgotten[1] / "audit.html").as_uri()
    wrong: list[str] = []
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, bypass_csp=True)
    plain = chromium.new_context(viewport=NARROW)
    for each in (plain, context):
        page = each.new_page()
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda asked: wrong.append(asked.url) if asked.url != address else None)
        page.goto(address)
        fits(page, page.viewport_size["width"] if page.viewport_size else 0)
        assert page.locator("svg.chain").count() > 0
        assert "Verdict" in page.inner_text("main")
        page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
        fits(page, page.viewport_size["width"] if page.viewport_size else 0)
    assert wrong == []
    # axe's own script is refused by the document's policy, so that context bypasses it.
    assert violations(page, test_settings.cache / "axe", settled=True) == []
    context.close()
    plain.close()
