#!/usr/bin/env bash
# Holds pages against the HTML standard with the W3C's Nu checker.   usage: tools/check-html.sh FOLDER|PAGE…
# Needs Java 11 or newer, and npm, with which the checker is installed once into a cache folder. Ends with 1 if a page has an error.
set -euo pipefail
version=26.9.27
cache=${XDG_CACHE_HOME:-$HOME/.cache}/critests/nu-checker-$version
jar=$cache/node_modules/vnu-jar/build/dist/vnu.jar

[ $# -gt 0 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
command -v java >/dev/null || { echo "check-html: Java is missing; on Debian: apt-get install default-jre-headless" >&2; exit 2; }
if [ ! -e "$jar" ]; then
    command -v npm >/dev/null || { echo "check-html: npm is missing, which installs the checker" >&2; exit 2; }
    mkdir -p "$cache"
    npm install --silent --no-fund --no-audit --prefix "$cache" "vnu-jar@$version" >&2
fi
java -jar "$jar" --errors-only --skip-non-html "$@"
echo "no errors"
