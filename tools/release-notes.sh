#!/usr/bin/env bash
# Prints the section of a version in the changelog.   usage: tools/release-notes.sh VERSION
# Fails if VERSION is not the version of this checkout, if the section is missing or has no date, and if changes are still unreleased.
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:?usage: tools/release-notes.sh VERSION}

current=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' critests/__init__.py)
[ "$version" = "$current" ] || { echo "the version of this checkout is $current (critests/__init__.py), not $version" >&2; exit 1; }

section() { # NAME: the lines below its heading
    awk -v heading="[$1]" '/^## / { inside = $2 == heading; next } inside' CHANGELOG.md
}
if section Unreleased | grep -q '[^[:space:]]'; then
    echo "CHANGELOG.md has unreleased changes: move them below \"## [$version] - $(date -u +%F)\"" >&2
    exit 1
fi
grep -qE "^## \[$version\] - [0-9]{4}-[0-9]{2}-[0-9]{2}$" CHANGELOG.md || {
    echo "CHANGELOG.md has no heading \"## [$version] - $(date -u +%F)\"" >&2
    exit 1
}
section "$version"
