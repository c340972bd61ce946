#!/bin/bash
# wt.sh NAME [START]: worktree $HOUSE/wt/NAME on branch NAME with its own venv (hard-linked)
set -e
n=$1; start=${2:-main}
cd $HOUSE/main
git worktree add -q -B $n $HOUSE/wt/$n $start
cp -al $HOUSE/main/.venv $HOUSE/wt/$n/.venv
cd $HOUSE/wt/$n
for f in $(grep -rlI --include='*' '$HOUSE/main' .venv/bin .venv/pyvenv.cfg .venv/lib/python3*/site-packages/__editable__* .venv/lib/python3*/site-packages/*.pth .venv/lib/python3*/site-packages/thinkeval*/direct_url.json 2>/dev/null); do
  [ -L "$f" ] && continue
  sed 's#$HOUSE/main#$HOUSE/wt/'$n'#g' "$f" > "$f.new"; chmod --reference="$f" "$f.new"; mv "$f.new" "$f"
done
mkdir -p build/links/thinkeval; for t in service cypher editing loaders service/public/*.py; do ln -sfn $PWD/$t build/links/thinkeval/${t##*/}; done
[ -e $HOUSE/wt/shared ] || ln -sfn $HOUSE/shared $HOUSE/wt/shared
echo ok $n
