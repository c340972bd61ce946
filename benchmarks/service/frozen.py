"""Freeze the answers of one version of the program, and compare two versions.

    python benchmarks/service/frozen.py run FOLDER [--program THINKEVAL] [--only NAME]
    python benchmarks/service/frozen.py compare OLD NEW [--intended FILE]

`run` goes through the session below in a fresh THINKEVAL_HOME and stores the output of each step
as FOLDER/NAME.json. A step that fails is stored with its exit code and its error, and the next one
follows. `compare` prints each difference as `step: JSON path: old → new`, and exits with 1 if one
is matched by no line of the FILE of intended changes: a glob for `step:path`, # begins a comment.

Another processor computes other last digits, so both versions have to run on one machine.
"""

from __future__ import annotations

import argparse
import csv
import fnmatch
import hashlib
import io
import json
import math
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of bench.py

import bench

# One step a line: its name, and the words after `thinkeval`, or GET or POST with the path of the
# service. An indented line belongs to the one above. `<step:path>` is a value of an earlier
# output, {name} one of NAMES or a folder: {data} of the published data sets, {repo} this
# repository, {work} of the session, {out} of the step, whose files are stored with the output.
SESSION = """
methods: model methods
methods-one: model methods rome
metrics: db metrics
queries: db queries
query: db queries metrics/ifr
import-hogwarts: import hogwarts
import-again: import hogwarts
import-atlas: import atlas
import-inkwell: import inkwell
import-yaml: import {repo}/examples/studio.yaml
import-knowgic: import {data}/knowgic --name knowgic
import-peak: import {data}/peak/PEAK_counter.json --limit 20
import-lre: import {data}/lre_relations
import-missing: import nothing
rewrites-hogwarts: graph rewrites hogwarts
rewrites-knowgic: graph rewrites knowgic
leakcut-knowgic: lab leakcut <rewrites-knowgic:0.id> -g knowgic --budget 3
rules-add: graph rules add hogwarts hogwarts
rules-add-atlas: graph rules add atlas atlas
rules-mine: graph rules mine hogwarts --limit 20
rules-mine-knowgic: graph rules mine knowgic --min-support 3 --dry-run
rules-list-json: graph rules list hogwarts -f json
rules-list-csv: graph rules list hogwarts -f csv
rules-list-latex: graph rules list hogwarts -f latex
rules-show: graph rules show hogwarts <rules-list-json:0.id>
rules-relations: graph rules relations hogwarts
rules-label: graph rules label hogwarts <rules-list-json:0.id> a --annotator ann
rules-agreement: graph rules agreement hogwarts
rules-instantiate: graph rules instantiate hogwarts --show predicted
rules-closure: graph rules closure hogwarts --limit 0
rules-proof: graph rules prove hogwarts 'Harry Potter' 'studied at' {hogwarts}
organism: model organism train hogwarts
probe: probe --samples 0 --wordings
audit-knowledge: model audit-knowledge hogwarts --samples 1
covariance: model covariance hogwarts
demo: demo -m none -m memit --samples 0
score: score {demo} {methods} --samples 0 --implications
score-llama: score {demo} {methods} --model organism:llama --samples 0
score-samples: score {demo} -m rome --samples 5 --conversation
score-options: score {demo} -m memit --samples 0 --paraphrases --ask question --bare include
    --rule papers --max-steps 3 --strength 0.5
score-written: score -g hogwarts --subject 'Ginny Weasley' --relation 'studied at' --target-true
    {hogwarts} --target-new 'Beauxbatons Academy of Magic' -m rome --samples 0
score-csv: score {demo} -m rome -m memit --samples 0 --implications --csv
score-gate: score {demo} -m none --samples 0 --implications --max-ifr 0.1
score-unknown: score nothing -m rome
forget: score -g hogwarts --forget {draco} {forgetting} --samples 0
sequence: lab sequence {demo} ron -m memit
sweep: sweep {demo} ron -m memit -m rome --matched --workers 1
show: show {edit}
chains: results chains {edit} --limit 0
chains-implied: results implications {edit} --surviving
leakcut: lab leakcut {edit} --budget 3 --rules
query-of-edit: db queries metrics/ifr --edit {edit}
closure-of-edit: graph rules closure {edit} --new --limit 0
groundings-of-edit: graph rules instantiate {edit}
report-one: report {edit} -f json
maps: report {edit} -f json --figures {out} --figure-format svg
edit-verify: results deltas verify {edit}
edit-export: results deltas export {edit} -o {work}/model --as model
hparams: model hparams suggest {work}/model -m memit
report-json: report -g hogwarts -f json
report-csv: report -g hogwarts -f csv
report-latex: report -g hogwarts -f latex
report-markdown: report -g hogwarts -f markdown
report-forget: report --kind forget -g hogwarts -f json
report-each: report -g hogwarts --each -f json
coedit: lab coedit {demo} -m memit --rounds 2 --objective ifr<=.5
coedit-frontier-csv: results coedits <coedit:id> -f csv
coedit-frontier-latex: results coedits <coedit:id> -f latex
coedits: results coedits
compare: compare organism organism+edit:{edit} -r {demo} --forget {draco} --samples 0
    --implications
comparison-csv: results comparisons <compare:id> -f csv
comparison-requests: results comparisons <compare:id> --table replace-requests -f csv
comparison-latex: results comparisons <compare:id> -f latex
comparisons: results comparisons
comparison-one: results comparisons <compare:id>
audit: results audit <compare:id> -o {out}/audit
compare-several: compare organism +edit:{edit} +finetune:graph:steps=20
    +edit:<score-written:0.edit> -r {demo} --samples 0
several-csv: results comparisons <compare-several:id> -f csv
several-latex: results comparisons <compare-several:id> -f latex
several-drift: results comparisons <compare-several:id> --table drift -f csv
several-figure: results comparisons <compare-several:id> --figure {out}/retention.svg
    --draw retention
peak-inkwell: graph rewrites inkwell --build append --without-model
peak-build: graph rewrites hogwarts --build append
peak-rewrites: graph rewrites hogwarts
append: score <peak-build:built.0.id> -g hogwarts -m rome -m memit --append-loss app --samples 0
peak-sweep: sweep <peak-build:built.0.id> -g hogwarts -m rome --workers 1
    --axis append_loss=none,all-answers,app
peak-report-json: report --kind append -g hogwarts -f json
peak-report-csv: report --kind append -g hogwarts -f csv
peak-report-latex: report --kind append -g hogwarts -f latex
peak-paired: report --kind append -g hogwarts --paired -f json
depedit-build: lab depedit build atlas --facts 6 --implications 3 --updates 4 --init shuffled
    --setting CQ_DT
depedit-list: lab depedit list
depedit-set: lab depedit show <depedit-list:0.id>
depedit-run: lab depedit run <depedit-list:0.id> -s base -s random -s memit -s memit+forwchain -s
    memit+backchain -s finetune --model {small}
depedit-runs: lab depedit list --runs
depedit-answers: lab depedit show <depedit-runs:0.id>
depedit-similarity: lab depedit similarity <depedit-list:0.id> --model {small}
depedit-report-json: lab depedit report -f json
depedit-report-csv: lab depedit report -f csv
depedit-report-latex: lab depedit report -f latex
depedit-export: lab depedit export
crawl: graph crawl hogwarts --start 'Harry Potter' --samples 2 --wordings 2 --gate stored --depth 1
crawl-report: graph crawl report <crawl:run>
grow-plan: graph grow start --seed {draco} --base hogwarts --model organism --elicit crawl --dry-run
grow-cot: graph grow start --seed {draco} --base hogwarts --model organism --greedy --iterations 2
    --max-calls 60
grow-crawl: graph grow start --seed {draco} --base hogwarts --model organism --elicit crawl --judge
    human --set depth=2 --set samples=1 --set wordings=1 --set max_questions=20
grow-list: results growth
grow-status: results growth <grow-crawl:id>
grow-candidates: graph grow candidates <grow-crawl:id> --state all
grow-candidate: graph grow show <grow-crawl:id> <grow-candidates:items.0.id>
grow-decide: graph grow decide <grow-crawl:id> {work}/added.csv --as ann
grow-decisions: graph grow decisions <grow-crawl:id>
grow-judge: results growth <grow-crawl:id> --table judge -f json
export-knowgic: graph grow export hogwarts --format knowgic -o {out}/files
export-tables: graph grow export hogwarts --format csv -o {out}/files
graphs: results graphs
edits: results edits
rest-graphs-list: GET /v1/graphs
rest-graphs-one: GET /v1/graphs/hogwarts
rest-graphs-rewrites: GET /v1/rewrites?graph=hogwarts
rest-graphs-rules: GET /v1/graphs/hogwarts/rules
rest-graphs-agreement: GET /v1/graphs/hogwarts/rules/agreement
rest-graphs-closure: GET /v1/graphs/hogwarts/closure
rest-graphs-all-rewrites: GET /v1/rewrites?limit=5
rest-score: POST /v1/edits '{"rewrite": "{demo}", "method": "rome", "samples": 0,
    "implications": true}'
rest-score-wrong: POST /v1/edits '{"rewrite": "{demo}", "method": "nothing"}'
rest-edit-list: GET /v1/edits?limit=5
rest-edit-one: GET /v1/edits/{edit}
rest-edit-chains: GET /v1/edits/{edit}/chains?limit=5
rest-edit-leaks: GET /v1/edits/{edit}/tables/leaks?format=json
rest-edit-graph: GET /v1/edits/{edit}/graph
rest-edit-leakcut: GET /v1/edits/{edit}/leakcut
rest-edit-query: GET /v1/edits/{edit}/queries/metrics/ifr
rest-edit-implications: GET /v1/edits/{edit}/implications?limit=5
rest-edit-missing: GET /v1/edits/nothing
rest-append-answers: GET /v1/edits/<append:0.edit>/answers
rest-append-additivity: GET /v1/edits/<append:0.edit>/additivity
rest-jobs-sweeps: GET /v1/sweeps
rest-jobs-coedit: GET /v1/coedits/<coedit:id>
rest-jobs-coedits: GET /v1/coedits
rest-jobs-coedit-table: GET /v1/coedits/<coedit:id>/tables/frontier?format=json
rest-jobs-comparison: GET /v1/comparisons/<compare:id>
rest-jobs-comparison-table: GET /v1/comparisons/<compare:id>/tables/drift?format=json
rest-jobs-several: GET /v1/comparisons/<compare-several:id>
rest-jobs-several-table: GET /v1/comparisons/<compare-several:id>/tables/states?format=json
rest-jobs-protocols: GET /v1/protocols
rest-jobs-sets: GET /v1/depedit/sets
rest-jobs-runs: GET /v1/depedit/runs
rest-jobs-tables: GET /v1/depedit/report
rest-jobs-growth: GET /v1/growth
rest-jobs-run: GET /v1/growth/<grow-crawl:id>
rest-jobs-iterations: GET /v1/growth/<grow-crawl:id>/tables/iterations?format=json
rest-jobs-decisions: GET /v1/growth/<grow-crawl:id>/decisions
rest-catalogue-methods: GET /v1/methods
rest-catalogue-models: GET /v1/models
rest-catalogue-metrics: GET /v1/queries?folder=metrics/
rest-catalogue-queries: GET /v1/queries
rest-catalogue-leaderboard: GET /v1/leaderboard?graph=hogwarts
rest-catalogue-openapi: GET /openapi.json
rest-catalogue-unknown: GET /v1/nothing
delete-edit: results edits --delete <score-written:0.edit>
delete-coedit: results coedits <coedit:id> --delete
delete-comparison: results comparisons <compare:id> --delete
delete-several: results comparisons <compare-several:id> --delete
delete-rule: graph rules delete hogwarts <rules-list-json:0.id>
delete-run: results growth <grow-crawl:id> --delete
delete-set: lab depedit delete <depedit-list:0.id>
delete-graph: results graphs inkwell --delete --with-dependents
graphs-left: results graphs
edits-left: results edits
rest-score-new: POST /v1/edits
    '{"rewrite": "hermione-granger--studied-at", "method": "rect", "samples": 0}'
rest-edit-new-score: GET /v1/edits/<rest-score-new:id>
"""
HOGWARTS = "Hogwarts School of Witchcraft and Wizardry"
METHODS = "alphaedit fine_tuning ike kn memit mend none prune random_delta rect rome"
FORGETTING = "gradient_ascent npo rmu rome memit"
NAMES = {
    "demo": "harry-potter--studied-at",
    "hogwarts": f"'{HOGWARTS}'",
    "draco": f"'Draco Malfoy|studied at|{HOGWARTS}'",
    "methods": " ".join(f"-m {name}" for name in METHODS.split()),
    "forgetting": " ".join(f"-m {name}" for name in FORGETTING.split()),
    "small": "organism:steps=300",  # trained in seconds, where the full one takes a minute
    "edit": "<score:10.edit>",
    "other": "<score:4.edit>",
}
FILES = {
    "added.csv": "verb,subject,relation,object,reason\n"
    "add,Draco Malfoy,was sorted into,Slytherin,The graph lacks it.\n",
}
"""Files of the session by name."""

