"""`thinkeval audit`: a comparison as a folder, verified, opened in a browser, altered and found."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from support.axe import violations
from support.commands import Cli, Mine
from support.watching import fits
from thinkeval.service.settings import Settings

FACT = "Luna Lovegood|studied at|Hogwarts School of Witchcraft and Wizardry"
NARROW = {"width": 390, "height": 800}


@pytest.fixture(scope="module")
def forgotten(
    mine: Mine, thinkeval: Cli, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, Any], Path]:
    """A comparison of the organism with itself after a fact was forgotten; its audit."""
    thinkeval("rules", "add", mine.graph, "hogwarts")
    asked = ("-g", mine.graph, "--samples", "0", "--forget", FACT)
    (score,) = thinkeval("score", "-m", "npo", "--model", mine.model, *asked, "--json").json
    after = f"{mine.model}+edit:{score['edit']}"
    compared = thinkeval("compare", mine.model, after, *asked, "--json").json
    folder = tmp_path_factory.mktemp("audit") / "luna"
    done = thinkeval("audit", compared["id"], "-o", folder)
    assert "chains of facts led to Hogwarts" in done.out
    assert f"thinkeval audit --verify {folder}" in done.out
    return compared, folder


def entries(folder: Path) -> list[dict[str, Any]]:
    text = (folder / "entries.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.split("\n")[:-1]]


def test_it_has_what_the_comparison_found(forgotten: tuple[dict[str, Any], Path]) -> None:
    compared, folder = forgotten
    found = entries(folder)
    (request,) = compared["requests"]
    routes = request["routes"]["likelihood"]
    chains = [each["data"] for each in found if each["kind"] == "chain"]
    assert len(chains) == routes["chains"]
    assert sum(each["state"] in ("open", "opened") for each in chains) == routes["after"]
    metrics = next(each["data"] for each in found if each["kind"] == "metrics")
    overall = [value for value in metrics["values"] if value["step"] is None]
    values = {(value["metric"], value["measure"]): value["value"] for value in overall}
    for value in request["values"]:
        assert values[value["metric"], value["measure"]] == value["value"]
    assert "begins with the object" in metrics["leak"]
    verdict = next(each["data"] for each in found if each["kind"] == "verdict")["requests"][0]
    assert verdict["gone"] == pytest.approx(values["forgetting", "likelihood"])
    closed = not any(each["state"] in ("open", "opened") for each in chains)
    assert (verdict["outcome"], closed) in (("erased", True), ("open", False), ("open", True))
    states = [each["data"] for each in found if each["kind"] == "state"]
    digests = [compared["before"]["digest"], compared["after"]["digest"]]
    assert [each["digest"] for each in states] == digests
    (edit,) = states[1]["edits"]
    assert edit["forget"]["retain"]["n"] > 0, "what the method retained"
    queries = {each["data"]["name"]: each["data"] for each in found if each["kind"] == "query"}
    for name in ("states/drift", "states/routes"):
        assert "comparison" in queries[name]["used_by"]
        assert queries[name]["same"] is True
    facts = [each for each in found if each["kind"] == "fact" and not each["data"]["request"]]
    assert len(facts) == compared["n_facts"]


def test_one_changed_character_is_named(
    forgotten: tuple[dict[str, Any], Path], at_once: Any, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(forgotten[1], tmp_path / "copy"))
    nowhere = {"THINKEVAL_NEO4J_URI": "bolt://127.0.0.1:9"}
    found = entries(folder)
    whole = at_once("audit", "--verify", folder, **nowhere)
    assert whole.code == 0, "no database is needed"
    assert f"{len(found)} entries, unaltered, sealed {found[-1]['digest']}" in whole.out
    number = next(each["n"] for each in found if each["kind"] == "fact")
    path = folder / "entries.jsonl"
    lines = path.read_text(encoding="utf-8").split("\n")
    lines[number - 1] = lines[number - 1].replace('"before":0', '"before":1', 1)
    path.write_text("\n".join(lines), encoding="utf-8")
    done = at_once("audit", "--verify", folder)
    assert done.code == 1
    assert f"Altered: entry {number} (fact): its content does not match its digest" in done.out
    as_json = at_once("audit", "--verify", folder, "--json")
    assert (as_json.code, as_json.json["altered"]["n"]) == (1, number)


def test_a_signed_one(
    forgotten: tuple[dict[str, Any], Path], thinkeval: Cli, at_once: Any, tmp_path: Path
) -> None:
    import subprocess

    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen is not installed here")
    key = tmp_path / "key"
    words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "ada", "-f", str(key)]
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL)
    folder = tmp_path / "signed"
    done = thinkeval("audit", forgotten[0]["id"], "-o", folder, "--sign", key, "--json").json
    assert done["signature"] == "seal.sig"
    good = at_once("audit", "--verify", folder, "--signer", key.with_suffix(".pub"))
    assert (good.code, "Signed by ada (ssh)" in good.out) == (0, True)
    assert "name the signer (--signer)" in at_once("audit", "--verify", folder).out
    unsigned = at_once("audit", "--verify", forgotten[1], "--signer", key.with_suffix(".pub"))
    assert (unsigned.code, "not signed" in unsigned.out) == (1, True)


def test_refused_at_once(
    forgotten: tuple[dict[str, Any], Path], at_once: Any, tmp_path: Path
) -> None:
    compared, folder = forgotten
    for words, problem in (
        (("audit",), "Name a comparison"),
        (("audit", compared["id"]), "Name a comparison"),
        (("audit", "none-such", "-o", tmp_path / "new"), "none-such"),
        (("audit", compared["id"], "-o", folder), "an audit already"),
        (("audit", compared["id"], "-o", tmp_path.parent), "no audit"),
        (("audit", compared["id"], "--verify", folder), "takes no COMPARISON"),
        (("audit", "--verify", tmp_path), "no audit"),
        (("audit", "--verify", folder, "--signer", tmp_path / "none"), "cannot be read"),
        (("audit", compared["id"], "-o", tmp_path / "new", "--signer", folder), "--verify"),
        (("audit", compared["id"], "-o", tmp_path / "new", "--sign", tmp_path / "k"), "be read"),
    ):
        (tmp_path.parent / "another file").touch()
        done = at_once(*words)
        if problem == "cannot be read":
            assert (done.code, "not signed" in done.out) == (1, True)
            continue
        assert problem in done.error, (words, done.err)
    assert not (tmp_path / "new").exists()


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
