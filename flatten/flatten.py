"""Move, merge and rename the modules of service/ by mapping.py. Run with Python >= 3.12.

    python3.13 flatten.py ROOT [--dry]
"""
from __future__ import annotations
import ast, bisect, builtins, io, os, re, shutil, sys, textwrap, tokenize
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import mapping as mp

assert sys.version_info >= (3, 12)
ROOT = Path(sys.argv[1]).resolve()
DRY = "--dry" in sys.argv
notes: list[str] = []
def note(kind, *a): notes.append(f"{kind}: " + " ".join(map(str, a)))

# ---------------------------------------------------------------- modules and mapping
def dotted(path):  # of a file below ROOT
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    if parts[-1] == "__init__": parts.pop()
    return ".".join(parts)

old_paths = {dotted(p): p for p in sorted((ROOT / "service").rglob("*.py")) if "public" not in p.parts and "__pycache__" not in p.parts}
is_pkg = {m: p.name == "__init__.py" for m, p in old_paths.items()}
texts = {m: p.read_text(encoding="utf-8") for m, p in old_paths.items()}
trees = {m: ast.parse(t) for m, t in texts.items()}

def only_doc(m): return is_pkg[m] and len(trees[m].body) <= 1

groups: dict[str, list[str]] = {}   # new -> olds
new_doc: dict[str, str] = {}
new_of: dict[str, str] = {}         # old module -> new module
for new, spec in mp.MODULES.items():
    olds, doc = spec if isinstance(spec, tuple) else (spec, None)
    full = "service" if new == "" else f"service.{new}"
    here = []
    for o in olds.split():
        o = "service" if o == "." else f"service.{o}"
        if o not in old_paths:
            if not (o.startswith("service.") and f"service.{new}" in old_paths): note("GONE", o, "named by the mapping, is not in the tree")
            continue
        if o in new_of: raise SystemExit(f"{o} is mapped twice")
        new_of[o] = full; here.append(o)
    if here: groups[full] = here
    if doc: new_doc[full] = doc
package_docs = {}
def room_of(o):
    """Room of a module that the mapping does not name: the longest prefix in ROOMS."""
    parts = o.split(".")[1:]
    if is_pkg[o]: pass
    else: parts = parts[:-1]
    for end in range(len(parts), -1, -1):
        key = ".".join(parts[:end])
        if key in mp.ROOMS: return mp.ROOMS[key], parts[end:]
    return "base", parts
rooms_new = {n for n in mp.ROOM_DOCS}
for o in old_paths:
    if o in new_of or o == "service": 
        if o == "service" and o not in new_of: new_of[o] = "service"; groups["service"] = [o]
        continue
    if only_doc(o):
        room, rest = room_of(o)
        new_of[o] = f"service.{room}" if room else "service"   # a dropped package: its address is its room
        continue
    room, rest = room_of(o)
    leaf = o.rsplit(".", 1)[1]
    names = [leaf] if not is_pkg[o] else [leaf]
    pre = f"service.{room}." if room else "service."
    # already at home (the mapping names the room and the file need not move)
    for name in (leaf, "_".join([*rest[-1:], leaf]), "_".join([*rest, leaf]) + "_"):
        if pre + name not in groups: break
    new_of[o] = pre + name; groups[pre + name] = [o]
    note("DEFAULT", o, "->", pre + name, f"({len(texts[o].splitlines())} lines)")

def new_path(new):
    return ROOT / (new.replace(".", "/") + ".py") if new not in ("service",) else ROOT / "service/__init__.py"

# ---------------------------------------------------------------- scopes
class Scope:
    def __init__(self, node, parent, kind):
        self.node, self.parent, self.kind = node, parent, kind
        self.bound, self.globals, self.params = set(), set(), set()
        self.subst = {}       # name -> new name, or ("mod", old module, new expression or None for bare)
        self.uses = []        # (Name node, scope) resolved to this scope
    def find(self, name):
        s, first = self, True
        while s is not None:
            if name in s.globals:
                while s.parent: s = s.parent
                return s
            if (first or s.kind != "class") and name in s.bound: return s
            if s.kind == "module": return s
            s, first = s.parent, False

