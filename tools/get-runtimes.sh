#!/usr/bin/env bash
# Brings further containerd versions from the distribution's other suites: DIR/1.7 and DIR/2.1, each with its shims and ctr.
#   usage: tools/get-runtimes.sh DIR [VERSION…]
# They are unpacked, not installed. What is there already, and runs, stays. runc, crun and the CNI plugins are the machine's own.
# Where they come from: tools/newer-suites.sh
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=tools/newer-suites.sh
source tools/newer-suites.sh
dir=${1:?usage: tools/get-runtimes.sh DIR [VERSION…]}
shift
declare -A in_debian=([1.7]="trixie" [2.1]="sid forky") in_ubuntu=([1.7]="noble" [2.1]="questing")
[ $# -gt 0 ] || set -- 1.7 2.1
mkdir -p "$dir"

version_in() { # the version that DIR/1.7 or the like holds; nothing if it is not that one
    "$dir/$1/containerd" --version 2>/dev/null | sed -nE "s/^.* ($1\.[0-9][^ ]*) .*$/\1/p" | head -1
}
missing=()
for version; do
    : "${in_debian[$version]:?"containerd $version: not known; known are ${!in_debian[*]}"}"
    if present=$(version_in "$version") && [ -n "$present" ]; then
        echo "$dir/$version: containerd $present is there"
    else
        missing+=("$version")
    fi
done
[ ${#missing[@]} -gt 0 ] || exit 0

find_mirror "containerd ${missing[*]}"
suites_with() {
    if [ "$distribution" = debian ]; then echo "${in_debian[$1]}"; else echo "${in_ubuntu[$1]}"; fi
}

fetch() { # fetch VERSION SUITE: 0 if that suite has it
    local version=$1 suite=$2 candidate at
    open_suite "$suite"
    candidate=$(version_in_suite containerd)
    case $candidate in
    "$version".*) ;;
    *)
        echo "$suite has containerd ${candidate:-of no version}, not $version" >&2
        return 1
        ;;
    esac
    at=$(unpack containerd)
    rm -rf "${dir:?}/$version" "$dir/.$version.new"
    mkdir "$dir/.$version.new"
    cp "$at"/usr/bin/containerd* "$at/usr/bin/ctr" "$dir/.$version.new/"
    mv "$dir/.$version.new" "$dir/$version"
}
for version in "${missing[@]}"; do
    for suite in $(suites_with "$version"); do
        fetch "$version" "$suite" && break
    done
    present=$(version_in "$version" || true)
    if [ -z "$present" ]; then
        echo "containerd $version: the mirror does not have it in $(suites_with "$version"), or it does not run here." \
            "Another place to look: DEBIAN_MIRROR=<URL that ends in /debian>" >&2
        exit 1
    fi
    echo "$dir/$version: containerd $present"
done
