#!/bin/bash
# do.sh TREE: flatten service/ in a clean checkout. Does not commit.
set -eo pipefail
here=$(dirname "$(readlink -f "$0")"); cd "$1"
python=${FLAT_PYTHON:-python3.12}
[ -z "$(git status --porcelain service)" ] || { echo "service/ has changes"; exit 1; }
find service -name __pycache__ -prune -exec rm -rf {} +
"$python" "$here/pre.py" .
"$python" "$here/flatten.py" . | tee "$here/last.txt"
"$python" "$here/post.py" .
rm -rf build/links; mkdir -p build/links/thinkeval
for t in service cypher editing loaders service/public/*.py; do ln -sfn "$PWD/$t" "build/links/thinkeval/${t##*/}"; done
.venv/bin/ruff check -q --select I,F401,F811 --fix . || true
.venv/bin/ruff format -q .
.venv/bin/ruff check --fix -q . || true
.venv/bin/ruff format -q .
"$python" "$here/wrap.py" .
.venv/bin/ruff format -q .
.venv/bin/ruff check -q --select I --fix .
# The installed command names a module: a new file each, as the venv's files may be hard links.
[ -L .venv ] || for f in .venv/bin/thinkeval .venv/lib/python3*/site-packages/thinkeval-*.dist-info/entry_points.txt; do
  sed 's/thinkeval\.service\.cli\b\(\.main\)\?/thinkeval.service.cli.main/' "$f" > "$f.new"; chmod --reference="$f" "$f.new"; mv "$f.new" "$f"
done
