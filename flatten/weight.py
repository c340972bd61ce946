"""Heavy libraries that modules load at import, before (git HEAD or a REV) and after: only growth. weight.py ROOT [REV]"""
import ast, subprocess, sys, tempfile, tarfile, io
from pathlib import Path
root = Path(sys.argv[1]).resolve(); rev = sys.argv[2] if len(sys.argv) > 2 else "HEAD"
HEAVY = {"torch", "transformers", "numpy", "scipy", "pandas", "pyarrow", "matplotlib", "networkx", "fastapi", "uvicorn", "httpx", "requests", "neo4j", "openai", "jinja2", "prometheus_client", "rapidfuzz", "typer", "rich", "yaml", "pydantic", "krippendorff", "filelock", "cachetools", "platformdirs", "psutil"}
def load(base):
    mods = {}
    for room in ("service", "cypher", "editing", "loaders"):
        for p in (base / room).rglob("*.py"):
            if "public" in p.parts: continue
            parts = list(p.relative_to(base).with_suffix("").parts)
            if parts[-1] == "__init__": parts.pop()
            mods[".".join(parts)] = p
    top, ext, lines = {}, {}, {}
    for m, p in mods.items():
        top[m], ext[m] = set(), set()
        pkg = p.name == "__init__.py"; text = p.read_text(); lines[m] = text.count("\n")
        def visit(nodes):
            for n in nodes:
                if isinstance(n, ast.If) and "TYPE_CHECKING" in ast.dump(n.test): continue
                if isinstance(n, (ast.If, ast.Try, ast.With)): visit(n.body)
                if isinstance(n, ast.ImportFrom):
                    if n.level == 0 and not (n.module or "").startswith("thinkeval"): ext[m].add(n.module.split(".")[0]); continue
                    if n.level == 0: t = n.module.removeprefix("thinkeval").lstrip(".")
                    else:
                        b = m.split("."); b = b if pkg else b[:-1]
                        b = b[: len(b) - n.level + 1]; t = ".".join(b + ([n.module] if n.module else []))
                    for a in n.names:
                        f = f"{t}.{a.name}" if t else a.name
                        top[m].add(f if f in mods else t)
                elif isinstance(n, ast.Import): ext[m].update(a.name.split(".")[0] for a in n.names)
        visit(ast.parse(text).body)
        q = m.split(".")
        for i in range(1, len(q)): top[m].add(".".join(q[:i]))
    memo = {}
    def closure(m):
        seen, todo = set(), [m]
        while todo:
            x = todo.pop()
            if x in seen or x not in mods: continue
            seen.add(x); todo += top[x]
            q = x.split("."); todo += [".".join(q[:i]) for i in range(1, len(q))]
        return {e for s in seen for e in ext[s]} & HEAVY, sum(lines[s] for s in seen)
    return {m: closure(m) for m in mods if m.startswith("service")}
tmp = tempfile.TemporaryDirectory()
data = subprocess.run(["git", "-C", str(root), "archive", rev, "service", "cypher", "editing", "loaders"], capture_output=True, check=True).stdout
tarfile.open(fileobj=io.BytesIO(data)).extractall(tmp.name)
old, new = load(Path(tmp.name)), load(root)
sys.path.insert(0, str(Path(__file__).parent)); import mapping as mp
where = {}
for n, spec in mp.MODULES.items():
    for o in (spec[0] if isinstance(spec, tuple) else spec).split(): where["service." + o if o != "." else "service"] = "service." + n if n else "service"
for o, (h, l) in sorted(old.items()):
    n = where.get(o)
    if n in new:
        more = new[n][0] - h
        if more or new[n][1] > l + 6000: print(f"{o} -> {n}: +{' '.join(sorted(more))}  lines {l} -> {new[n][1]}")
