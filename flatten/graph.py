"""Import graph of service/: top-level, lazy and TYPE_CHECKING imports."""
import ast, sys
from pathlib import Path
def modules(root):
    out={}
    for p in sorted((root/"service").rglob("*.py")):
        rel=p.relative_to(root).with_suffix("")
        parts=list(rel.parts)
        if parts[:2]==["service","public"]: continue
        if parts[-1]=="__init__": parts.pop()
        out[".".join(parts)]=p
    return out
def resolve(mod,is_pkg,node):
    """Absolute module of an ImportFrom as `service.x`, None if external."""
    if node.level==0:
        m=node.module or ""
        return m.removeprefix("thinkeval.") if m.startswith("thinkeval.") else ("" if m=="thinkeval" else None)
    base=mod.split(".")
    if not is_pkg: base=base[:-1]
    up=node.level-1
    base=base[:len(base)-up] if up else base
    return ".".join(base+([node.module] if node.module else []))
def edges(root):
    mods=modules(root); res={}
    for m,p in mods.items():
        tree=ast.parse(p.read_text()); is_pkg=p.name=="__init__.py"
        top=set();lazy=set();typ=set();ext=set()
        def visit(node,kind):
            for ch in ast.iter_child_nodes(node):
                k=kind
                if isinstance(ch,(ast.FunctionDef,ast.AsyncFunctionDef,ast.Lambda)): k="lazy" if kind!="typ" else kind
                if isinstance(ch,ast.If) and "TYPE_CHECKING" in ast.dump(ch.test): 
                    k="typ"
                dest={"top":top,"lazy":lazy,"typ":typ}[k]
                if isinstance(ch,ast.ImportFrom):
                    t=resolve(m,is_pkg,ch)
                    if t is None:
                        if k=="top": ext.add(ch.module.split(".")[0])
                    else:
                        for a in ch.names:
                            f=f"{t}.{a.name}" if t else a.name
                            dest.add(f if f in mods else t)
                elif isinstance(ch,ast.Import):
                    for a in ch.names:
                        if a.name.startswith("thinkeval."): dest.add(a.name.removeprefix("thinkeval."))
                        elif k=="top": ext.add(a.name.split(".")[0])
                visit(ch,k)
        visit(tree,"top")
        res[m]=dict(top=top,lazy=lazy-top,typ=typ-top-lazy,ext=ext,lines=len(p.read_text().splitlines()),doc=(ast.get_docstring(tree) or "").split("\n")[0],path=p,body=len(tree.body))
    return mods,res
if __name__=="__main__":
    root=Path(sys.argv[1]); mods,res=edges(root)
    std=sys.stdlib_module_names
    imp={}
    for m,r in res.items():
        for k in("top","lazy","typ"):
            for t in r[k]:
                if t in mods: imp.setdefault(t,set()).add(m)
    for m,r in res.items():
        s=lambda x:" ".join(sorted(t.removeprefix("service.") for t in x if t in mods))
        print(f"{m[8:]} ({r['lines']}) {r['doc']}\n   T: {s(r['top'])} | L: {s(r['lazy'])} | Y: {s(r['typ'])} | X: {' '.join(sorted(e for e in r['ext'] if e not in std))} {' '.join(sorted(t for t in r['top'] if not t.startswith('service')))}\n   <- {' '.join(sorted(i[8:] for i in imp.get(m,())))[:160]}")
