#!/usr/bin/env bash
# Exits with a message unless the user is root.   usage: tools/require-root.sh COMMAND "what it does that needs root"
set -euo pipefail
[ "$(id -u)" = 0 ] || {
    echo "$1 $2, and that needs root. Call it as: sudo $1" >&2
    exit 1
}