class Builder(ast.NodeVisitor):
    """Scopes of a file, and every Name with the scope in which it is."""
    def __init__(self, tree):
        self.module = self.scope = Scope(tree, None, "module")
        self.names, self.attrs, self.imports, self.scopes = [], {}, [], [self.module]
        self.parent = {}
        self.cond = []          # stack of TYPE_CHECKING
        for n in ast.walk(tree):
            for c in ast.iter_child_nodes(n): self.parent[c] = n
        for s in tree.body: self.visit(s)
    def sub(self, node, kind):
        s = Scope(node, self.scope, kind); self.scopes.append(s); return s
    def visit_fn(self, node):
        self.scope.bound.add(node.name)
        for d in node.decorator_list: self.visit(d)
        a = node.args
        for d in [*a.defaults, *[k for k in a.kw_defaults if k]]: self.visit(d)
        args = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, [a.vararg, a.kwarg])]
        for x in args:
            if x.annotation: self.visit(x.annotation)
        if node.returns: self.visit(node.returns)
        old, self.scope = self.scope, self.sub(node, "function")
        for tp in getattr(node, "type_params", []): self.scope.bound.add(tp.name); self.generic_visit(tp)
        for x in args: self.scope.bound.add(x.arg); self.scope.params.add(x.arg)
        for s in node.body: self.visit(s)
        self.scope = old
    visit_FunctionDef = visit_AsyncFunctionDef = visit_fn
    def visit_Lambda(self, node):
        a = node.args
        for d in [*a.defaults, *[k for k in a.kw_defaults if k]]: self.visit(d)
        old, self.scope = self.scope, self.sub(node, "function")
        for x in [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, [a.vararg, a.kwarg])]: self.scope.bound.add(x.arg); self.scope.params.add(x.arg)
        self.visit(node.body); self.scope = old
    def visit_ClassDef(self, node):
        self.scope.bound.add(node.name)
        for x in [*node.decorator_list, *node.bases, *[k.value for k in node.keywords]]: self.visit(x)
        old, self.scope = self.scope, self.sub(node, "class")
        for tp in getattr(node, "type_params", []): self.scope.bound.add(tp.name); self.generic_visit(tp)
        for s in node.body: self.visit(s)
        self.scope = old
    def comp(self, node):
        self.visit(node.generators[0].iter)
        old, self.scope = self.scope, self.sub(node, "function")
        for i, g in enumerate(node.generators):
            if i: self.visit(g.iter)
            self.visit(g.target)
            for c in g.ifs: self.visit(c)
        if isinstance(node, ast.DictComp): self.visit(node.key); self.visit(node.value)
        else: self.visit(node.elt)
        self.scope = old
    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = comp
    def visit_NamedExpr(self, node):
        s = self.scope
        while isinstance(s.node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)): s = s.parent
        s.bound.add(node.target.id); self.names.append((node.target, s)); self.visit(node.value)
    def visit_Name(self, node):
        if not isinstance(node.ctx, ast.Load): self.scope.bound.add(node.id)
        self.names.append((node, self.scope))
    def visit_Attribute(self, node): self.visit(node.value)
    def visit_ExceptHandler(self, node):
        if node.type: self.visit(node.type)
        if node.name: self.scope.bound.add(node.name)
        for s in node.body: self.visit(s)
    def visit_MatchAs(self, node):
        if node.name: self.scope.bound.add(node.name)
        self.generic_visit(node)
    def visit_MatchStar(self, node):
        if node.name: self.scope.bound.add(node.name)
    def visit_MatchMapping(self, node):
        if node.rest: self.scope.bound.add(node.rest)
        self.generic_visit(node)
    def visit_TypeAlias(self, node):
        self.scope.bound.add(node.name.id); self.visit(node.value)
    def visit_Global(self, node): self.scope.globals.update(node.names)
    def visit_Nonlocal(self, node): pass
    def visit_If(self, node):
        tc = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        self.cond.append(tc); self.generic_visit(node); self.cond.pop()
    def visit_Import(self, node):
        self.imports.append((node, self.scope, any(self.cond)))
        for a in node.names: self.scope.bound.add((a.asname or a.name).split(".")[0])
    def visit_ImportFrom(self, node):
        self.imports.append((node, self.scope, any(self.cond)))
        for a in node.names: self.scope.bound.add(a.asname or a.name)

def resolved(mod, pkg, node):
    """Absolute module (without `thinkeval.`) that an ImportFrom names; None if it is not ours."""
    if node.level == 0:
        m = node.module or ""
        if m == "thinkeval": return ""
        return m.removeprefix("thinkeval.") if m.startswith("thinkeval.") else None
    base = mod.split(".")
    if not pkg: base = base[:-1]
    if node.level > 1: base = base[: len(base) - (node.level - 1)]
    return ".".join([*base, *([node.module] if node.module else [])])

# ---------------------------------------------------------------- definitions of modules
def bound_by(stmt):
    if isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)): return [stmt.name]
    if isinstance(stmt, ast.Assign): return [n.id for t in stmt.targets for n in ast.walk(t) if isinstance(n, ast.Name)]
    if isinstance(stmt, ast.AnnAssign) and isinstance(stmt.target, ast.Name): return [stmt.target.id]
    if isinstance(stmt, ast.TypeAlias): return [stmt.name.id]
    if isinstance(stmt, (ast.For, ast.With, ast.Try, ast.If)):
        return [n for s in ast.walk(stmt) if isinstance(s, ast.stmt) and s is not stmt for n in bound_by(s)]
    return []
defs = {m: {n for s in t.body if not (isinstance(s, ast.If)) for n in bound_by(s)} for m, t in trees.items()}
top_imports = {}   # module -> name -> (target module, attr or None)
for m, t in trees.items():
    d = top_imports[m] = {}
    for node in t.body:
        nodes = node.body if isinstance(node, ast.If) else [node]
        for n in nodes:
            if isinstance(n, ast.ImportFrom):
                tgt = resolved(m, is_pkg[m], n)
                if tgt is None: continue
                for a in n.names:
                    f = f"{tgt}.{a.name}"
                    d[a.asname or a.name] = (f, None) if f in old_paths else (tgt, a.name)
def origin(mod, attr, depth=0):
    """Follow a name that a module only passes on."""
    if attr not in defs.get(mod, ()) and depth < 9:
        got = top_imports.get(mod, {}).get(attr)
        if got:
            return origin(*got, depth + 1) if got[1] is not None else got
    return mod, attr

