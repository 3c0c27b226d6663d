# shellcheck shell=bash
# Packages of the distribution's other suites: fetched and unpacked, never installed. Sourced by the tools/get-*.sh that need some.
# They come from the mirror of Debian or Ubuntu that this machine's apt is set up with. Elsewhere, or where Ubuntu's mirror has dropped a
# release, name a mirror of Debian: DEBIAN_MIRROR=URL

mirror_of() { # from both of apt's forms: "deb [options] URL suite…" and "URIs: URL"
    cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
        sed -nE -e 's/^[[:space:]]*(deb[[:space:]]+(\[[^]]*\][[:space:]]+)?|URIs:[[:space:]]*)([^[:space:]]+).*/\3/p' |
        grep -E "/$1/?\$" | head -1
}

find_mirror() { # find_mirror WHAT-FOR: sets distribution, mirror, keyring and work, a directory that goes with the process
    local debian ubuntu
    debian=${DEBIAN_MIRROR:-$(mirror_of debian || true)}
    ubuntu=$(mirror_of "ubuntu(-ports)?" || true)
    if [ -n "$debian" ]; then
        distribution=debian mirror=$debian keyring=/usr/share/keyrings/debian-archive-keyring.gpg components=main
        tools/install-packages.sh archive
    elif [ -n "$ubuntu" ]; then
        distribution=ubuntu mirror=$ubuntu keyring=/usr/share/keyrings/ubuntu-archive-keyring.gpg components="main universe"
    else
        echo "$1: this machine's apt knows no mirror of Debian or Ubuntu. Name one of Debian: DEBIAN_MIRROR=<URL that ends in /debian>" >&2
        return 1
    fi
    export distribution
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    trap 'exit 130' INT TERM HUP
    chmod 755 "$work" # apt fetches as a user of its own
}

open_suite() { # open_suite SUITE: from now on the apt of `in_suite` is that suite's alone
    suite_at="$work/$1"
    mkdir -p "$suite_at/lists/partial" "$suite_at/cache/archives/partial"
    chmod 777 "$suite_at"
    echo "deb [signed-by=$keyring] $mirror $1 $components" >"$suite_at/sources.list"
    suite_options=(-qq -o "Dir::Etc::SourceList=$suite_at/sources.list" -o Dir::Etc::SourceParts=/dev/null -o Dir::Etc::Preferences=/dev/null
        -o Dir::Etc::PreferencesParts=/dev/null -o "Dir::State::Lists=$suite_at/lists" -o Dir::State::status=/dev/null -o "Dir::Cache=$suite_at/cache"
        -o Acquire::Languages=none -o Acquire::Retries=3)
    [ -e "$suite_at/cache/pkgcache.bin" ] || apt-get "${suite_options[@]}" update
}

version_in_suite() { # version_in_suite PACKAGE: what the open suite has; nothing if it has no such package
    apt-cache "${suite_options[@]}" madison "$1" 2>/dev/null | sed -nE '1s/^[^|]*\| *([^ |]+).*/\1/p'
}

unpack() { # unpack PACKAGE: from the open suite; says below which directory its files lie
    (cd "$suite_at" && apt-get "${suite_options[@]}" download "$1" >&2 && dpkg -x "$1"_*.deb "unpacked-$1") && echo "$suite_at/unpacked-$1"
}
