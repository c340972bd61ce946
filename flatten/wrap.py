"""Fill paragraphs of docstrings and comments again that became longer than a line may be."""
import json, re, subprocess, sys, textwrap
from pathlib import Path
root = Path(sys.argv[1]).resolve()
out = subprocess.run([root / ".venv/bin/ruff", "check", "--select", "E501", "--output-format", "json", "--no-cache", "."], cwd=root, capture_output=True, text=True).stdout
by = {}
for e in json.loads(out): by.setdefault(e["filename"], []).append(e["location"]["row"])
for name, rows in by.items():
    p = Path(name); lines = p.read_text(encoding="utf-8").split("\n")
    for row in sorted(rows, reverse=True):
        i = row - 1; line = lines[i]
        m = re.match(r"(\s*)(# )?", line); indent, hash_ = m[1], m[2] or ""
        code = not hash_ and re.search(r'[=(){}\[\]]\s*$|^\s*(return|assert|lambda|def|class|from|import)\b|["\'],?$|^\s*[a-z_.]+\(', line) and '"""' not in line
        if code:
            for j in range(i, min(i + 6, len(lines))):
                if "# fmt: skip" in lines[j]: lines[j] = lines[j].replace("  # fmt: skip", ""); break
            else: print("LONG", p.relative_to(root), row)
            continue
        a = b = i
        def same(k): return 0 <= k < len(lines) and lines[k].startswith(indent + hash_) and lines[k][len(indent + hash_):][:1] not in (" ", "", "-", "#", "|") and not lines[k].strip().endswith(('Args:', 'Raises:', 'Attributes:', 'Returns:'))
        quoted = line.strip().startswith('"""') or line.count('"""') == 1 and not line.strip().endswith('"""')
        if '"""' in line and line.strip().startswith('"""'):
            print("LONG-SUMMARY", p.relative_to(root), row); continue
        while same(b + 1) and '"""' not in lines[b + 1]: b += 1
        while same(a - 1) and '"""' not in lines[a - 1]: a -= 1
        text = " ".join(x.strip()[len(hash_.strip()):].strip() for x in lines[a:b + 1])
        lines[a:b + 1] = textwrap.wrap(text, 100, initial_indent=indent + hash_, subsequent_indent=indent + hash_, break_long_words=False, break_on_hyphens=False)
    p.write_text("\n".join(lines), encoding="utf-8")

# Blocks of the documentation that are files of ours: sorted and formatted as the tree is.
page = root / "docs/inside/extending.md"
text = page.read_text(encoding="utf-8")
def tidy(m):
    code = m[3]
    if m[2].split("/")[0] not in ("service", "tests"): return m[0]
    for args in (["check", "--select", "I", "--fix", "-q"], ["format", "-q"]):
        done = subprocess.run([root / ".venv/bin/ruff", *args, "--stdin-filename", m[2], "-"], input=code, cwd=root, capture_output=True, text=True)
        code = done.stdout if done.returncode == 0 else code
    return m[1] + code + "```"
page.write_text(re.sub(r'(^```python title="([^"\n]*)"\n)(.*?)^```', tidy, text, flags=re.M | re.S), encoding="utf-8")