# ---------------------------------------------------------------- order and names of groups
def group_order(new):
    olds = groups[new]
    want = {o: set() for o in olds}
    for o in olds:
        for tgt, attr in top_imports[o].values():
            if tgt in want and tgt != o: want[o].add(tgt)
            full = f"{tgt}.{attr}"
            if full in want: want[o].add(full)
    done, out = set(), []
    def put(o, path=()):
        if o in done: return
        if o in path: note("ORDER-CIRCLE", new, o); return
        for w in [x for x in olds if x in want[o]]: put(w, (*path, o))
        done.add(o); out.append(o)
    for o in olds: put(o)
    return out
order = {n: group_order(n) for n in groups}
GENERIC = {"routes", "schemas", "run", "kind", "report", "store", "request"}
def stem(o):
    """Short unique word for a part in renamed names."""
    parts = o.split(".")[1:]
    return mp.STEMS.get(".".join(parts)) or ("_".join(parts[-2:]) if parts[-1] in GENERIC and len(parts) > 1 else parts[-1])
rename: dict[tuple[str, str], str] = {}
drop_stmt: dict[str, set] = defaultdict(set)   # old module -> ids of statements that an earlier part has already
def meaning_of_import(owner, alias_mod, alias_attr):
    return ("mod", alias_mod) if alias_attr is None else ("attr", alias_mod, alias_attr)
for new, parts in order.items():
    if len(parts) == 1:
        o = parts[0]
        for (a, b), c in mp.RENAMES.items():
            if f"service.{a}" == o: rename[o, b] = c
        continue
    taken, private = {}, []
    alldefs = [(o, s) for o in parts for s in trees[o].body]
    # one after the other, the public names first
    for public in (True, False):
        for o, s in alldefs:
            for n in bound_by(s):
                if n.startswith("_") is public or n == "__all__": continue
                manual = mp.RENAMES.get((o.removeprefix("service."), n))
                src = ast.unparse(s) if isinstance(s, (ast.Assign, ast.AnnAssign)) and n not in ("router", "app") else None
                if isinstance(s, (ast.FunctionDef, ast.ClassDef)) and n.startswith("_"): src = ast.dump(s)
                if (o, n) in rename: continue
                key = manual or n
                if key in taken and taken[key][0] != o:
                    if src and taken[key][1] == src: drop_stmt[o].add(id(s)); continue
                    if n.startswith("_"): key = f"_{stem(o)}_{n.lstrip('_')}".replace("__", "_")
                    else:
                        key = f"{stem(o)}_{n}" if not n[0].isupper() else (f"{stem(o).upper()}_{n}" if n.isupper() else "".join(w.title() for w in stem(o).split("_")) + n)
                        note("PUBLIC-CLASH", f"{o}.{n} -> {key}  (also in {taken[key_of][0]})" if (key_of := n) else "")
                    if key in taken and taken[key][0] != o: raise SystemExit(f"no name for {o}.{n}: {key}")
                    rename[o, n] = key
                elif manual: rename[o, n] = manual
                taken.setdefault(key, (o, src))
    top_imports.setdefault(new, {})
group_defs = {n: {rename.get((o, d), d) for o in ps for d in defs[o]} for n, ps in order.items()}

own_names = {m: Builder(trees[m]).module.bound for m in trees}
group_imports = {n: (set().union(*[{a.asname or a.name for s in trees[o].body for x in ([s] if isinstance(s, (ast.Import, ast.ImportFrom)) else s.body if isinstance(s, ast.If) else []) if isinstance(x, (ast.Import, ast.ImportFrom)) for a in x.names} for o in ps]) if len(ps) > 1 else set()) for n, ps in order.items()}

# ---------------------------------------------------------------- text helpers
class Text:
    def __init__(self, text):
        self.text, self.edits = text, []
        self.lines = text.splitlines(keepends=True)
        self.start = [0]
        for l in self.lines: self.start.append(self.start[-1] + len(l))
        self.ascii = [l.isascii() for l in self.lines]
    def pos(self, line, col):
        if not self.ascii[line - 1]:
            col = len(self.lines[line - 1].encode()[:col].decode())
        return self.start[line - 1] + col
    def span(self, node): return self.pos(node.lineno, node.col_offset), self.pos(node.end_lineno, node.end_col_offset)
    def edit(self, a, b, new): self.edits.append((a, b, new))
    def done(self):
        out, last = [], 0
        for a, b, new in sorted(set(self.edits), key=lambda e: (e[0], e[1])):
            if a < last: note("OVERLAP", repr(self.text[a:b]), "->", repr(new)); continue
            out += [self.text[last:a], new]; last = b
        return "".join(out) + self.text[last:]

def map_dotted(name, tail_ok=True):
    """`service.a.b.c` as it is called now."""
    parts = name.split(".")
    for old, new in mp.NEW_FILES.items():
        if name == old.removesuffix(".py").replace("/", "."): return new.removesuffix(".py").replace("/", ".")
    for end in range(len(parts), 0, -1):
        m = ".".join(parts[:end])
        if m in new_of:
            rest = parts[end:]
            if m == "service" and rest: return None
            if rest: 
                mm, first = origin(m, rest[0]) if rest[0] not in defs.get(m, ()) else (m, rest[0])
                if first is not None and mm in new_of: m = mm; rest = [rename.get((m, first), first), *rest[1:]]
            return ".".join([new_of[m], *rest])
    return None
