"""Text that flatten.py cannot derive: folders of data, pyproject.toml, docs, structure test."""
import re, sys
from pathlib import Path
ROOT = Path(sys.argv[1])
def edit(path, *pairs, must=True):
    p = ROOT / path
    if not p.exists(): print("POST-GONE", path); return
    text = p.read_text(encoding="utf-8")
    for old, new in pairs:
        if old not in text:
            if must: print("POST-MISSING", path, repr(old)[:90])
            continue
        text = text.replace(old, new)
    p.write_text(text, encoding="utf-8")

edit("service/web/pages/render.py", ("FOLDER = Path(__file__).parent\n", "FOLDER = Path(__file__).parent.parent\n"))
edit("service/web/pages/experiments.py", ('Path(__file__).parent / "templates"', 'Path(__file__).parent.parent / "templates"'))
edit("service/web/catalog.py", ('PackageLoader("thinkeval.service.web", "pages")', 'PackageLoader("thinkeval.service.web", "templates")'))
edit("service/growth/prompts.py", ("files(__name__).iterdir()", '(files("thinkeval.service.growth") / "prompts").iterdir()'))

# Templates without folders: edit/_map.html is _edit_map.html.
NAME = re.compile(r"""(?<=["'`/ ])(edit|experiments|data)/(_?)([\w-]+\.html)""")
files = [*(ROOT / "service/web").rglob("*.py"), *(ROOT / "service/web/templates").rglob("*.html"), *(ROOT / "tests").rglob("*.py"), *(ROOT / "docs").rglob("*.md")]
for p in files:
    text = p.read_text(encoding="utf-8")
    got = NAME.sub(lambda m: f"{m[2]}{m[1]}_{m[3]}", text)
    if got != text: p.write_text(got, encoding="utf-8")

# pyproject.toml
p = ROOT / "pyproject.toml"; text = p.read_text(encoding="utf-8")
def swap(pattern, new, count=1):
    global text
    text, n = re.subn(pattern, lambda m: new, text, flags=re.M)
    if n != count: print("POST-PYPROJECT", pattern, n)
swap(r'thinkeval\.service\.cli:main', "thinkeval.service.cli.main:main")
swap(r'^"thinkeval\.service\.api\.pages" = .*$', '"thinkeval.service.web" = ["static/*", "templates/*"]')
swap(r'^"thinkeval\.service\.audit" = .*$', '"thinkeval.service.states" = ["templates/*"]')
swap(r'^"thinkeval\.service\.growth\.prompts" = .*$', '"thinkeval.service.growth" = ["prompts/*.md"]')
swap(r'containers = \["thinkeval\.service"\]\nlayers = \[[^\]]*\]', '''containers = ["thinkeval.service"]
layers = [
  "client",
  "cli",
  "web",
  "(worker)",
  "(kinds)",
  "states",
%(middle)s  "experiments",
  "reports",
  "scoring",
  "rules",
  "graphs",
  "models",
  "base",
]''' % {"middle": '  "depedit | growth | leakcut",\n' + ('  "edits",\n' if (ROOT / "service/edits").is_dir() else "")})
swap(r'name = "the client imports schemas and errors only"\n[\s\S]*?\nallow_indirect_imports = true', '''name = "the REST client imports schemas and errors only"
type = "forbidden"
source_modules = ["thinkeval.service.client.http", "thinkeval.service.client.rest"]
forbidden_modules = [
  "thinkeval.cypher.run", "thinkeval.editing", "thinkeval.service.base.database", "thinkeval.service.cli",
  "thinkeval.service.depedit", "thinkeval.service.experiments", "thinkeval.service.graphs",
  "thinkeval.service.leakcut", "thinkeval.service.reports.table", "thinkeval.service.rules",
  "thinkeval.service.scoring", "thinkeval.service.web",
]
allow_indirect_imports = true''')
text = text.replace("service.api", "service.web").replace("live in service.api only", "live in service.web only")
names = [q.stem for q in sorted((ROOT / "service/reports").glob("*figure*.py"))]
swap(r'name = "matplotlib lives in service\.reports\.figures only"', 'name = "matplotlib lives in the figure modules of service.reports only"')
swap(r'^  "thinkeval\.service\.reports\.figures -> matplotlib",\n  "thinkeval\.service\.reports\.figures\.\*\* -> matplotlib",$',
     "\n".join(f'  "thinkeval.service.reports.{n} -> matplotlib",' for n in names))
swap(r'name = "the OpenAI client lives in service\.llm only"', 'name = "the OpenAI client lives in service.base.llm only"')
swap(r'thinkeval\.service\.llm -> openai', "thinkeval.service.base.llm -> openai")
p.write_text(text, encoding="utf-8")
edit("service/rules/review.py", ("and their agreement (service/base/statistics.py).", "and their agreement."))

