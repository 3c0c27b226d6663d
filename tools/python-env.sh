#!/usr/bin/env bash
# Installs the packages of a lock into a Python environment.   usage: tools/python-env.sh DIR LOCK [--project]
# --project also installs critests from this checkout. A second call returns at once if nothing has changed.
# An environment that this script did not create is never changed: it is used if it satisfies pyproject.toml, else rejected.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=${1:?usage: tools/python-env.sh DIR LOCK [--project]}
lock=${2:?usage: tools/python-env.sh DIR LOCK [--project]}
project=${3:-}
stamp=$dir/.critests-lock

for python in python3 python3.14 python3.13 python3.12 python3.11 /usr/bin/python3 none; do
    "$python" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && break
done
want="$( (cat "$lock" pyproject.toml; pwd) | sha256sum | cut -d' ' -f1)"

if [ -x "$dir/bin/python" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$want" ] && "$dir/bin/python" -c ''; then
    exit 0
fi
if [ -e "$dir" ] && [ ! -e "$stamp" ]; then
    if missing=$("$dir/bin/python" tools/satisfies.py pyproject.toml 2>&1); then
        exit 0
    fi
    printf '%s\n' "$dir was not made by make and lacks what critests needs:" "$missing" \
        "Remove it, or use another folder: make demo VENV=.venv-demo" >&2
    exit 1
fi
if [ "$python" = none ]; then
    echo "No Python 3.11 or newer with venv and ensurepip was found (on Debian and Ubuntu: apt-get install python3-venv)." >&2
    exit 1
fi

echo "Python environment $dir: $("$python" --version) and $(grep -c '^[a-z]' "$lock") packages from $lock"
"$dir/bin/python" -c '' 2>/dev/null || rm -rf "$dir"
mkdir -p "$dir"
echo unfinished >"$stamp" # marks the environment as created here, also after an interruption
[ -x "$dir/bin/pip" ] || "$python" -m venv "$dir"
pip=("$dir/bin/python" -m pip --disable-pip-version-check --no-input install -qq)
"${pip[@]}" --require-hashes -r "$lock"
if [ "$project" = --project ]; then
    "${pip[@]}" --no-deps --no-build-isolation --editable .
fi
echo "$want" >"$stamp"