DOTTED = re.compile(r"(?<![\w./\0])(thinkeval\.)?(service(?:\.[A-Za-z_]\w*)+)")
def path_new(path):
    """A path below service/ as it is now; None if it is unknown."""
    path0 = path; slash = path.endswith("/"); path = path.rstrip("/")
    for old, new in mp.PATHS:
        if path == old or path.startswith(old + "/"):
            got = new + path[len(old):]
            for a, b in mp.FLAT_TEMPLATES:
                got = re.sub(a, b, got)
            return got + ("/" if slash else "")
    if path in mp.NEW_FILES: return mp.NEW_FILES[path]
    m = path.removesuffix(".py").replace("/", ".")
    if is_pkg.get(m) and m != "service" and not path.endswith(".py"):
        inside = {new_of[o] for o in old_paths if o.startswith(m + ".") or (o == m and not only_doc(o))}
        if len(inside) == 1: return inside.pop().replace(".", "/") + ".py"
    if path.endswith("/__init__.py"): m = m.removesuffix(".__init__")
    if m in new_of:
        n = new_of[m].replace(".", "/")
        if path.endswith(".py"): return n + ".py"
        if only_doc(m) if m in is_pkg and is_pkg[m] else False: return n + ("/" if slash else "")
        if is_pkg.get(m): 
            if slash: return n.rsplit("/", 1)[0] + "/"
            return n + ".py"
        return n
    if path.endswith(".py") and m.startswith("service.") and "public" not in m and not (ROOT / path).exists():
        above = m.split(".")[1:-1]      # a file that only a page of the documentation has
        if ".".join(above) in mp.ROOMS and above: return f"service/{mp.ROOMS['.'.join(above)].replace('.', '/')}/{m.rsplit('.', 1)[1]}.py"
    return None
PATH = re.compile(r"(?<![\w./-])((?:\.\./)*(?:thinkeval/)?)(service/[\w./-]*\w/?)")
CODE = re.compile(r"from thinkeval\.(service[\w.]*) import (\w+)(?=\s*(?:;|\\\\n|[\"']|$))")
def fix_strings(text):
    def code(m):
        full = f"{m[1]}.{m[2]}"
        if full in old_paths and new_of.get(full) != full:
            pkg, leaf = new_of[full].rsplit(".", 1)
            return f"from thinkeval.\0{pkg} import {leaf}" + ("" if leaf == m[2] else f" as {m[2]}")
        if m[1] in new_of and m[2] in defs[m[1]]:
            at = rename.get((m[1], m[2]), m[2])
            return f"from thinkeval.\0{new_of[m[1]]} import {at}" + ("" if at == m[2] else f" as {m[2]}")
        return m[0]
    text = CODE.sub(code, text)
    return _fix_strings(text).replace("\0", "")
def _fix_strings(text):
    def dot(m):
        got = map_dotted(m[2])
        return (m[1] or "") + got if got else m[0]
    text = DOTTED.sub(dot, text)
    def pth(m):
        got = path_new(m[2])
        return m[1] + (got or m[2])
    return PATH.sub(pth, text)

def token_edits(t):
    try: toks = list(tokenize.generate_tokens(io.StringIO(t.text).readline))
    except tokenize.TokenError: return
    fstr = getattr(tokenize, "FSTRING_MIDDLE", -1)
    for k in toks:
        if k.type in (tokenize.STRING, tokenize.COMMENT, fstr):
            a = t.start[k.start[0] - 1] + k.start[1]; b = t.start[k.end[0] - 1] + k.end[1]
            if k.type == fstr: 
                src = t.text[a:b]
            else: src = k.string
            got = fix_strings(src)
            if got != src: t.edit(a, b, got)

# ---------------------------------------------------------------- one file
def import_line(owner_new, owner_pkg_depth, target, name, local, relative):
    """The statement that imports `name` (None: the module) of the new module `target` as `local`."""
    if name is None: pkg, leaf = target.rsplit(".", 1)
    else: pkg, leaf = target, name
    asn = "" if local == leaf else f" as {local}"
    if not relative:
        return f"from thinkeval.{pkg} import {leaf}{asn}"
    base = owner_new.split(".")
    if owner_new != "service": base = base[:-1]
    want = pkg.split(".") if pkg else []
    common = 0
    while common < len(base) and common < len(want) and base[common] == want[common]: common += 1
    return f"from {'.' * (len(base) - common + 1)}{'.'.join(want[common:])} import {leaf}{asn}"

class Part:
    """A rewritten file: its body, and for modules of service its top-level imports."""
    def __init__(self): self.top, self.typ, self.body, self.doc = [], [], "", ""

class GroupNames:
    """Names of a new module while its parts are put together."""
    def __init__(self, new):
        self.meaning = {}
        for o in order[new]:
            for d in defs[o]: self.meaning.setdefault(rename.get((o, d), d), ("def",))

