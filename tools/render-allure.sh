#!/usr/bin/env bash
# `make allure`: renders runs with Allure 3.   usage: tools/render-allure.sh FOLDER RUN…
#   FOLDER   gets results/ (Allure's input), report/ (open index.html through a web server) and history.jsonl, which later reports continue
#   RUN      folder of a run; one per runtime or version, because each becomes an environment of the report
# Needs Node 20 or newer with npm; Allure itself is installed once into a cache folder. CRITESTS names the command critests.
# Allure writes a tag of an analytics service into its pages. The script removes it, and fails if a trace of it is left.
set -euo pipefail
version=3.18.0
critests=${CRITESTS:-critests}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/critests/allure-$version

[ $# -ge 2 ] || { sed -nE 's/^# ?//p' "$0" | head -5 >&2; exit 4; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
shift
for program in node npm; do
    command -v $program >/dev/null || { echo "render-allure: $program is missing; Debian has it: apt-get install nodejs npm" >&2; exit 5; }
done
if [ ! -x "$cache/node_modules/.bin/allure" ]; then
    mkdir -p "$cache"
    npm install --prefix "$cache" --no-save --no-audit --no-fund --ignore-scripts --loglevel error "allure@$version" >&2
fi

rm -rf "$out/results" "$out/report" "$out/environments"
mkdir -p "$out/environments"
number=0
for run in "$@"; do
    $critests report "$run" --format allure --output "$out/results"
    mv "$out/results/environment.properties" "$out/environments/$number"
    number=$((number + 1))
done
if [ $# = 1 ]; then cp "$out/environments/0" "$out/results/environment.properties"; else rm "$out/results/executor.json"; fi
cat >"$out/allurerc.mjs" <<'CONFIG'
// written by tools/render-allure.sh
import { readdirSync, readFileSync } from "node:fs";
const here = (path) => new URL(path, import.meta.url);
const read = (path) => readFileSync(here(path), "utf8");
const facts = readdirSync(here("./environments")).sort((one, other) => one - other).map((file) => Object.fromEntries(
    read(`./environments/${file}`).split("\n").filter(Boolean).map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
));
const versions = (runtime) => facts.filter((each) => each.runtime === runtime).length;
const title = (each) => (versions(each.runtime) > 1 ? `${each.runtime} ${each["runtime-version"]}` : each.runtime);
if (new Set(facts.map(title)).size < facts.length) {
    throw new Error("a report has one run of a runtime's version; render them one after another, history.jsonl has the earlier ones");
}
const label = (labels, wanted) => labels.find(({ name }) => name === wanted)?.value;
const matcher = (each) => ({ labels }) => ["runtime", "runtime-version"].every((name) => label(labels, name) === each[name]);
// Allure takes letters, digits, _ and - as the id of an environment
const environment = (each) => [title(each).replace(/[^A-Za-z0-9_-]+/g, "_"), { name: title(each), matcher: matcher(each), variables: each }];
export default {
    name: `critests: ${facts.map(title).join(", ")}`,
    output: "./report",
    historyPath: "./history.jsonl",
    environments: facts.length > 1 ? Object.fromEntries(facts.map(environment)) : {},
    categories: JSON.parse(read("./results/categories.json")),
    plugins: { awesome: { options: { groupBy: ["epic", "feature", "story"] } } },
};
CONFIG
(cd "$out" && "$cache/node_modules/.bin/allure" generate results --config allurerc.mjs) >&2

find "$out/report" -name '*.html' -print0 | xargs -0 node -e '
    const { readFileSync, writeFileSync } = require("node:fs");
    for (const page of process.argv.slice(1)) {
        const script = /<script(?![^>]*type="module")[^>]*>(?:(?!<\/script>)[\s\S])*?<\/script>/g;
        writeFileSync(page, readFileSync(page, "utf8").replace(script, (text) => (/googletagmanager|gtag\(/.test(text.slice(0, 2000)) ? "" : text)));
    }
'
if grep -rlE 'googletagmanager\.com|google-analytics\.com' "$out/report" --include='*.html'; then
    echo "render-allure: a page still calls an analytics service" >&2
    exit 3
fi
echo "$out/report/index.html"
