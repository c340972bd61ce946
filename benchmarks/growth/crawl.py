"""A crawl of an organism: its figures, and seconds against asking one prompt at a time.

    python benchmarks/growth/crawl.py [GRAPH] [START] [--json]

For the plain organism and the one that was taught not to know: the crawl with several rules, each
against the graph it was trained on; how the fraction of "unknown" separates pairs that exist from
withheld absent ones; and the seconds of the batched crawl beside the same requests one at a time
(measured on a part of them). Needs no database.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of bench.py

import bench

from thinkeval.editing import models
from thinkeval.editing.organism import Organism, OrganismConfig, train
from thinkeval.loaders import formats, graphs
from thinkeval.loaders.records import KnowledgeGraph
from thinkeval.service.base.settings import Settings
from thinkeval.service.growth.crawl import (
    Crawler,
    Names,
    examples,
    is_unknown,
    relations_of,
    requests_for,
)
from thinkeval.service.growth.endpoint import Endpoint, Request, Sampling
from thinkeval.service.growth.open_endpoint import InProcess
from thinkeval.service.growth.schemas import CrawlOptions

ONE_BY_ONE = 400
"""Requests that are asked one at a time, evenly taken from all."""
LONGEST = 5
RULES = {
    "kind gate, .8, .2 (default)": CrawlOptions(),
    "stored kinds, .8, .2": CrawlOptions(gate="stored"),
    "stored kinds, .5, .5": CrawlOptions(gate="stored", pair_threshold=0.5, object_threshold=0.5),
    "no gate, .8, .2": CrawlOptions(gate="none"),
    "kind gate, no pair threshold, .2": CrawlOptions(pair_threshold=0.0),
}
"""By name; the first is the default of a crawl. The numbers are two thresholds: of "unknown" and of
a kept object."""
Triplet = tuple[str, str, str]
ORGANISMS = {"plain": 0.0, "unknown": 0.5}
"""By name: the fraction of absent pairs that were taught "unknown"."""


@dataclass(frozen=True)
class Text:
    """An answer."""

    id: str
    text: str


class Asking:
    """Asks an endpoint, equal requests once, and keeps the time."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint, self.seconds, self.known = endpoint, 0.0, dict[str, str]()
        self.requests: list[Request] = []

    def __call__(self, requests: Sequence[Request]) -> list[Text]:
        """Answers in the order of the requests."""
        keys = [request.id(self.endpoint.id) for request in requests]
        new = {k: r for k, r in zip(keys, requests, strict=True) if k not in self.known}
        self.requests += new.values()
        began, names = time.perf_counter(), list(new)
        for part in self.endpoint.ask(list(new.values())):
            self.known |= {names[place]: reply.text for place, reply in part}
        self.seconds += time.perf_counter() - began
        return [Text(key, self.known[key]) for key in keys]


def reachable(facts: set[Triplet], start: str, steps: int) -> set[Triplet]:
    """Facts on paths of at most so many steps from the start."""
    near = {start}
    for _ in range(steps - 1):
        near |= {object for subject, _, object in facts if subject in near}
    return {fact for fact in facts if fact[0] in near}


def chains(facts: set[Triplet], start: str, to: str) -> set[tuple[str, ...]]:
    """Simple paths of at most five facts, by their entities."""
    after: dict[str, set[str]] = {}
    for subject, _, object in facts:
        after.setdefault(subject, set()).add(object)
    found, paths = set(), [(start,)]
    for _ in range(LONGEST):
        longer = [(*path, o) for path in paths for o in after.get(path[-1], ()) if o not in path]
        found |= {path for path in longer if path[-1] == to}
        paths = [path for path in longer if path[-1] != to]
    return found


def crawl(graph: KnowledgeGraph, start: str, asking: Asking, knobs: CrawlOptions) -> dict[str, Any]:
    """The figures of a crawl."""
    kinds = {entity.name: entity.kind for entity in graph.entities if entity.kind}
    crawler = Crawler(
        relations_of(graph.facts), asking, knobs, names=Names(graph.entities),
        examples=examples(graph), kinds=kinds,
    )  # fmt: skip
    levels = list(crawler.levels([start]))
    found = {(f.subject, f.relation, f.object) for level in levels for f in level.facts}
    true = {(f.subject, f.relation, f.object) for f in graph.facts}
    reach = reachable(true, start, knobs.depth)
    precision, recall = len(found & true) / len(found), len(found & reach) / len(reach)
    to = next((r.target_true for r in graph.rewrites if r.subject == start), None)
    paths = [chains(facts, start, to) if to else set() for facts in (true, found)]
    return {
        "questions": sum(len(level.pairs) for level in levels),
        "facts": len(found),
        "precision": precision,
        "recall": recall,
        "f1": 2 * precision * recall / (precision + recall),
        "chains": len(paths[0]),
        "chains_found": len(paths[1]),
        "chains_right": len(paths[0] & paths[1]),
        "ended": crawler.reason,
    }


