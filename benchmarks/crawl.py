"""A crawl of an organism: its figures, and seconds against asking one prompt at a time.

    python benchmarks/crawl.py [GRAPH] [START]

For the plain organism and the one that was taught not to know: the crawl with several rules, each
against the graph it was trained on; how the fraction of "unknown" separates pairs that exist from
withheld absent ones; and the seconds of the batched crawl beside the same requests one at a time
(measured on a part of them). Needs no database.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from thinkeval.editing import models
from thinkeval.editing.organism import Organism, OrganismConfig, train
from thinkeval.loaders import formats, graphs
from thinkeval.loaders.records import KnowledgeGraph
from thinkeval.service.growth.crawl import measures
from thinkeval.service.growth.crawl.crawler import Crawler, Knobs
from thinkeval.service.growth.crawl.kinds import examples
from thinkeval.service.growth.crawl.names import Names
from thinkeval.service.growth.crawl.unknowns import is_unknown
from thinkeval.service.growth.crawl.wordings import relations_of, requests_for
from thinkeval.service.growth.endpoints.endpoint import Endpoint, Request, Sampling
from thinkeval.service.growth.endpoints.in_process import InProcess
from thinkeval.service.settings import Settings

ONE_BY_ONE = 400
"""Requests that are asked one at a time, evenly taken from all."""
LONGEST = 5
RULES = {
    "recommended: kind gate, .8, .2": Knobs(),
    "kinds of the graph, .8, .2": Knobs(gate="stored"),
    "kinds of the graph, .5, .5": Knobs(gate="stored", pair_threshold=0.5, object_threshold=0.5),
    "no gate, .8, .2": Knobs(gate="none"),
    "kind gate, no pair threshold, .2": Knobs(pair_threshold=0.0),
}


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


def chains(facts: set[measures.Triplet], start: str, to: str) -> set[tuple[str, ...]]:
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


def crawl(graph: KnowledgeGraph, start: str, asking: Asking, knobs: Knobs) -> Crawler:
    """A crawl; its figures are printed."""
    kinds = {entity.name: entity.kind for entity in graph.entities if entity.kind}
    crawler = Crawler(
        relations_of(graph.facts), asking, knobs, names=Names(graph.entities),
        examples=examples(graph), kinds=kinds,
    )  # fmt: skip
    levels = list(crawler.levels([start]))
    found = {(f.subject, f.relation, f.object) for level in levels for f in level.facts}
    true = {(f.subject, f.relation, f.object) for f in graph.facts}
    figures = measures.retrieval(found, true, measures.reachable(true, [start], knobs.depth))
    to = next((r.target_true for r in graph.rewrites if r.subject == start), None)
    paths = [chains(facts, start, to) if to else set() for facts in (true, found)]
    print(
        f"{sum(len(level.pairs) for level in levels):6} questions {figures['found']:5} facts"
        f"  P {figures['precision']:.3f} R {figures['recall']:.3f} F1 {figures['f1']:.3f}"
        f"  chains {len(paths[0])}/{len(paths[1])}/{len(paths[0] & paths[1])}"
        f"  {crawler.reason}"
    )
    return crawler


def unknown_shares(graph: KnowledgeGraph, organism: Organism, asking: Asking) -> None:
    """Fraction of "unknown" on pairs that exist, were taught absent, and were withheld; AUC."""
    assert organism.absent is not None
    relations = {relation.name: relation for relation in relations_of(graph.facts)}
    groups = {
        "existing": sorted({(f.subject, f.relation) for f in graph.facts}),
        "absent, taught": organism.absent.taught,
        "absent, withheld": organism.absent.held_out,
    }
    shares = {}
    for name, pairs in groups.items():
        shares[name] = [
            fmean(
                is_unknown(answer.text)
                for answer in asking(
                    requests_for(s, relations[r].wordings, Sampling(), 3, chat=False)
                )
            )
            for s, r in pairs
        ]
        half = fmean(share >= 0.5 for share in shares[name])
        print(f"  {name:16} n {len(pairs):3}  mean {fmean(shares[name]):.3f}  >= .5 {half:.3f}")
    both = list(itertools.product(shares["absent, withheld"], shares["existing"]))
    print(f"  AUC, withheld against existing: {fmean((a > b) + (a == b) / 2 for a, b in both):.3f}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graph", nargs="?", default="hogwarts", choices=graphs.names())
    parser.add_argument("start", nargs="?", default="Harry Potter")
    options = parser.parse_args()
    name, start = options.graph, options.start
    graph = formats.load(graphs.path(name)).graph
    for share in (0.0, 0.5):
        organism = train(
            graph, OrganismConfig(unknown=share), cache_dir=Settings().cache / "organisms"
        )
        print(f"{organism.path.name}: trained in {organism.seconds:.0f} s")
        endpoint = InProcess(models.load(str(organism.path)))
        asking = Asking(endpoint)
        for rule, knobs in RULES.items():
            asking.seconds, before = 0.0, len(asking.requests)
            print(f"  {rule:34}", end="")
            crawl(graph, start, asking, knobs)
            if rule.startswith("recommended"):
                n, seconds = len(asking.requests) - before, asking.seconds
        print(f"  recommended: {n} answers in {seconds:.1f} s, in batches")
        some = asking.requests[:n][:: max(1, n // ONE_BY_ONE)]
        began = time.perf_counter()
        for request in some:
            list(endpoint.ask([request]))
        each = (time.perf_counter() - began) / len(some)
        print(f"  one at a time: {each * 1000:.1f} ms an answer ({len(some)} measured),"
              f" {each * n:.0f} s for all: {each * n / seconds:.1f} times as long")  # fmt: skip
        if organism.absent is not None:
            unknown_shares(graph, organism, asking)
        seeds = [
            {(f.subject, f.relation, f.object) for level in made for f in level.facts}
            for made in _two_seeds(graph, start, asking)
        ]
        print(f"  Jaccard of the facts of two seeds: {measures.jaccard(*seeds):.3f}")


def _two_seeds(graph: KnowledgeGraph, start: str, asking: Asking) -> list:
    made = []
    for seed in (0, 1):
        knobs = replace(Knobs(), sampling=Sampling(seed=seed))
        crawler = Crawler(
            relations_of(graph.facts), asking, knobs, names=Names(graph.entities),
            examples=examples(graph),
        )  # fmt: skip
        made.append(list(crawler.levels([start])))
    return made


if __name__ == "__main__":
    main()
