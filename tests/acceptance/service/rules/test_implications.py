"""Rules of an edit as a user meets them: the same on the command line, over REST, on the page."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Browser

from support.commands import Cli, Mine
from support.serving import Service

RULES = """\
rules:
  - if: [student was sorted into house, house is a house at school]
    then: student studied at school
    kinds: {student: person, house: house, school: school}
  - if: [a studied at school, a was friends with b]
    then: b studied at school
    kinds: {school: school}
"""
GOAL = ("Harry Potter", "studied at", "Hogwarts School of Witchcraft and Wizardry")


@pytest.fixture(scope="module")
def edit(thinkeval: Cli, mine: Mine, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("rules") / "rules.yaml"
    path.write_text(RULES, encoding="utf-8")
    thinkeval("graph", "rules", "add", mine.graph, path)
    done = thinkeval(
        "score", "-g", mine.graph, "--model", mine.model, "harry-potter--studied-at", "-m", "rome",
        "--samples", "0", "--implications", "--json",
    )  # fmt: skip
    return done.json[0]["edit"]


def leaves(proof: dict[str, Any]) -> list[tuple[str, str]]:
    if not proof["premises"]:
        return [(proof["subject"], proof["object"])]
    return [leaf for premise in proof["premises"] for leaf in leaves(premise)]


def test_the_closure_and_a_proof_are_the_same_on_the_command_line_and_over_rest(
    thinkeval: Cli, service: Service, mine: Mine, edit: str
) -> None:
    for graph in (mine.graph, edit):
        told = thinkeval("graph", "rules", "closure", graph, "--json", "--limit", "100").json
        assert told == service.get(f"/v1/graphs/{graph}/closure", limit=100)
        assert told["conclusions"] == len(told["items"]) > 5
        assert told["groundings"] >= told["conclusions"]
        new = thinkeval("graph", "rules", "closure", graph, "--json", "--limit", "0", "--new").json[
            "items"
        ]
        assert [i for i in told["items"] if not i["stated"]] == new
    subject, relation, object_ = GOAL
    found = thinkeval("graph", "rules", "prove", edit, *GOAL, "--json").json
    assert (
        found
        == service.get(
            f"/v1/graphs/{edit}/proofs", subject=subject, relation=relation, object=object_
        )["items"]
    )
    assert ("Harry Potter", "Gryffindor") in leaves(found[0])
    shown = thinkeval("graph", "rules", "prove", edit, *GOAL, COLUMNS="200").out
    assert "Harry Potter was sorted into Gryffindor" in shown
    nothing = thinkeval("graph", "rules", "prove", edit, *GOAL[:2], "Gryffindor", COLUMNS="200")
    assert nothing.out.startswith("Nothing proves it")


def test_what_the_rules_say_is_on_the_command_line_and_over_rest(
    thinkeval: Cli, service: Service, edit: str
) -> None:
    found = service.get(f"/v1/edits/{edit}/implications")
    implied, omega = found["implications"], found["omega"]
    shown = thinkeval("results", "chains", edit, "--limit", "100", COLUMNS="250").out
    assert implied["items"]
    for item in implied["items"]:
        assert f"{item['side']}: {item['verdict']}  {item['subject']}" in shown
    assert f"by {omega['rules']} rules" in shown
    paths = next(i for i in omega["items"] if (i["kind"], i["step"]) == ("paths", 5))
    score = service.get(f"/v1/edits/{edit}")["result"]
    deep = {
        v["step"]: (v["value"], v["n"])
        for v in score["values"]
        if (v["metric"], v["measure"]) == ("deep_edited", "likelihood")
    }
    assert deep[5] == (paths["value"], paths["chains"])
    report = thinkeval("report", edit).out
    assert f"rules: {omega['items'][9]['surviving']} of {omega['items'][9]['chains']}" in report
    assert omega["deep"]["paths"] == max((s for s, (v, _) in deep.items() if s and v), default=0)


def test_chains_with_implied_links_are_listed_with_their_proofs(
    thinkeval: Cli, service: Service, edit: str
) -> None:
    path = f"/v1/edits/{edit}/implications"
    omega = service.get(path)["omega"]
    both = next(i for i in omega["items"] if (i["kind"], i["step"]) == ("both", 5))
    whole = service.get(path, limit=1000)["chains"]
    assert (whole["total"], whole["surviving"]) == (both["chains"], both["surviving"])
    assert len(whole["items"]) == whole["total"] > 2
    assert whole["next"] is None
    first = service.get(path, limit=2)["chains"]
    assert first["next"]
    second = service.get(path, limit=2, cursor=first["next"])["chains"]
    assert first["items"] + second["items"] == whole["items"][:4]
    assert (
        thinkeval("results", "implications", edit, "--limit", "1000", "--json").json["chains"]
        == whole
    )
    three = [item for item in whole["items"] if item["steps"] == 3]
    assert service.get(path, steps=3, limit=1000)["chains"]["items"] == three

    alive = [item for item in whole["items"] if item["surviving"]]
    assert service.get(path, surviving=True, limit=1000)["chains"]["items"] == alive
    shown = thinkeval(
        "results", "implications", edit, "--surviving", "--limit", "1000", COLUMNS="250"
    ).out
    assert shown.count("● survives") == len(alive)
    assert f"{len(alive)} of {len(whole['items'])} chains over conclusions of rules" in shown
    assert f"by {omega['rules']} rules" in shown
    for item in alive[:5]:
        implied = [link for link in item["links"] if link["implied"]]
        assert implied
        for link in implied:
            assert len(leaves(link["proof"])) == link["facts"] >= 2
            assert link["proof"]["text"] in shown
            assert f"∴ {link['relation']} → {link['object']}" in shown
    if alive:
        report = thinkeval("report", edit).out
        assert f"over conclusions of rules:\n\n- {alive[0]['steps']} facts, R " in report


def test_a_comparison_counts_it_and_its_edit_shows_it(
    thinkeval: Cli, service: Service, mine: Mine, edit: str
) -> None:
    states = (mine.model, f"{mine.model}+edit:{edit}", "-g", mine.graph, "--samples", "0")
    asked = ("compare", *states, "-r", "harry-potter--studied-at", "--implications")
    shown = thinkeval(*asked, COLUMNS="250").out
    assert "Implications by 2 rules" in shown
    (request,) = thinkeval(*asked, "--json").json["states"][0]["requests"]
    read = thinkeval("results", "chains", request["edit"], "--limit", "100", COLUMNS="250").out
    again = thinkeval("results", "chains", edit, "--limit", "100", COLUMNS="250").out
    begun = "Is Hogwarts School"
    assert read[read.index(begun) :] == again[again.index(begun) :]
    both = (*asked, "--forget", "|".join(GOAL))
    shown = thinkeval(*both, COLUMNS="250").out
    for line in ("Rewrites", "Facts to forget", "stale, by rules only"):
        assert line in shown
    found = thinkeval(*both, "--json").json
    page = service.http.get(f"/comparisons/{found['id']}").text
    assert "Implications by" in page
    for requests in ("Facts to forget", "Rewrites"):
        assert len(re.findall(rf'scope="row"[^>]*>\s*{requests}\s*<', page)) == 1
    assert (
        service.http.delete(f"/v1/edits/{found['states'][0]['requests'][1]['edit']}").status_code
        == 204
    )
    page = service.http.get(f"/comparisons/{found['id']}").text
    assert re.search(r'scope="row"[^>]*>\s*Rewrites\s*<', page)
    assert not re.search(r'scope="row"[^>]*>\s*Facts to forget\s*<', page)


def test_of_several_states_it_is_counted_for_each(
    thinkeval: Cli, service: Service, mine: Mine, edit: str
) -> None:
    asked = ("-g", mine.graph, "-r", "harry-potter--studied-at", "--samples", "0")
    words = ("compare", mine.model, f"+edit:{edit}", "+8bit", *asked)
    shown = thinkeval(*words, "--implications", COLUMNS="250").out
    counted = shown[shown.index("Implications by 2 rules") :]
    rows = [line for line in counted.splitlines() if " of " in line and "│" in line]
    assert ["0 +edit:" in rows[0], "1 +8bit" in rows[1], len(rows)] == [True, True, 2]
    line = thinkeval(*words, "--implications", "--json").json["id"]
    page = service.http.get(f"/comparisons/{line}").text
    for state in (f"0 +edit:{edit}", "1 +8bit"):
        assert len(re.findall(rf'scope="row"[^>]*>\s*{re.escape(state)}\s*<', page)) == 1
    thinkeval("results", "comparisons", line, "--delete")
    assert "Implications" not in thinkeval(*words, COLUMNS="250").out


def test_bad_questions_are_answered_with_a_remedy(
    thinkeval: Cli, service: Service, mine: Mine, edit: str
) -> None:
    assert "Did you mean" in thinkeval("graph", "rules", "closure", f"{mine.graph}x", code=2).error
    told = thinkeval("graph", "rules", "prove", edit, "Harry Poter", *GOAL[1:], code=2).error
    assert "Did you mean 'Harry Potter'" in told
    assert (
        "no rule" in thinkeval("graph", "rules", "closure", edit, "--rule", "nothing", code=2).error
    )
    answer = service.http.get(f"/v1/edits/{edit}/implications", params={"measure": "p"})
    assert (answer.status_code, answer.json()["code"]) == (404, "nothing-stored")
    assert "was not measured" in answer.json()["detail"]
    assert service.http.get("/v1/edits/nothing/implications").status_code == 404


def test_the_page_says_it_too_and_fits_a_telephone(
    service: Service, edit: str, chromium: Browser
) -> None:
    found = service.get(f"/v1/edits/{edit}/implications", surviving=True)
    items, omega, mixed = found["implications"]["items"], found["omega"], found["chains"]
    wrong: list[str] = []
    for width in (1280, 390):
        page = chromium.new_page(viewport={"width": width, "height": 900})
        page.on("console", lambda m: wrong.append(m.text) if m.type == "error" else None)
        page.goto(f"{service.url}/edits/{edit}/rules")
        section = page.locator("#rules")
        section.wait_for()
        marks = section.locator(".implied .mark").all_inner_texts()
        assert [mark.split(maxsplit=1)[1] for mark in marks] == [item["verdict"] for item in items]
        said = section.locator(".implied .concluded .conclusion").first.inner_text()
        assert said == "{subject} {relation} {object}".format(**items[0])
        section.locator("summary").first.click()
        proof = section.locator(".proof").first.inner_text()
        assert all(f"{s} " in proof and o in proof for s, o in leaves(omega["proofs"][0]))
        section.locator("#mixed summary").click()
        passing = section.locator("#mixed .mixed")
        assert passing.count() == min(10, mixed["total"]) > 0
        boxes = passing.first.locator(".box").all_inner_texts()
        assert boxes == mixed["items"][0]["entities"]
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.close()
    assert not wrong


def test_an_edit_posted_with_implications_is_the_command_lines(
    service: Service, mine: Mine, edit: str
) -> None:
    posted = service.post(
        graph=mine.graph, rewrite="harry-potter--studied-at", model=mine.model, method="rome",
        samples=0, implications=True,
    )  # fmt: skip
    assert service.ended(posted["id"])["id"] == edit


def test_an_edit_of_a_graph_without_rules_is_refused(thinkeval: Cli, mine: Mine) -> None:
    thinkeval("import", "hogwarts", "--name", f"{mine.graph}-bare")
    told = thinkeval(
        "score", "-g", f"{mine.graph}-bare", "--model", mine.model, "harry-potter--studied-at",
        "--samples", "0", "--implications", code=2,
    ).error  # fmt: skip
    assert "no rules" in told
    assert "thinkeval graph rules add" in told
