#!/usr/bin/env bash
# Brings further OCI runtimes from the distribution's other suites, to be handlers of a throwaway runtime: DIR/crun-1.21, DIR/runsc-20240729.0
# and the like, a program each. What does not start here is not kept, and is told with what it lacks.
#   usage: tools/get-oci-runtimes.sh DIR
# They are unpacked, not installed. DIR/list.txt has what was found; while it is there nothing is fetched again.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=${1:?usage: tools/get-oci-runtimes.sh DIR}
# shellcheck source=tools/newer-suites.sh
source tools/newer-suites.sh
declare -A suites=([debian]="trixie sid" [ubuntu]="noble questing")
if [ -e "$dir/list.txt" ]; then
    cat "$dir/list.txt"
    exit 0
fi
find_mirror "OCI runtimes"
mkdir -p "$dir"

lack() { # lack PROGRAM: why it does not start, from the linker's words
    local said
    said=$("$1" --version 2>&1 || true)
    sed -nE -e "s/.*version \`([A-Z]+_[0-9.]+)' not found.*/a newer libc (\1)/p" -e 's/.*libraries: ([^:]+): cannot open.*/the library \1/p' <<<"$said" | head -1
}

found="$work/list.txt"
for suite in ${suites[$distribution]}; do
    open_suite "$suite"
    for package in crun runc runsc; do
        packaged=$(version_in_suite "$package")
        if [ -z "$packaged" ]; then
            echo "$suite has no $package" >>"$found"
            continue
        fi
        upstream=$(sed -E 's/^([0-9]+:)?(0\.0~)?//; s/[-+~].*//' <<<"$packaged")
        name="$package-$upstream"
        if grep -qs "^$dir/$name:" "$found"; then continue; fi
        at=$(unpack "$package")
        program=$(find "$at" -type f -name "$package" -perm -u+x | head -1)
        if [ -n "$program" ] && "$program" --version >/dev/null 2>&1; then
            cp "$program" "$dir/$name"
            echo "$dir/$name: $package $packaged of $suite; critests run --node containerd --handler-binary $name=$dir/$name --runtime-handler $name" >>"$found"
        else
            why=$([ -z "$program" ] || lack "$program")
            echo "$name of $suite does not start here${why:+: it needs $why}" >>"$found"
        fi
    done
done
cp "$found" "$dir/list.txt"
cat "$dir/list.txt"
