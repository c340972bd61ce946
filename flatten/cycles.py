"""Import every module of service/ alone, each in a process forked from a bare one; print failures.

    .venv/bin/python cycles.py ROOT        with --heavy: also the heavy libraries that each loads
"""
import os, sys, traceback
from pathlib import Path
root = Path(sys.argv[1]).resolve()
mods = []
for p in sorted((root / "service").rglob("*.py")):
    parts = list(p.relative_to(root).with_suffix("").parts)
    if "public" in parts or parts[-1] == "__main__": continue
    if parts[-1] == "__init__": parts.pop()
    mods.append("thinkeval." + ".".join(parts))
HEAVY = ("torch", "transformers", "numpy", "scipy", "pandas", "pyarrow", "matplotlib", "networkx", "fastapi", "uvicorn", "httpx", "requests", "neo4j", "openai", "jinja2", "prometheus_client", "rapidfuzz", "typer", "rich", "yaml", "pydantic")
if "--warm" in sys.argv:   # third-party libraries first: faster, and circles are the same
    for m in ("torch", "pydantic", "fastapi", "typer", "numpy", "httpx", "jinja2", "rich"):
        try: __import__(m)
        except Exception: pass
bad = 0
for m in mods:
    r, w = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            __import__(m); out = "ok " + " ".join(h for h in HEAVY if h in sys.modules)
        except BaseException:
            out = "FAIL " + "".join(traceback.format_exc().splitlines(True)[-4:])
        os.write(w, out.encode()[:4000]); os._exit(0)
    os.close(w); got = b""
    while chunk := os.read(r, 4096): got += chunk
    os.close(r); os.waitpid(pid, 0)
    text = got.decode()
    if not text.startswith("ok"): bad += 1; print(m, text)
    elif "--heavy" in sys.argv: print(m, "|", text[3:])
print(len(mods), "modules,", bad, "fail")
sys.exit(bool(bad))
