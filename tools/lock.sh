#!/usr/bin/env bash
# Regenerates requirements/*.lock from pyproject.toml.   usage: tools/lock.sh UV [--upgrade]
# Without header and index, because a lock must not name the package index of its author.
set -euo pipefail
cd "$(dirname "$0")/.."
uv=${1:?usage: tools/lock.sh UV [--upgrade]}
shift
lock() {
    local to=$1
    shift
    echo "requirements/$to"
    "$uv" pip compile --universal --generate-hashes --no-header --no-annotate --no-emit-index-url --no-emit-find-links --quiet \
        --output-file "requirements/$to" "$@"
}
lock run.lock "$@" pyproject.toml --group build
lock dev.lock "$@" pyproject.toml --extra bench --extra explore --extra load --group build --group lint --group test
lock lowest.lock "$@" pyproject.toml --extra bench --group build --group test --resolution lowest-direct
lock gen.lock "$@" --group gen
lock release.lock "$@" --group build --group release
lock tox.lock "$@" --group tox
