#!/usr/bin/env bash
# `make test` and `make test-all`: installs missing packages, runs tox, and prints a summary line.
#   usage: tools/run-tests.sh env_list|all|ENV,ENV… [ARGUMENT…]    env_list and all are the lists of that name in tox.ini
set -euo pipefail
cd "$(dirname "$0")/.."
envs=${1:?usage: tools/run-tests.sh env_list|all|ENV,ENV… [ARGUMENT…]}
shift
[ $# = 0 ] || set -- -- "$@"
tox=.tox/.make
reports=results/test-reports
needs_runtime='(^|,)(runtime|nightly-runtime|proof|suite|smoke|everything|wheel)(,|$)'

if [ "$envs" = env_list ] || [ "$envs" = all ]; then
    tools/require-root.sh "make test" "tests a private containerd among other things"
    envs=$(sed -nE "s/^(labels *= *)?$envs *= *//p" tox.ini)
fi
tools/install-packages.sh python
if [[ $envs =~ (^|,)nightly(,|$) ]] && [ "$(id -u)" = 0 ]; then
    for purpose in checks browser; do tools/install-packages.sh $purpose || echo "Tests that need these packages are skipped."; done
fi
if [[ $envs =~ $needs_runtime ]]; then tools/install-packages.sh runtime; fi
tools/python-env.sh "$tox" requirements/tox.lock
eval "$("$tox/bin/python" tools/uv_settings.py)"
if [[ $envs =~ (^|,)suite(,|$) ]]; then tools/get-runtimes.sh .runtimes 2.1; fi

[ -t 1 ] || export NO_COLOR=1
rm -rf "$reports"
mkdir -p "$reports"
code=0
# two at a time, because each of them waits often; tox prints the output of a single job at once, of several jobs when each is complete
how=(run)
[[ $envs != *,* ]] || how=(run-parallel --parallel 2 --parallel-no-spinner)
"$tox/bin/tox" "${how[@]}" --result-json "$reports/tox.json" -e "$envs" "$@" </dev/null || code=$?
"$tox/bin/python" tools/count_tests.py "$reports" || [ "$code" != 0 ] || code=1
exit "$code"