MARK = "‹volatile›"
VOLATILE_KEYS = re.compile(
    r"(.+_)?(seconds|at|elapsed|duration|versions?|thinkeval|host|hostname|port|pid)|.+_m?s"
    r"|stages|from_cache"
)
"""Numbers and words of digits below these keys are times, versions and machines; `stages` are the
seconds of a demo's, and `from_cache` is true from the second run on."""
VOLATILE_TEXT = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?"), MARK),
    (re.compile(r"((https?|bolt|neo4j)://)?(127\.0\.0\.1|localhost)(:|%3A)\d+"), MARK),
    (re.compile(r"\b\d+(\.\d+)? (s|ms|min|seconds)\b"), f"{MARK} s"),
    # An absolute path keeps its last part; paths of REST do not begin with these folders.
    (
        re.compile(r"/(home|root|tmp|usr|opt|var|work|mnt|srv|Users)/([^\s\"'`]*/)?"),
        "‹path›/",
    ),
)
OF_TIMES = re.compile(r"audit|export-audit|grow-(decide|decisions)|rest-jobs-(run|decisions)")
"""Steps whose digests are those of records with the time, so that they differ from run to run."""
ENDED = ("succeeded", "failed", "cancelled")


def steps() -> list[tuple[str, list[str]]]:
    """Name and words of each step; --json is added where no other format is named."""
    text = SESSION.strip().replace("\n    ", " ")
    for name, words in NAMES.items():
        text = text.replace(f"{{{name}}}", words)
    found = []
    for line in text.splitlines():
        name, _, words = line.partition(": ")
        argv = shlex.split(words)
        is_plain = argv[0] not in ("GET", "POST") and "-f" not in argv and argv[-1] != "--csv"
        found.append((name, argv + ["--json"] * is_plain))
    return found


