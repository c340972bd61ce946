"""Changes of the old tree that make two folders of files mergeable: strategies and elicitors."""
import ast, re, sys, textwrap
from pathlib import Path
ROOT = Path(sys.argv[1])

def replace_between(text, start, end, new):
    a = text.index(start); b = text.index(end, a)
    return text[:a] + new + text[b:]

folder = ROOT / "service/depedit/strategies"
if folder.is_dir():
    found = []
    for p in sorted(folder.glob("*.py")):
        if p.name == "__init__.py": continue
        text = p.read_text(encoding="utf-8"); tree = ast.parse(text)
        cls = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Strategy")
        doc, own = ast.get_docstring(tree), ast.get_docstring(cls)
        pars = [*doc.split("\n\n"), own]
        wrapped = "\n\n".join(textwrap.fill(" ".join(x.split()), 94) for x in pars)
        new = textwrap.indent('"""' + wrapped + '\n"""', "    ")
        lines = text.split("\n")
        node = cls.body[0]
        lines[node.lineno - 1: node.end_lineno] = new.split("\n")
        d = tree.body[0]
        lines[d.lineno - 1: d.end_lineno] = ['""""""']
        p.write_text("\n".join(lines), encoding="utf-8"); found.append(p.stem)
    p = folder / "__init__.py"; text = p.read_text(encoding="utf-8")
    text = replace_between(text, "def names()", "@dataclass", '''def names() -> tuple[str, ...]:
    """All strategies, sorted."""
    from .all import STRATEGIES

    return tuple(sorted(STRATEGIES))


def get(name: str) -> type[Strategy]:
    """The strategy of that name.

    Raises:
        NotFoundError: no such strategy; suggests similar names.
    """
    from .all import STRATEGIES

    if name not in STRATEGIES:
        raise NotFoundError("strategy", name, names(), listing="thinkeval depedit run --help")
    return STRATEGIES[name]


def summary(name: str) -> str:
    """Summary of a strategy: the first paragraph of its docstring, on one line."""
    return " ".join((get(name).__doc__ or "").split("\\n\\n")[0].split())


''')
    text = text.replace("import ast\nimport importlib\n", "").replace("from pathlib import Path\n", "")
    p.write_text(text, encoding="utf-8")
    (folder / "all.py").write_text('""""""\n\nfrom . import Strategy, ' + ", ".join(found) + "\n\nSTRATEGIES: dict[str, type[Strategy]] = {\n"
        + "".join(f'    "{n}": {n}.Strategy,\n' for n in found) + '}\n"""Strategies by the name that a request gives."""\n', encoding="utf-8")

folder = ROOT / "service/growth/elicitors"
if folder.is_dir():
    found = [p.stem for p in sorted(folder.glob("*.py")) if p.name != "__init__.py" and "def elicitor(" in p.read_text()]
    p = folder / "__init__.py"; text = p.read_text(encoding="utf-8")
    text = text.replace('''    module = import_module(f"{__name__}.{context.posted.elicit}")
    return module.elicitor(context)''', '''    from .all import ELICITORS

    return ELICITORS[context.posted.elicit](context)''')
    if "import_module" in text: text = text.replace("from importlib import import_module\n", "")
    assert "all import ELICITORS" in text, "service/growth/elicitors/__init__.py changed: adapt pre.py"
    text = re.sub(r'^"""[\s\S]*?"""', '""""""', text, count=1)
    p.write_text(text, encoding="utf-8")
    (folder / "all.py").write_text('""""""\n\nfrom collections.abc import Callable\nfrom typing import Any\n\nfrom . import Elicitor, ' + ", ".join(found) + "\n\nELICITORS: dict[str, Callable[[Any], Elicitor]] = {\n"
        + "".join(f'    "{n}": {n}.elicitor,\n' for n in found) + '}\n"""Elicitors by the name that a request gives."""\n', encoding="utf-8")
