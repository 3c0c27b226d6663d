#!/usr/bin/env bash
# Builds the sdist and the wheel of the commit HEAD twice, compares them, and checks what an index would show of them.
#   usage: tools/build-release.sh PYTHON DIR     PYTHON has the packages of requirements/release.lock; files in DIR are replaced
# The second wheel comes from the sdist, so a file that is missing there is noticed. The same commit always gives the same files.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${1:?usage: tools/build-release.sh PYTHON DIR}
mkdir -p "${2:?usage: tools/build-release.sh PYTHON DIR}"
dir=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

build() { # SOURCE TO
    (cd "$1" && "$python" -m hatchling build --directory "$2")
}
python=$(realpath --no-symlinks "$(command -v "$python")")
mkdir "$work/commit"
git archive HEAD | tar -x -C "$work/commit"
build "$work/commit" "$work/first"
mkdir "$work/unpacked"
tar -x -f "$work"/first/*.tar.gz -C "$work/unpacked" --strip-components 1
(umask 077 && build "$work/unpacked" "$work/second")
hashes() { (cd "$1" && sha256sum -- *); }
if ! diff <(hashes "$work/first") <(hashes "$work/second"); then
    echo "two builds of one commit differ (above: the hashes)" >&2
    exit 1
fi
"$python" -m twine check --strict "$work"/first/*
rm -f "$dir"/critests-*
cp "$work"/first/* "$dir"
cd "$dir" && sha256sum -- critests-*