def rewrite(text, tree, mod=None, names=None, where="", virtual=None):
    """mod: old module of service; None for files elsewhere. names: GroupNames for modules."""
    b, t, part = Builder(tree), Text(text), Part()
    new = new_of[mod] if mod else None
    pkg = is_pkg[mod] if mod else False
    relative = mod is not None
    if virtual: new, relative = virtual[1], True
    # names that resolve to each scope
    uses = defaultdict(list)
    for n, s in b.names:
        r = s.find(n.id)
        uses[id(r), n.id].append((n, s))
    def shadowed(scope, name, want):
        """Scopes between the uses of a name and its own in which `want` is bound."""
        bad = []
        for n, s in uses[id(scope), name]:
            x = s
            while x is not None and x is not scope:
                if want in x.bound and (x.kind != "class" or x is s): bad.append(x)
                x = x.parent
        return bad
    def free(scope, want, used_as):
        """True if `want` can be a new name in the scope."""
        if want in scope.bound: return False
        if scope.kind != "module" and any(id(scope) and True for _ in ()) : return False
        if (id(b.module), want) in uses and want not in b.module.bound and hasattr(builtins, want): return False
        if scope is not b.module:
            # a use of the outer name inside this scope would change
            if any(s is scope or _inside(s, scope) for _, s in uses.get((id(b.module), want), ())): return False
        return not shadowed(scope, used_as, want)
    def _inside(s, scope):
        while s is not None:
            if s is scope: return True
            s = s.parent
        return False
    def name_edits(scope, name, repl):
        for n, s in uses[id(scope), name]:
            a, e = t.span(n); t.edit(a, e, repl)
        for node in ast.walk(tree):
            if isinstance(node, ast.Global) and name in node.names and scope is b.module and repl != name:
                a, e = t.span(node); t.edit(a, e, re.sub(rf"\b{name}\b", repl, t.text[a:e]))
    def rename_local(scope, name):
        if name in scope.params: 
            note("SHADOW-PARAM", where or mod, name, "line", getattr(scope.node, "lineno", 0)); return False
        fresh = name + "_"
        while fresh in scope.bound: fresh += "_"
        for n, s in uses[id(scope), name]:
            a, e = t.span(n); t.edit(a, e, fresh)
        # bindings that are no Name nodes
        for node in ast.walk(scope.node):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ExceptHandler)) and node.name == name and node is not scope.node:
                note("SHADOW-OTHER", where or mod, name, node.lineno)
        note("LOCAL", where or mod, name, "->", fresh)
        return True
    def make_bare(scope, name, want):
        """Make way for the global name `want` where the name is used."""
        for x in {id(s): s for s in shadowed(scope, name, want)}.values():
            if not rename_local(x, want): return False
        return True
    def attr_edits(scope, name, target_old, expr):
        """Uses of a module `name`: `name.attr` becomes `expr.attr'`, or `attr'` where expr is None."""
        for n, s in uses[id(scope), name]:
            p = b.parent.get(n)
            if isinstance(p, ast.Attribute) and p.value is n:
                mm, at = origin(target_old, p.attr)
                if at is None: mm, at = target_old, p.attr
                is_sub = f"{target_old}.{p.attr}" in old_paths
                if is_sub: note("SUBMODULE-ATTRIBUTE", where or mod, f"{name}.{p.attr}")
                at2 = rename.get((target_old, p.attr), p.attr)
                if expr is None:
                    x, bad = s, False
                    while x is not None and x is not b.module:
                        if at2 in x.bound and (x.kind != "class" or x is s):
                            if not rename_local(x, at2): bad = True
                        x = x.parent
                    a, e = t.span(p); t.edit(a, e, at2)
                else:
                    if expr != name: a, e = t.span(n); t.edit(a, e, expr)
                    if at2 != p.attr:
                        a, e = t.span(p); t.edit(e - len(p.attr), e, at2)
            else:
                if expr is None: note("MODULE-AS-VALUE", where or mod, name, "line", n.lineno)
                elif expr != name: a, e = t.span(n); t.edit(a, e, expr)
                # setattr(module, "name", ...)
                if isinstance(p, ast.Call) and len(p.args) > 1 and p.args[0] is n and isinstance(p.args[1], ast.Constant):
                    at2 = rename.get((target_old, p.args[1].value))
                    if at2: a, e = t.span(p.args[1]); t.edit(a, e, f'"{at2}"')
    hidden = set()
    # definitions renamed in this module
    if mod:
        for d in defs[mod]:
            if (mod, d) in rename:
                r = rename[mod, d]
                for s in trees[mod].body:
                    if isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and s.name == d:
                        line = t.pos(s.lineno, s.col_offset)
                        k = re.compile(rf"(?:async )?(?:def|class) +({d})\b").search(t.text, line)
                        t.edit(k.start(1), k.end(1), r)
                make_bare(b.module, d, r)
                name_edits(b.module, d, r)
        # a loop's variable that would hide an import of another part (F402)
        theirs = group_imports[new] - own_names[mod]
        for node in ast.walk(tree):
            if isinstance(node, (ast.For, ast.AsyncFor)):
                for n in ast.walk(node.target):
                    if isinstance(n, ast.Name) and n.id in theirs:
                        sc = next(x for y, x in b.names if y is n)
                        if sc.kind == "function" and not any(u[0] is n and ("done", id(sc), n.id) in hidden for u in [(n,)]):
                            hidden.add(("done", id(sc), n.id)); rename_local(sc, n.id)
    seen = {id(sc): {} for sc in b.scopes}     # scope -> local name -> meaning already imported
    removed_lines = []
    for node, scope, typ in b.imports:
        at_top = scope is b.module
        lines = []
        def emit(meaning, line, local):
            # dedupe inside the scope
            if seen[id(scope)].get(local) == meaning and not (at_top and mod): return
            seen[id(scope)][local] = meaning
            lines.append((meaning, line, local))
        def local_name(want, old, asname, meaning):
            """Local name for an import whose natural name is `want`."""
            if at_top and names is not None:
                pick = asname or want
                got = names.meaning.get(pick)
                if got is None or got == meaning:
                    if pick == old or pick not in b.module.bound or seen[id(scope)].get(pick) == meaning:
                        if not shadowed(scope, old, pick) or make_bare(scope, old, pick):
                            names.meaning[pick] = meaning; return pick
                # a name that the file already gives to the same thing, or a new one
                for k, v in names.meaning.items():
                    if v == meaning and not shadowed(scope, old, k) and k not in b.module.bound: return k
                base_ = meaning[1].split(".")
                cand = [old] if asname or True else []
                cand += ["_".join(base_[-2:]) if meaning[0] == "mod" else f"{base_[-1]}_{meaning[2].lstrip('_')}", f"{base_[-1]}_{want}", f"{want}_", f"{want}__"]
                for c in cand:
                    if names.meaning.get(c) in (None, meaning) and (c == old or c not in b.module.bound) and not shadowed(scope, old, c):
                        names.meaning[c] = meaning
                        if c != want: note("ALIAS", where or mod, f"{want} as {c}")
                        return c
                note("NO-NAME", mod, want); return old
            if asname: return asname
            if want == old: return old
            if seen[id(scope)].get(want) == meaning and not shadowed(scope, old, want): return want
            if free(scope, want, old): return want
            return old
        changed = False
        if isinstance(node, ast.Import):
            for a in node.names:
                if a.name.startswith("thinkeval.service."):
                    got = map_dotted(a.name.removeprefix("thinkeval."))
                    if a.asname and got:
                        m0 = a.name.removeprefix("thinkeval.")
                        lines.append((("x",), f"import thinkeval.{got} as {a.asname}", a.asname)); changed = True
                        attr_edits(scope, a.asname, m0, a.asname)
                        continue
                    if got and got != a.name.removeprefix("thinkeval."):
                        changed = True
                        for n in ast.walk(tree):
                            if isinstance(n, ast.Attribute) and ast.unparse(n) == a.name:
                                x, e = t.span(n); t.edit(x, e, f"thinkeval.{got}")
                        lines.append((("x",), f"import thinkeval.{got}", a.name)); continue
                local = (a.asname or a.name).split(".")[0]
                meaning = ("ext", a.name, a.asname)
                line = f"import {a.name}" + (f" as {a.asname}" if a.asname else "")
                if at_top and names is not None:
                    got = names.meaning.get(local)
                    if got not in (None, meaning) and not (got[0] == "ext" and got[1].split(".")[0] == a.name.split(".")[0] and got[2] is None and a.asname is None):
                        alias = f"{local}_"
                        for c in (f"{local}_module", f"{local}_module_"):
                            if c not in names.meaning and c not in b.module.bound: alias = c; break
                        note("ALIAS-EXT", mod, local, alias); name_edits(scope, local, alias); names.meaning[alias] = meaning
                        line = f"import {a.name} as {alias}"; local = alias
                    else: names.meaning.setdefault(local, meaning)
                lines.append((meaning, line, local))
        else:
            inner = mod or (virtual and virtual[0])
            tgt = resolved(inner or "tests", pkg, node) if (inner or node.level == 0) else None
            if tgt is None or not (tgt == "service" or tgt.startswith("service.") or (inner and tgt != None)):
                if tgt is not None and not mod and tgt == "" and any(a.name == "service" for a in node.names): pass
                for a in node.names:   # external
                    local = a.asname or a.name
                    meaning = ("attr", node.module or "", a.name)
                    line = f"from {'.' * node.level}{node.module or ''} import {a.name}" + (f" as {a.asname}" if a.asname else "")
                    if at_top and names is not None and node.module != "__future__":
                        l2 = local_name(local, local, a.asname, meaning)
                        if l2 != local: name_edits(scope, local, l2)
                        line = f"from {node.module} import {a.name}" + ("" if l2 == a.name else f" as {l2}"); local = l2
                    lines.append((meaning, line, local))
            else:
                for a in node.names:
                    local = a.asname or a.name
                    full = f"{tgt}.{a.name}" if tgt else a.name
                    if full in old_paths and not (only_doc(full)): m0, at = full, None
                    elif full in old_paths: m0, at = full, None
                    else: m0, at = tgt, a.name
                    if at is not None and m0 in new_of:
                        m1, at1 = origin(m0, at)
                        if m1 in new_of: m0, at = m1, at1
                    changed = True
                    if m0 not in new_of and m0.startswith("service."):   # a file that only the documentation has
                        got = path_new(m0.replace(".", "/") + ".py")
                        m0 = got.removesuffix(".py").replace("/", ".") if got else m0
                        lines.append((("x",), import_line(new, 0, m0, at, local, relative), local)); continue
                    if m0 not in new_of:       # cypher, editing, loaders
                        meaning = ("attr", m0, at)
                        l2 = local_name(local, local, a.asname, meaning) if names is not None and at_top else local
                        if virtual and len(virtual[0].split(".")) == len(virtual[1].split(".")): pass
                        if l2 != local: name_edits(scope, local, l2)
                        emit(meaning, import_line(new, 0, m0, at, l2, True), l2); continue
                    r = new_of[m0]
                    if at is None:
                        if mod and r == new:            # a module of the same group
                            attr_edits(scope, local, m0, None); continue
                        if only_doc(m0) if is_pkg[m0] else False:
                            note("PACKAGE-IMPORT", where or mod, ast.unparse(node))
                        meaning = ("mod", r)
                        want = r.rsplit(".", 1)[1]
                        l2 = local_name(want, local, a.asname, meaning)
                        attr_edits(scope, local, m0, l2)
                        emit(meaning, import_line(new, 0, r, None, l2, relative), l2)
                    else:
                        at2 = rename.get((m0, at), at)
                        if mod and r == new:
                            if local != at2:
                                make_bare(scope, local, at2); name_edits(scope, local, at2)
                            elif not at_top: pass
                            continue
                        meaning = ("attr", r, at2)
                        want = at2
                        l2 = local_name(want, local, a.asname, meaning)
                        if l2 != local: name_edits(scope, local, l2)
                        emit(meaning, import_line(new, 0, r, at2, l2, relative), l2)
        if mod and at_top:
            (part.typ if typ else part.top).extend(lines)
            removed_lines.append(node)
        elif changed:
            if mod and not at_top:
                lines = [(m_, l_, n_) for m_, l_, n_ in lines if not (names and names.meaning.get(n_) == m_ and m_ in names.runtime)]
            a, e = t.span(node)
            indent = " " * node.col_offset
            if lines: t.edit(a, e, ("\n" + indent).join(l for _, l, _ in lines))
            else:
                # the statement goes, with its line
                ls, le = t.start[node.lineno - 1], t.start[node.end_lineno]
                p = b.parent[node]
                alone = any(getattr(p, f, None) and len(getattr(p, f)) == 1 and getattr(p, f)[0] is node for f in ("body", "orelse", "finalbody"))
                if alone: t.edit(a, e, "pass")
                else: t.edit(ls, le, "")
    token_edits(t)
    if not mod:
        part.body = t.done(); return part
    # modules: imports and the docstring leave the body
    first = tree.body[0] if tree.body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        a, e = t.span(first)
        t.edits = [x for x in t.edits if not (a <= x[0] and x[1] <= e)]
        part.doc = fix_strings(t.text[a:e]); t.edit(a, e, "")
    gone = set(map(id, removed_lines))
    for node in removed_lines:
        ls, le = t.start[node.lineno - 1], t.start[node.end_lineno]
        tail = t.text[t.pos(node.end_lineno, node.end_col_offset):le].strip()
        if tail: note("IMPORT-COMMENT", mod, tail)
        t.edits = [x for x in t.edits if not (ls <= x[0] and x[1] <= le)]
        t.edit(ls, le, "")
    for s in tree.body:
        if isinstance(s, ast.If) and all(id(x) in gone for x in s.body) and not s.orelse:
            ls, le = t.start[s.lineno - 1], t.start[s.end_lineno]
            t.edits = [x for x in t.edits if not (ls <= x[0] and x[1] <= le)]
            t.edit(ls, le, "")
        drop = id(s) in drop_stmt[mod]
        if isinstance(s, ast.Assign) and any(isinstance(x, ast.Name) and x.id == "__all__" for x in s.targets) and sum("__all__" in defs[o] for o in order[new]) > 1: drop = True
        if drop:
            k = tree.body.index(s)
            end = s.end_lineno
            if k + 1 < len(tree.body) and isinstance(tree.body[k + 1], ast.Expr) and isinstance(tree.body[k + 1].value, ast.Constant): end = tree.body[k + 1].end_lineno
            ls, le = t.start[s.lineno - 1], t.start[end]
            t.edits = [x for x in t.edits if not (ls <= x[0] and x[1] <= le)]
            t.edit(ls, le, "")
    part.body = t.done()
    part.builtin_uses = {n for (sid, n) in uses if sid == id(b.module) and n not in b.module.bound and hasattr(builtins, n)}
    return part

