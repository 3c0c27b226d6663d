#!/usr/bin/env bash
# Releases the commit HEAD: tags it with the version of critests/__init__.py and pushes the tag. The workflow `release` does the rest.
#   usage: tools/release.sh     after tools/build-release.sh has succeeded
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' critests/__init__.py)
fail() { echo "no release: $1" >&2; exit 1; }

[ -z "$(git status --porcelain)" ] || fail "the checkout has changes that are not committed"
tools/release-notes.sh "$version" >/dev/null || fail "see above"
git fetch --quiet origin main || fail "the branch main of origin cannot be fetched"
[ "$(git rev-parse HEAD)" = "$(git rev-parse FETCH_HEAD)" ] || fail "HEAD is not the branch main of origin"
git tag --annotate "v$version" --message "critests $version" || fail "the tag v$version cannot be created"
git push --quiet origin "v$version" || { git tag --delete "v$version" >/dev/null; fail "the tag v$version was not accepted by origin"; }
echo "pushed the tag v$version; approve the environment \`index\` in the run of the workflow \`release\`"
