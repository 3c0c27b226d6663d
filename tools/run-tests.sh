#!/usr/bin/env bash
# `make test`: installs what is missing, runs tox, and closes with one line that counts.   usage: tools/run-tests.sh [ENV,ENV… [ARGUMENT…]]
set -euo pipefail
cd "$(dirname "$0")/.."
envs=${1:-}
[ $# = 0 ] || shift
[ $# = 0 ] || set -- -- "$@"
tox=.tox/.make
reports=results/test-reports
needs_runtime='(^|,)(runtime|suite|wheel)'
needs_newer='(^|,)suite-newer'

if [ -z "$envs" ]; then
    tools/require-root.sh "make test" "tests a private containerd among other things"
    envs=$(sed -nE 's/^env_list *= *//p' tox.ini)
fi
tools/install-packages.sh python
if [[ $envs =~ (^|,)unit ]] && [ "$(id -u)" = 0 ]; then
    for purpose in checks browser; do tools/install-packages.sh $purpose || echo "Going on without: the tests that need it are skipped."; done
fi
if [[ $envs =~ $needs_runtime ]]; then tools/install-packages.sh runtime; fi
tools/python-env.sh "$tox" requirements/tox.lock
eval "$("$tox/bin/python" tools/uv_settings.py)"
if [[ $envs =~ $needs_newer ]]; then tools/get-runtimes.sh .runtimes 2.1; fi

[ -t 1 ] || export NO_COLOR=1
rm -rf "$reports"
mkdir -p "$reports"
code=0
"$tox/bin/tox" run --result-json "$reports/tox.json" -e "$envs" "$@" </dev/null || code=$?
"$tox/bin/python" tools/count_tests.py "$reports" || [ "$code" != 0 ] || code=1
exit "$code"