# ---------------------------------------------------------------- new modules
def docstring(new, parts):
    if new in new_doc:
        return '"""' + fix_strings(new_doc[new].strip()) + ('\n"""' if "\n" in new_doc[new].strip() else '"""')
    return None
def heading(doc):
    """A part's docstring as a comment before it."""
    raw = ast.literal_eval(doc) if doc else ""
    out = []
    for par in textwrap.dedent(" " * 0 + raw).strip().split("\n\n"):
        if out: out.append("#")
        rows = par.split("\n")
        if any(r.startswith((" ", "-", "|")) for r in rows): out += [("# " + r).rstrip() for r in rows]
        else: out += ["# " + r for r in textwrap.wrap(" ".join(rows), 96, break_long_words=False, break_on_hyphens=False)]
    return "\n".join(out)
written = {}
for new, parts in order.items():
    g = GroupNames(new)
    # imports at run time of every part, so that a lazy import of the same name goes
    g.runtime = set()
    done_parts = []
    if len(parts) > 1:
        top = set()
        for o in parts:
            for node in trees[o].body:
                if isinstance(node, ast.ImportFrom):
                    tgt = resolved(o, is_pkg[o], node)
                    for a in node.names:
                        if tgt is None: continue
                        full = f"{tgt}.{a.name}"
                        if full in old_paths: top.add(("mod", new_of[full]))
                        elif tgt in new_of:
                            m1, at1 = origin(tgt, a.name)
                            if m1 in new_of and at1: top.add(("attr", new_of[m1], rename.get((m1, at1), at1)))
        g.runtime = top
    for o in parts: done_parts.append((o, rewrite(texts[o], trees[o], o, g)))
    if len(parts) > 1:
        for o, p in done_parts:
            hit = p.builtin_uses & group_defs[new] - {rename.get((o, d), d) for d in defs[o]}
            if hit: note("BUILTIN", new, o, hit)
    tops, typs, seen = [], [], set()
    for o, p in done_parts:
        for m, line, local in p.top:
            if (m, local) not in seen: seen.add((m, local)); tops.append(line)
    for o, p in done_parts:
        for m, line, local in p.typ:
            if (m, local) not in seen: seen.add((m, local)); typs.append(line)
    future = [l for l in tops if "__future__" in l]
    tops = [l for l in tops if "__future__" not in l]
    if typs and not any("TYPE_CHECKING" in l for l in tops): tops.append("from typing import TYPE_CHECKING")
    doc = docstring(new, parts) or done_parts[0][1].doc
    chunks = [doc or '"""TODO."""', *dict.fromkeys(future), "\n".join(tops)]
    if typs: chunks.append("if TYPE_CHECKING:\n" + "\n".join("    " + l for l in typs))
    for i, (o, p) in enumerate(done_parts):
        body = p.body.strip("\n")
        body = re.sub(r"\n{4,}", "\n\n\n", body)
        if not body.strip(): continue
        if len(parts) > 1 and p.doc:
            one = (i == 0 and new not in new_doc)
            lead = o == groups[new][0] and new in new_doc and "\n" not in p.doc
            if not one and not lead and mp.HEADINGS: body = heading(p.doc) + "\n\n" + body
        chunks.append(body)
    written[new] = "\n\n\n".join(chunks) + "\n"

