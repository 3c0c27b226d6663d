#!/usr/bin/env bash
# Installs only the missing packages, from the distribution.   usage: tools/install-packages.sh python|runtime|archive|checks|browser…
#   python    Python 3.11 or newer with venv
#   runtime   containerd, runc, the CNI plugins, a static busybox, iptables
#   archive   Debian's keyring, to fetch from its newer suites
#   checks    other programs that some unit tests compare with the suite's; such a test is skipped without its program
#   browser   Chromium, in which the tests check pages; they are skipped without it
# An installed containerd is used as it is. One that this script installs does not run as a service.
set -euo pipefail

# Debian's way to install a package without its service being started: an answer of 101 from policy-rc.d.
policy=/usr/sbin/policy-rc.d
ours="# critests: no service is started while its packages are being installed; safe to remove"
put_back() {
    if grep -qsxF "$ours" $policy; then rm -f $policy; fi
    if [ -e $policy.before-critests ] || [ -L $policy.before-critests ]; then mv -f $policy.before-critests $policy; fi
}
[ "$(id -u)" != 0 ] || put_back # in case an earlier call was killed

declare -A why=()
python_is_there() {
    local python
    for python in python3 python3.14 python3.13 python3.12 python3.11 /usr/bin/python3; do
        "$python" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && return
    done
    return 1
}
cni_plugins_are_there() {
    local dir plugin
    for dir in /usr/lib/cni /opt/cni/bin /usr/libexec/cni; do
        for plugin in bridge host-local loopback portmap; do
            [ -x "$dir/$plugin" ] || continue 2
        done
        return 0
    done
    return 1
}
busybox_is_static() {
    local busybox
    busybox=$(command -v busybox) && ! ldd "$busybox" >/dev/null 2>&1
}
look_for() {
    case $1 in
    python)
        python_is_there || why[python3-venv]="Python, for the suite itself"
        ;;
    runtime)
        command -v containerd >/dev/null || why[containerd]="the runtime to be tested"
        command -v runc >/dev/null || why[runc]="what containerd starts containers with"
        cni_plugins_are_there || why[containernetworking-plugins]="the network of its pods"
        command -v iptables >/dev/null || why[iptables]="the port mappings of its pods"
        command -v ip >/dev/null || why[iproute2]="to remove the pods' bridge afterwards"
        busybox_is_static || why[busybox-static]="what the test images are made of"
        ;;
    archive)
        [ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || why[debian-archive-keyring]="the keys of Debian's archive"
        ;;
    checks)
        command -v qemu-aarch64 >/dev/null || why[qemu-user]="runs the test images' programs for arm64"
        command -v skopeo >/dev/null || why[skopeo]="a second opinion on the test images"
        command -v zstd >/dev/null || why[zstd]="a second opinion on compressed layers"
        [ -e /usr/include/asm-generic/unistd.h ] || why[linux-libc-dev]="the kernel's own numbers of system calls"
        ;;
    browser)
        if ! command -v chromium >/dev/null && ! command -v chromium-browser >/dev/null && ! command -v google-chrome >/dev/null; then
            why[chromium]="to look at pages as their readers do"
            why[fonts-dejavu-core]="letters for it"
        fi
        ;;
    *)
        echo "usage: tools/install-packages.sh python|runtime|archive|checks|browser…" >&2
        exit 2
        ;;
    esac
}
PATH=$PATH:/usr/sbin:/sbin
for purpose in "$@"; do look_for "$purpose"; done
[ ${#why[@]} -gt 0 ] || exit 0

by_hand() {
    echo "$1 Please install these by hand, under the names that they have in your distribution, and call make again:" >&2
    for package in "${!why[@]}"; do echo "  $package  (${why[$package]})" >&2; done
    exit 1
}
command -v apt-get >/dev/null || by_hand "Packages are missing, and this machine has no apt-get (critests installs them itself on Debian and Ubuntu)."
[ "$(id -u)" = 0 ] || by_hand "Packages are missing, and installing them needs root."

export DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1
quietly() { # what a command says is shown only if it fails
    local said
    said=$("$@" 2>&1 </dev/null) || {
        printf '%s\n' "$said" "This failed: $*" >&2
        return 1
    }
}
# a changed configuration file is preserved: dpkg's question about it would have no answer here
apt=(apt-get -qq -o DPkg::Lock::Timeout=300 -o Dpkg::Options::=--force-confold)
if [ -z "${CRITESTS_APT_UPDATED:-}" ]; then
    quietly "${apt[@]}" update || echo "The package lists may be old; going on with what is known." >&2
fi

echo "Installing what is missing, from this machine's distribution:"
for package in "${!why[@]}"; do printf '  %-28s %s\n' "$package" "${why[$package]}"; done
removed=$("${apt[@]}" --simulate --no-install-recommends install "${!why[@]}" 2>/dev/null | sed -n 's/^Remv \([^ ]*\).*/\1/p' | tr '\n' ' ') || true
case $removed in
"" | "busybox ") [ -z "$removed" ] || echo "  busybox-static takes the place of the package busybox; it is the same program, linked statically." ;;
*) by_hand "Installing them with apt-get would remove ${removed}and that is not ours to decide." ;;
esac

trap put_back EXIT
trap 'exit 130' INT TERM HUP
if [ -e $policy ] || [ -L $policy ]; then mv -f $policy $policy.before-critests; fi
printf '#!/bin/sh\n%s\nexit 101\n' "$ours" >$policy
chmod 755 $policy
quietly "${apt[@]}" --yes --no-install-recommends install "${!why[@]}"
if [ -n "${why[containerd]:-}" ] && command -v systemctl >/dev/null; then
    quietly systemctl disable containerd.service && echo "The packaged service stays off (to have it: systemctl enable --now containerd)."
fi
