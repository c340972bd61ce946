"""The import of published data sets at the size that THINKEVAL_DATA has: counts and seconds.

Of each set: what its file has and what the graph keeps of it, the notes and the findings of the
label audit, the processor time of reading it, and the time until it is stored in Neo4j. The counts
of records are those that the sets' publishers state, and another count fails the benchmark.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of bench.py

import bench

from thinkeval.cypher.run import Database
from thinkeval.loaders import formats
from thinkeval.loaders.records import LoadedGraph
from thinkeval.service.graphs import datasets

SETS = {
    "KnowGIC": ("knowgic", "chains", 1406),
    "LRE relations": ("lre_relations", "samples", 9696),
    "MQuAKE-hard": ("mquake/MQuAKE-hard.json", "records", 429),
    "PEAK-CF": ("peak/PEAK_counter.json", "records", 1962),
    "PEAK-T": ("peak/PEAK_time.json", "records", 993),
    "HalluEditBench, a topic": ("others/halluedit_business_brand.csv", "rows", 100),
    "EasyEdit's results, a sample": (
        "others/easyedit_result_ROME_counterfact_first12.json",
        "records",
        12,
    ),
}
"""Path, and the kind and number of records that the file must have."""


def main() -> int:
    """Measure, print; 0 if every count is the publisher's."""
    options = bench.parser(__doc__).parse_args()
    columns: dict[str, dict[str, float]] = {}
    with bench.server() as server:
        for name, (path, kind, wanted) in SETS.items():
            bench.say(name)
            for column, value in measured(server.db, bench.data_dir() / path, kind, wanted).items():
                columns.setdefault(column, {})[name] = value
    notes = [
        "records: as the file has them; KnowGIC's are chains, LRE's samples.",
        "read: processor time, the label audit included; the second reading, as the first one"
        " imports modules. store: until the graph is complete in Neo4j.",
    ]
    bench.show_columns("imports", "set", columns, notes, as_json=options.json)
    return 0


def measured(db: Database, path: Path, kind: str, wanted: int) -> dict[str, float]:
    """Counts and seconds of one set."""
    formats.load(path)
    began = time.process_time()
    loaded = formats.load(path)
    read = time.process_time() - began
    report = loaded.report
    bench.agree(report.read[kind] == wanted, f"{path}: {report.read[kind]} {kind}, not {wanted}")
    with bench.scratch_graph(db, "import") as name:
        store = bench.seconds(lambda: datasets.store(db, renamed(loaded, name)))
    return {
        "records": wanted,
        "facts": report.kept["facts"],
        "requests": report.kept["rewrites"],
        "questions": sum(len(each.checks) for each in loaded.graph.rewrites),
        "notes": len(report.notes) - len(report.findings),
        "findings": len(report.findings),
        "read (s)": read,
        "store (s)": store,
    }


def renamed(loaded: LoadedGraph, name: str) -> LoadedGraph:
    """The same graph under another name, as an import with --name has it."""
    rewrites = tuple(replace(each, dataset=name) for each in loaded.graph.rewrites)
    return replace(loaded, graph=replace(loaded.graph, name=name, rewrites=rewrites))


if __name__ == "__main__":
    sys.exit(main())