def unknown_shares(
    graph: KnowledgeGraph, organism: Organism, asking: Asking
) -> tuple[dict[str, dict[str, float]], float]:
    """Fraction of "unknown" on pairs that exist, were taught absent, and were withheld; AUC.

    Of each group of pairs: their number `n`, the `mean` fraction, and the fraction of pairs with
    `half` of their answers or more. AUC: of the withheld pairs against the existing ones.
    """
    assert organism.absent is not None
    relations = {relation.name: relation for relation in relations_of(graph.facts)}
    groups = {
        "existing": sorted({(f.subject, f.relation) for f in graph.facts}),
        "absent, taught": organism.absent.taught,
        "absent, withheld": organism.absent.held_out,
    }
    shares = {
        name: [
            fmean(
                is_unknown(answer.text)
                for answer in asking(requests_for(s, relations[r].wordings, Sampling(), 3))
            )
            for s, r in pairs
        ]
        for name, pairs in groups.items()
    }
    both = list(itertools.product(shares["absent, withheld"], shares["existing"]))
    return {
        name: {"n": len(of), "mean": fmean(of), "half": fmean(each >= 0.5 for each in of)}
        for name, of in shares.items()
    }, fmean((a > b) + (a == b) / 2 for a, b in both)


def main() -> None:
    """Measure and print."""
    parser = bench.parser(__doc__)
    parser.add_argument("graph", nargs="?", default="hogwarts", choices=graphs.names())
    parser.add_argument("start", nargs="?", default="Harry Potter")
    options = parser.parse_args()
    graph = formats.load(graphs.path(options.graph)).graph
    measured = {}
    for name, share in ORGANISMS.items():
        bench.say(f"organism {name}")
        config = OrganismConfig(unknown=share)
        organism = train(graph, config, cache_dir=Settings().cache / "organisms")
        measured[name] = measure(graph, options.start, organism)
    if options.json:
        print(json.dumps({"benchmark": "crawl", "organisms": measured, "machine": bench.machine()}))
    else:
        show(measured)


def measure(graph: KnowledgeGraph, start: str, organism: Organism) -> dict[str, Any]:
    """Crawls of one organism by all rules, their seconds, and what it says of absent pairs."""
    endpoint = InProcess(models.load(str(organism.path)))
    asking = Asking(endpoint)
    measured: dict[str, Any] = {"trained_s": organism.seconds, "rules": {}}
    for rule, knobs in RULES.items():
        before, seconds = len(asking.requests), asking.seconds
        measured["rules"][rule] = crawl(graph, start, asking, knobs)
        if rule == next(iter(RULES)):
            measured["answers"] = len(asking.requests) - before
            measured["batched_s"] = asking.seconds - seconds
    n = measured["answers"]
    some = asking.requests[:n][:: max(1, n // ONE_BY_ONE)]
    began = time.perf_counter()
    for request in some:
        list(endpoint.ask([request]))
    measured |= {"asked_singly": len(some), "single_s": (time.perf_counter() - began) / len(some)}
    if organism.absent is not None:
        measured["unknown"], measured["auc"] = unknown_shares(graph, organism, asking)
    seeds = [
        {(f.subject, f.relation, f.object) for level in made for f in level.facts}
        for made in _two_seeds(graph, start, asking)
    ]
    return measured | {"jaccard": len(seeds[0] & seeds[1]) / len(seeds[0] | seeds[1])}


def show(measured: dict[str, dict[str, Any]]) -> None:
    """Print the figures as text."""
    for name, of in measured.items():
        print(f"{name}: trained in {of['trained_s']:.0f} s")
        for rule, row in of["rules"].items():
            print(
                f"  {rule:34}{row['questions']:6} questions {row['facts']:5} facts"
                f"  P {row['precision']:.3f} R {row['recall']:.3f} F1 {row['f1']:.3f}  chains"
                f" {row['chains']}/{row['chains_found']}/{row['chains_right']}  {row['ended']}"
            )
        n, seconds, each = of["answers"], of["batched_s"], of["single_s"]
        print(f"  default: {n} answers in {seconds:.1f} s, in batches")
        print(f"  one at a time: {each * 1000:.1f} ms an answer ({of['asked_singly']} measured),"
              f" {each * n:.0f} s for all: {each * n / seconds:.1f} times as long")  # fmt: skip
        for group, share in of.get("unknown", {}).items():
            print(f"  {group:16} n {share['n']:3}  mean {share['mean']:.3f}"
                  f"  >= .5 {share['half']:.3f}")  # fmt: skip
        if "auc" in of:
            print(f"  AUC, withheld against existing: {of['auc']:.3f}")
        print(f"  Jaccard of the facts of two seeds: {of['jaccard']:.3f}")


def _two_seeds(graph: KnowledgeGraph, start: str, asking: Asking) -> list:
    made = []
    for seed in (0, 1):
        crawler = Crawler(
            relations_of(graph.facts), asking, CrawlOptions(), names=Names(graph.entities),
            examples=examples(graph), sampling=Sampling(seed=seed),
        )  # fmt: skip
        made.append(list(crawler.levels([start])))
    return made


if __name__ == "__main__":
    main()
