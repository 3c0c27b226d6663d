#!/usr/bin/env bash
# Installs missing packages from the distribution.   usage: tools/install-packages.sh python|runtime|archive|checks|browser…
#   python    Python 3.11 or newer with venv
#   runtime   containerd, runc, the CNI plugins, a static busybox, iptables
#   archive   Debian's keyring, to download from its newer suites
#   checks    programs whose results some unit tests compare with the suite's; without its program such a test is skipped
#   browser   Chromium, in which the tests check pages; without it they are skipped
# An installed containerd is not changed. A containerd that this script installs does not run as a service.
set -euo pipefail

# Debian does not start the service of a new package if policy-rc.d exits with 101.
policy=/usr/sbin/policy-rc.d
ours="# critests: no service is started while its packages are being installed; safe to remove"
put_back() {
    if grep -qsxF "$ours" $policy; then rm -f $policy; fi
    if [ -e $policy.before-critests ] || [ -L $policy.before-critests ]; then mv -f $policy.before-critests $policy; fi
}
[ "$(id -u)" != 0 ] || put_back # an earlier call may have been killed

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
        command -v ip >/dev/null || why[iproute2]="removes the pods' bridge afterwards"
        busybox_is_static || why[busybox-static]="what the test images are made of"
        ;;
    archive)
        [ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || why[debian-archive-keyring]="the keys of Debian's archive"
        ;;
    checks)
        command -v qemu-aarch64 >/dev/null || why[qemu-user]="runs the test images' programs for arm64"
        command -v skopeo >/dev/null || why[skopeo]="checks the test images"
        command -v zstd >/dev/null || why[zstd]="checks compressed layers"
        [ -e /usr/include/asm-generic/unistd.h ] || why[linux-libc-dev]="the kernel's numbers of system calls"
        ;;
    browser)
        if ! command -v chromium >/dev/null && ! command -v chromium-browser >/dev/null && ! command -v google-chrome >/dev/null; then
            why[chromium]="shows the pages"
            why[fonts-dejavu-core]="fonts for it"
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
    echo "$1 Please install these packages (their names in your distribution may differ), and run make again:" >&2
    for package in "${!why[@]}"; do echo "  $package  (${why[$package]})" >&2; done
    exit 1
}
command -v apt-get >/dev/null || by_hand "Packages are missing, and this machine has no apt-get (critests installs them itself on Debian and Ubuntu)."
[ "$(id -u)" = 0 ] || by_hand "Packages are missing, and installing them needs root."

export DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1
quietly() { # prints the output of a command only if it fails
    local said
    said=$("$@" 2>&1 </dev/null) || {
        printf '%s\n' "$said" "This failed: $*" >&2
        return 1
    }
}
# a changed configuration file is preserved, because nobody answers dpkg's question about it
apt=(apt-get -qq -o DPkg::Lock::Timeout=300 -o Dpkg::Options::=--force-confold)
if [ -z "${CRITESTS_APT_UPDATED:-}" ]; then
    quietly "${apt[@]}" update || echo "apt-get update failed; the package lists may be old." >&2
fi

echo "Installing missing packages from this machine's distribution:"
for package in "${!why[@]}"; do printf '  %-28s %s\n' "$package" "${why[$package]}"; done
removed=$("${apt[@]}" --simulate --no-install-recommends install "${!why[@]}" 2>/dev/null | sed -n 's/^Remv \([^ ]*\).*/\1/p' | tr '\n' ' ') || true
case $removed in
"" | "busybox ") [ -z "$removed" ] || echo "  busybox-static replaces the package busybox; it is the same program, linked statically." ;;
*) by_hand "Installing them with apt-get would remove ${removed}which this script does not do." ;;
esac

trap put_back EXIT
trap 'exit 130' INT TERM HUP
if [ -e $policy ] || [ -L $policy ]; then mv -f $policy $policy.before-critests; fi
printf '#!/bin/sh\n%s\nexit 101\n' "$ours" >$policy
chmod 755 $policy
quietly "${apt[@]}" --yes --no-install-recommends install "${!why[@]}"
if [ -n "${why[containerd]:-}" ] && command -v systemctl >/dev/null; then
    quietly systemctl disable containerd.service && echo "The packaged service is disabled (to enable it: systemctl enable --now containerd)."
fi
