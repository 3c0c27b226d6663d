#!/usr/bin/env bash
# Builds the wheel and tests it without the checkout: in an empty environment, from another folder; then a bundle of that environment,
# without network.
#   usage: tools/try-wheel.sh PYTHON JUNIT     PYTHON has the packages of requirements/run.lock, JUNIT is the report to write
set -euo pipefail
cd "$(dirname "$0")/.."
python=${1:?usage: tools/try-wheel.sh PYTHON JUNIT}
junit=${2:?usage: tools/try-wheel.sh PYTHON JUNIT}
checkout=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
mkdir "$work/elsewhere"

"$python" -m hatchling build --target wheel --directory "$work/dist"
"$python" -m venv "$work/env"
pip=("$work/env/bin/python" -m pip --disable-pip-version-check --no-input)
"${pip[@]}" install -qq --require-hashes -r requirements/run.lock
"${pip[@]}" install -qq --no-deps "$work"/dist/*.whl
"${pip[@]}" check

cd "$work/elsewhere"
export PATH="$work/env/bin:$PATH"
came_from=$(python -c 'import critests; print(critests.__file__)')
case $came_from in "$checkout"/*) echo "critests was imported from the checkout: $came_from" >&2 && exit 1 ;; esac

critests run --list >listed
echo "critests run --list: $(grep -c . listed) tests"
grep -q SBX listed
critests doctor --node containerd
critests bundle "$work/bundle.tar"
tar -xf "$work/bundle.tar" -C "$work"
mv "$work/env" "$work/not-used"
sh "$work/critests-bundle/install.sh" "$work/bundled"
unshare --net sh -c 'ip link set lo up && exec "$@"' sh \
    "$work/bundled/bin/critests" run --node containerd --profile smoke --results "$work/results" --junit "$junit"
