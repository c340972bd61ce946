"""Why nothing was found: the thresholds that pairs and triplets missed, and by how much."""

from __future__ import annotations

from thinkeval.service.growth import missed
from thinkeval.service.growth.candidates import Candidate
from thinkeval.service.growth.crawl import Found, Pair
from thinkeval.service.growth.schemas import CrawlOptions, SettledCrawl


def pair(state: str, *objects: tuple[str, float, float]) -> Pair:
    found = tuple(
        Found("Paris", "is in", name, share, agree, 1, "below", ())
        for name, share, agree in objects
    )
    return Pair("Paris", "is in", 1, state, 0.0, 0.0, found, ())  # type: ignore[arg-type]


def test_a_crawl_names_the_best_pair_of_each_threshold() -> None:
    pairs = [
        pair("unknown", ("France", 0.6, 1.0), ("Spain", 0.1, 0.5)),
        pair("unknown", ("Rome", 0.3, 1.0)),
        pair("unknown"),
        pair("refused"),
        pair("known", ("Europe", 0.9, 0.5)),
    ]
    text = missed.of_crawl(pairs, ["Paris"], SettledCrawl())
    assert text == (
        "5 pairs asked, no fact: 2 below --pair-threshold, the best with 0.60 of 0.80 needed"
        " (Paris | is in | France); 1 whose objects are below --agreement or --object-threshold,"
        " the best named by 0.50 of the wordings of 0.75 needed and by 0.90 of the answers of 0.20"
        " needed (Paris | is in | Europe); 1 answered without a name; 1 declined by the model."
    )


def test_a_crawl_without_a_pair_says_why() -> None:
    nothing = CrawlOptions(depth=0).settled()
    assert missed.of_crawl([], ["Paris"], nothing).endswith("the depth is 0.")
    stored = CrawlOptions().settled(most_likely=True, gate="stored")
    assert "stored with the graph" in missed.of_crawl([], ["Paris"], stored)


def candidate(state: str, share: float | None) -> Candidate:
    return Candidate(
        id=f"{state}{share}", kind="triplet", subject="A", relation="r", object="B", state=state,
        share=share, iteration=1, place=0,
    )  # fmt: skip


def test_a_growth_run_names_the_seed_the_statements_and_the_best_triplet() -> None:
    seed = candidate("discarded", 0.0)
    assert missed.of_growth(seed, [seed], 0.2, (0, 0)) == (
        "The seed is no fact: 0.00 of the answers named its object, 0.20 needed (0 questions)."
    )
    known = candidate("validated", 1.0)
    others = [candidate("discarded", 0.1), candidate("discarded", 0.15), candidate("review", None)]
    text = missed.of_growth(known, [known, *others], 0.2, (9, 4))
    assert "9 statements of the reasoning, 4 of them without a triplet; 3 further triplets." in text
    assert "2 triplets below --pass: 0.15 of the answers named its object, 0.20 needed" in text
    assert "1 wait for review" in text