# Documentation
edit("docs/inside/extending.md",
    (" from .leakcut.coedit.kind import COEDIT\n+from .snapshots import SNAPSHOT\n", " from .experiments.kind import Kind\n+from .experiments.snapshots import SNAPSHOT\n"),
    ("| a strategy of DepEdit's protocol | one file in `service/depedit/strategies.py` |", "| a strategy of DepEdit's protocol | one class in `service/depedit/strategies.py`, listed in `STRATEGIES` |"),
)
pages = [l for l in (ROOT / "service/web/app.py").read_text(encoding="utf-8").split("\n") if l.startswith("from .pages import ") and l < "from .pages import hubs"]
p = ROOT / "docs/inside/extending.md"; text = p.read_text(encoding="utf-8")
text, n = re.subn(r"^ from \.pages import .*\n\+from \.pages import hubs as hub_pages$", lambda m: f" {max(pages)}\n+from .pages import hubs as hub_pages", text, flags=re.M)
if n != 1: print("POST-MISSING extending.md: the routers of pages")
p.write_text(text, encoding="utf-8")
p = ROOT / "docs/inside/architecture.md"; text = p.read_text(encoding="utf-8")
rooms = {
    "client/": "the client for notebooks, over REST (`rest.py`; imports shapes and errors only), and the session of `thinkeval.open()` with the same verbs",
    "cli/": "the command line; the only room with typer and rich",
    "web/": "REST and the web UI (`web/pages/`, with `templates/` and `static/`); the only room with FastAPI",
    "states/": "states of models: a model, an adapter or saved edits on it, a fine-tune, a quantised copy, an endpoint; opened, asked, restored; compared with a base; the audit of an erasure",
    "depedit/": "DepEdit's establish-and-update protocol",
    "growth/": "graphs grown from a model: validate, elicit, synthesise, crawl, review",
    "leakcut/": "what else must be edited: the cut of all chains and proofs, budgets, co-edits",
    "edits/": "edits as an experiment: submit, score, append, forget",
    "experiments/": "the declaration of a kind of experiment, and all that kinds share: stored results, queue, worker, recovery; `service/kinds.py` lists the kinds",
    "reports/": "stored scores as tables, comparisons, the leakage map and figures",
    "scoring/": "score an edit; `score.py` is the file to read first",
    "rules/": "If-Then rules, closure, proofs, Ω",
    "graphs/": "graphs in Neo4j: import, rewrites, edges, delete",
    "models/": "shapes that several rooms share: requests, scores, experiments",
    "base/": "settings, errors, database, numbers as text, leases, the client of LLM servers",
}
table = "".join(f"| `{k}` | {v} |\n" for k, v in rooms.items() if (ROOT / "service" / k).is_dir())
text, n = re.subn(r"\| room \| subject \|\n\|---\|---\|\n(\|.*\n)+", lambda m: "| room | subject |\n|---|---|\n" + table, text, count=1)
if n != 1: print("POST-MISSING architecture.md: table of rooms")
p.write_text(text, encoding="utf-8")

# Structure test
p = ROOT / "tests/unit/test_structure.py"; text = p.read_text(encoding="utf-8")
if "test_folders_of_service" not in text:
    text += '''

def test_folders_of_service_are_few_and_flat() -> None:
    """A room is one folder: a reader finds a file by room and subject."""
    service = ROOT / "service"
    folders = [
        p.relative_to(service)
        for p in service.rglob("*")
        if p.is_dir() and p.name != "__pycache__" and p != service / "public"
    ]
    assert [f.as_posix() for f in folders if len(f.parts) > 2] == []
    rooms = [f for f in folders if (service / f / "__init__.py").is_file()]
    assert len(rooms) <= ROOMS_OF_SERVICE, sorted(rooms)
'''
    count = sum(1 for f in (ROOT / "service").rglob("__init__.py") if f.parent.name not in ("service", "public"))
    text = text.replace('ROOMS = ("service", "cypher", "editing", "loaders")\n', 'ROOMS = ("service", "cypher", "editing", "loaders")\nROOMS_OF_SERVICE = %d\n' % max(16, count), 1)
    p.write_text(text, encoding="utf-8")

edit("service/web/templates/edit_appended.html", ("""{{ '' if loop.first else ' class="n"'|safe }}""", """{% if not loop.first %} class="n"{% endif %}"""), must=False)
edit("tests/unit/public_surface.json", ("thinkeval.service.cli:main", "thinkeval.service.cli.main:main"))