# ---------------------------------------------------------------- everything else
def other_files():
    import subprocess
    out = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, check=True).stdout.split("\n")
    for f in out:
        p = ROOT / f
        if not f or not p.is_file() or p.is_symlink(): continue
        if f.startswith("service/") and not f.startswith("service/public") : 
            if f.endswith(".py"): continue
        if f.startswith("shared/"): continue
        yield p
BLOCK = re.compile(r'^```python( title="([^"\n]*)")?\n(.*?)^```$', re.M | re.S)
def fix_page(text, rel):
    """A page of the documentation: its Python blocks as code, all else as text."""
    out, last = [], 0
    for m in BLOCK.finditer(text):
        title, code = m[2] or "", m[3]
        try: tree = ast.parse(code)
        except SyntaxError: continue
        virtual = None
        if title.startswith("service/"):
            v = title.removesuffix(".py").replace("/", ".")
            virtual = (v, (path_new(title) or title).removesuffix(".py").replace("/", "."))
        got = rewrite(code, tree, None, None, f"{rel}:{title}", virtual).body
        out += [fix_strings(text[last:m.start(3)]), got]; last = m.end(3)
    return "".join(out) + fix_strings(text[last:])
others = {}
for p in other_files():
    rel = p.relative_to(ROOT).as_posix()
    if p.suffix == ".py":
        text = p.read_text(encoding="utf-8")
        if "service" not in text: continue
        others[p] = rewrite(text, ast.parse(text), None, None, rel).body
    elif p.suffix in {".md", ".toml", ".yml", ".yaml", ".html", ".ipynb", ".cypher", ".json", ".js", ".css", ".txt", ".cfg"} or p.name in {"Dockerfile", "run", ".dockerignore", ".gitignore"}:
        if rel in mp.LEAVE or any(rel.startswith(x) for x in mp.LEAVE_UNDER): continue
        text = p.read_text(encoding="utf-8")
        if "service" not in text: continue
        got = fix_page(text, rel) if p.suffix == ".md" else fix_strings(text)
        if got != text: others[p] = got