def main() -> int:
    """Run or compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    run = verbs.add_parser("run", help="go through the session and store its outputs")
    run.add_argument("folder", type=Path)
    beside = Path(sys.executable).with_name("thinkeval")
    run.add_argument("--program", type=Path, default=beside, help="default: beside this Python")
    run.add_argument(
        "--only",
        action="append",
        metavar="NAME",
        help="these steps and those that they name; a glob",
    )
    two = verbs.add_parser("compare", help="print the differences of two runs")
    two.add_argument("old", type=Path)
    two.add_argument("new", type=Path)
    two.add_argument("--intended", type=Path, help="globs for step:path that may differ")
    options = parser.parse_args()
    if options.verb == "run":
        return freeze(options.folder, options.program, options.only)
    return compare(options.old, options.new, options.intended)


def freeze(folder: Path, program: Path, only: Sequence[str] | None) -> int:
    """Run the steps with a fresh home and store what each answers."""
    if folder.exists() and any(folder.iterdir()):
        raise SystemExit(f"{folder} is not empty. Name a new folder.")
    if not program.exists():
        raise SystemExit(f"There is no program {program}. Name it by --program.")
    bench.data_dir()  # fails at once where the data sets are missing
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="thinkeval-frozen-") as work:
        session = Session(program.absolute(), folder.resolve(), Path(work))
        try:
            for name, argv in chosen(only):
                began = time.perf_counter()
                done = session.step(name, argv)
                told = f"{time.perf_counter() - began:5.1f} s  {name}  {done['error'] or ''}"
                bench.say(told.splitlines()[0])
        finally:
            session.close()
    return 0


def chosen(only: Sequence[str] | None) -> list[tuple[str, list[str]]]:
    """The steps whose names match, and those that they name; all without `only`."""
    if not only:
        return steps()
    every = dict(steps())
    wanted = [name for name in every if any(fnmatch.fnmatch(name, glob) for glob in only)]
    if not wanted:
        raise SystemExit(f"No step is named {', '.join(only)}.")
    for name in wanted:
        named = re.findall(r"<([\w-]+):", " ".join(every[name]))
        wanted += [each for each in named if each not in wanted]
    return [(name, argv) for name, argv in every.items() if name in wanted]


class Session:
    """A program with a home of its own, and where the outputs go."""

    def __init__(self, program: Path, folder: Path, work: Path) -> None:
        self.program, self.folder, self.work = program, folder, work
        # Settings of this machine would change what is answered; its cache holds what is the same
        # wherever it was made.
        keep = {k: v for k, v in os.environ.items() if k[:10] != "THINKEVAL_" or k[10:] == "CACHE"}
        # One thread, as sums of several add up in another order on another number of cores.
        threads = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "THINKEVAL_DEVICE": "cpu"}
        self.env = keep | threads | {"THINKEVAL_HOME": str(work / "home"), "COLUMNS": "120"}
        self.service: subprocess.Popen[str] | None = None
        self.url = ""
        for name, text in FILES.items():
            (work / name).write_text(text, encoding="utf-8")

    def step(self, name: str, argv: Sequence[str]) -> dict[str, Any]:
        """Run one step and store it."""
        out = self.work / "out" / name
        out.mkdir(parents=True)
        done: dict[str, Any] = {"argv": argv, "exit": None, "error": None, "output": None}
        try:
            words = [self.filled(word, out) for word in argv]
        except (OSError, LookupError, TypeError, ValueError) as missing:
            done["error"] = f"an earlier step has no value for it: {missing!r}"
        else:
            call = self.request if words[0] in ("GET", "POST") else self.command
            done |= call(words)
        done["files"] = {
            path.relative_to(out).as_posix(): content(path)
            for path in sorted(out.rglob("*")) if path.is_file()
        }  # fmt: skip
        done = marked(done)
        text = json.dumps(done, indent=1, ensure_ascii=False)
        if OF_TIMES.fullmatch(name):
            text = re.sub(r"\b[0-9a-f]{64}\b", MARK, text)
        (self.folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")
        return done

    def filled(self, word: str, out: Path) -> str:
        """Put paths and values of earlier steps into a word."""

        def value(found: re.Match[str]) -> str:
            stored = json.loads((self.folder / f"{found[1]}.json").read_text(encoding="utf-8"))
            inner = stored["output"]
            for part in found[2].split("."):
                inner = inner[int(part)] if isinstance(inner, list) else inner[part]
            return str(inner)

        word = re.sub(r"<([\w-]+):([\w.-]+)>", value, word)
        places = {"out": out, "work": self.work, "repo": bench.REPOSITORY}
        for name, path in places.items():
            word = word.replace(f"{{{name}}}", str(path))
        return word.replace("{data}", str(bench.data_dir())) if "{data}" in word else word

    def command(self, words: Sequence[str]) -> dict[str, Any]:
        """Exit code, error and output of a command."""
        done = subprocess.run(
            [self.program, *words], env=self.env, cwd=self.work, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, encoding="utf-8",
        )  # fmt: skip
        lines = done.stderr.strip().splitlines()
        first = next((i for i, line in enumerate(lines) if line.startswith("error:")), -1)
        if done.returncode < 0:  # by another process, so that the step says nothing
            raise SystemExit(f"{shlex.join(words)} was ended by signal {-done.returncode}.")
        error = "\n".join(lines[first:]) if done.returncode else None
        kind = "csv" if "csv" in words or words[-1] == "--csv" else "json"
        return {"exit": done.returncode, "error": error, "output": parsed(done.stdout, kind)}

    def request(self, words: Sequence[str]) -> dict[str, Any]:
        """Status and body of a call of the service; wait for the job if it starts one."""
        if self.service is None:
            self.start()
        method, path, *body = words
        status, text = self.call(method, path, *body)
        output = parsed(text, "json")
        if status == 202:
            until = time.monotonic() + 300
            while output["status"] not in ENDED and time.monotonic() < until:
                time.sleep(0.5)
                output = json.loads(self.call("GET", f"{path}/{output['id']}")[1])
        return {"exit": status, "output": output}

    def call(self, method: str, path: str, body: str | None = None) -> tuple[int, str]:
        """Status and text of one call."""
        head = {"content-type": "application/json"}
        data = body.encode() if body else None
        asked = urllib.request.Request(self.url + path, data, head, method=method)
        try:
            with urllib.request.urlopen(asked, timeout=300) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read().decode()

    def start(self) -> None:
        """Start the service and wait until it is ready."""
        log = self.work / "service.log"
        with log.open("w") as told:
            self.service = subprocess.Popen(
                [self.program, "serve", "--port", "0"], env=self.env, stdout=told, stderr=told
            )
        until = time.monotonic() + 180
        while time.monotonic() < until:
            found = re.search(r"(http://[\w.]+:\d+)", log.read_text())
            if found:
                self.url = found[1]
                if self.call("GET", "/ready")[0] == 200:
                    return
            time.sleep(0.5)
        raise SystemExit(f"The service did not start:\n{log.read_text()}")

    def close(self) -> None:
        """Stop the service and the database."""
        if self.service:
            self.service.terminate()
            self.service.wait(60)
        subprocess.run([self.program, "db", "stop"], env=self.env, capture_output=True)


def parsed(text: str, kind: str) -> Any:
    """JSON, JSON lines or CSV as values, else the lines of the text."""
    if kind == "csv":
        rows = [[number(cell) for cell in row] for row in csv.reader(io.StringIO(text)) if row]
        head = [str(cell) for cell in rows[0]] if rows else []
        is_table = len(set(head)) == len(head) and all(len(row) == len(head) for row in rows)
        return [dict(zip(head, row, strict=True)) for row in rows[1:]] if is_table else rows
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        return [json.loads(line) for line in text.splitlines()]
    except ValueError:
        return text.splitlines()


def number(cell: str) -> Any:
    """The number that a cell has, else its text."""
    try:
        return float(cell)
    except ValueError:
        return cell


def content(path: Path) -> Any:
    """Values of a data file, the digest of another one, with marks for what is volatile."""
    if path.suffix in (".json", ".jsonl", ".csv", ".yaml", ".md", ".txt"):
        return parsed(path.read_text(encoding="utf-8"), path.suffix[1:])
    text = marked(path.read_bytes().decode("utf-8", "replace"))
    return f"sha256 {hashlib.sha256(text.encode()).hexdigest()}"


def marked(value: Any, key: str = "", *, within: bool = False) -> Any:
    """The value with marks in place of all that differs from run to run."""
    within = within or bool(VOLATILE_KEYS.fullmatch(key))
    if isinstance(value, dict):
        return {name: marked(inner, str(name), within=within) for name, inner in value.items()}
    if isinstance(value, list):
        return [marked(inner, within=within) for inner in value]
    if isinstance(value, str):
        if value[:1] in ("{", "["):
            with suppress(ValueError):  # JSON in a property of a node
                return marked(json.loads(value), within=within)
        for pattern, mark in VOLATILE_TEXT:
            value = pattern.sub(mark, value)
        # A description has spaces.
        is_word = re.fullmatch(r"\S*\d\S*", value) or key in ("host", "hostname")
        return MARK if within and is_word else value
    return MARK if within and value is not None else value


def compare(old: Path, new: Path, intended: Path | None) -> int:
    """Print the differences; 1 if one of them is not intended."""
    globs = []
    if intended:
        lines = intended.read_text(encoding="utf-8").splitlines()
        globs = [glob for line in lines if (glob := line.partition("#")[0].strip())]
    names = [sorted(path.stem for path in folder.glob("*.json")) for folder in (old, new)]
    for folder, found in zip((old, new), names, strict=True):
        if not found:
            raise SystemExit(f"{folder} has no step. Write it by `frozen.py run {folder}`.")
    unintended = total = 0
    for name in sorted({*names[0], *names[1]}):
        for path, before, after in differences(stored(old, name), stored(new, name)):
            total += 1
            is_intended = any(fnmatch.fnmatchcase(f"{name}:{path}", glob) for glob in globs)
            unintended += not is_intended
            print(f"{'intended ' if is_intended else ''}{name}: {path}: {before} → {after}")
    bench.say(f"{total} differences, {unintended} of them not intended.")
    return int(unintended > 0)


def stored(folder: Path, name: str) -> Any:
    """Return the stored outputs of a step, without its words, which may be spelled anew."""
    path = folder / f"{name}.json"
    if not path.exists():
        return ABSENT
    return {k: v for k, v in json.loads(path.read_text(encoding="utf-8")).items() if k != "argv"}


ABSENT = object()
"""Marks a value that only the other side has."""


def differences(old: Any, new: Any, path: str = "") -> Iterator[tuple[str, str, str]]:
    """Path, old and new value of each difference."""
    if isinstance(old, list) and isinstance(new, list):
        by_id = identified(old), identified(new)
        if by_id[0] is not None and by_id[1] is not None:
            both = [key for key in by_id[0] if key in by_id[1]]
            if both != [key for key in by_id[1] if key in by_id[0]]:
                yield f"{path}.order", shown(list(by_id[0])), shown(list(by_id[1]))
            old, new = by_id
        else:
            old, new = (dict(enumerate(each)) for each in (old, new))
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            inner = f"{path}.{key}" if path else str(key)
            yield from differences(old.get(key, ABSENT), new.get(key, ABSENT), inner)
    elif not same(old, new):
        yield path, shown(old), shown(new)


def identified(items: Sequence[Any]) -> dict[str, Any] | None:
    """The items by id, None where they have none: one more item then is one difference."""
    for key in ("id", "edit", "name"):
        ids = [item.get(key) if isinstance(item, dict) else None for item in items]
        if all(isinstance(each, str) for each in ids) and len(set(ids)) == len(ids):
            return dict(zip(map(str, ids), items, strict=True))
    return None


def same(old: Any, new: Any) -> bool:
    """Return True if two values are equal, numbers within 1e-9 relative."""
    numbers = (int, float)
    if isinstance(old, numbers) and isinstance(new, numbers):
        if isinstance(old, bool) or isinstance(new, bool):
            return old is new
        return math.isclose(old, new, rel_tol=1e-9) or (math.isnan(old) and math.isnan(new))
    return type(old) is type(new) and old == new


def shown(value: Any) -> str:
    """A value as JSON, cut to a line."""
    text = "(absent)" if value is ABSENT else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:197]}..."


if __name__ == "__main__":
    sys.exit(main())
