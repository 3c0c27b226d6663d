#!/usr/bin/env bash
# Downloads other containerd versions from other suites of the distribution: DIR/1.7 and DIR/2.1, each with its shims and ctr.
#   usage: tools/get-runtimes.sh DIR [VERSION…]
# They are unpacked, not installed. A version that is present and runs is not replaced. runc, crun and the CNI plugins are those of the machine.
# The packages come from the mirror of Debian or Ubuntu in this machine's apt configuration. Without one, or if Ubuntu's mirror no longer has
# a release, name a mirror of Debian: DEBIAN_MIRROR=URL
set -euo pipefail
cd "$(dirname "$0")/.."
dir=${1:?usage: tools/get-runtimes.sh DIR [VERSION…]}
shift
declare -A in_debian=([1.7]="trixie" [2.1]="sid forky") in_ubuntu=([1.7]="noble" [2.1]="questing")
[ $# -gt 0 ] || set -- 1.7 2.1
mkdir -p "$dir"

version_in() { # the full version of the containerd in DIR/$1; nothing if it is not a $1
    "$dir/$1/containerd" --version 2>/dev/null | sed -nE "s/^.* ($1\.[0-9][^ ]*) .*$/\1/p" | head -1
}
missing=()
for version; do
    : "${in_debian[$version]:?"containerd $version is unknown; known are ${!in_debian[*]}"}"
    if present=$(version_in "$version") && [ -n "$present" ]; then
        echo "$dir/$version: containerd $present is there"
    else
        missing+=("$version")
    fi
done
[ ${#missing[@]} -gt 0 ] || exit 0

mirror_of() { # reads both formats of apt: "deb [options] URL suite…" and "URIs: URL"
    cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
        sed -nE -e 's/^[[:space:]]*(deb[[:space:]]+(\[[^]]*\][[:space:]]+)?|URIs:[[:space:]]*)([^[:space:]]+).*/\3/p' |
        grep -E "/$1/?\$" | head -1
}
debian=${DEBIAN_MIRROR:-$(mirror_of debian || true)}
ubuntu=$(mirror_of "ubuntu(-ports)?" || true)
if [ -n "$debian" ]; then
    mirror=$debian keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    tools/install-packages.sh archive
    suites_with() { echo "${in_debian[$1]}"; }
elif [ -n "$ubuntu" ]; then
    mirror=$ubuntu keyring=/usr/share/keyrings/ubuntu-archive-keyring.gpg
    suites_with() { echo "${in_ubuntu[$1]}"; }
else
    echo "containerd ${missing[*]}: this machine's apt has no mirror of Debian or Ubuntu. Name one of Debian: DEBIAN_MIRROR=<URL that ends in /debian>" >&2
    exit 1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
chmod 755 "$work" # apt downloads as the user _apt

fetch() { # fetch VERSION SUITE; returns 0 if the suite has the version
    local version=$1 suite=$2 at="$work/$2" candidate
    mkdir -p "$at/lists/partial" "$at/cache/archives/partial"
    chmod 777 "$at"
    echo "deb [signed-by=$keyring] $mirror $suite main" >"$at/sources.list"
    local apt=(-qq -o "Dir::Etc::SourceList=$at/sources.list" -o Dir::Etc::SourceParts=/dev/null -o Dir::Etc::Preferences=/dev/null
        -o Dir::Etc::PreferencesParts=/dev/null -o "Dir::State::Lists=$at/lists" -o Dir::State::status=/dev/null -o "Dir::Cache=$at/cache"
        -o Acquire::Languages=none -o Acquire::Retries=3)
    [ -e "$at/cache/pkgcache.bin" ] || apt-get "${apt[@]}" update
    candidate=$(apt-cache "${apt[@]}" madison containerd | sed -nE '1s/^[^|]*\| *([^ |]+).*/\1/p')
    case $candidate in
    "$version".*) ;;
    *)
        echo "$suite has containerd ${candidate:-of no version}, not $version" >&2
        return 1
        ;;
    esac
    (cd "$at" && apt-get "${apt[@]}" download containerd && dpkg -x containerd_*.deb unpacked)
    rm -rf "${dir:?}/$version" "$dir/.$version.new"
    mkdir "$dir/.$version.new"
    cp "$at"/unpacked/usr/bin/containerd* "$at/unpacked/usr/bin/ctr" "$dir/.$version.new/"
    mv "$dir/.$version.new" "$dir/$version"
}
for version in "${missing[@]}"; do
    for suite in $(suites_with "$version"); do
        fetch "$version" "$suite" && break
    done
    present=$(version_in "$version" || true)
    if [ -z "$present" ]; then
        echo "containerd $version: the mirror does not have it in $(suites_with "$version"), or it does not run here." \
            "Try another mirror: DEBIAN_MIRROR=<URL that ends in /debian>" >&2
        exit 1
    fi
    echo "$dir/$version: containerd $present"
done