# ---------------------------------------------------------------- write
for n in sorted(notes): print(n)
print(len(old_paths), "modules ->", len(written), "and", len({n.rsplit('.', 1)[0] for n in written}), "packages with modules")
if DRY: raise SystemExit
for p, text in others.items(): p.write_text(text, encoding="utf-8")
kept_init = {}
for m, p in old_paths.items(): p.unlink()
for old, new in mp.PATHS:      # data files
    src = ROOT / old
    if not src.exists() or old == new: continue
    files = [src] if src.is_file() else [f for f in src.rglob("*") if f.is_file() and "__pycache__" not in f.parts]
    for f in files:
        rel = path_new(f.relative_to(ROOT).as_posix())
        dest = ROOT / rel
        dest.parent.mkdir(parents=True, exist_ok=True)
        if dest.exists() and dest != f: raise SystemExit(f"{f} -> {dest}: exists")
        f.rename(dest)
for new, text in written.items():
    p = new_path(new); p.parent.mkdir(parents=True, exist_ok=True); p.write_text(text, encoding="utf-8")
for room, doc in mp.ROOM_DOCS.items():
    folder = ROOT / "service" / room.replace(".", "/")
    if folder.is_dir() and not (folder / "__init__.py").exists(): (folder / "__init__.py").write_text(f'"""{doc}"""\n', encoding="utf-8")
for folder in sorted((ROOT / "service").rglob("*"), reverse=True):
    if folder.name == "__pycache__": shutil.rmtree(folder)
for folder in sorted((ROOT / "service").rglob("*"), reverse=True):
    if folder.is_dir() and not any(folder.iterdir()): folder.rmdir()
for folder in (ROOT / "service").rglob("*"):
    if folder.is_dir() and any(f.suffix == ".py" for f in folder.iterdir()) and not (folder / "__init__.py").exists(): print("NO-INIT", folder)
