#!/bin/sh
# Installs critests from this folder, without network.   usage: sh install.sh [DIR]     (default: /opt/critests)
# The Python must be of the version with which the bundle was made; PYTHON names its file.
set -eu
from=$(cd "$(dirname "$0")" && pwd)
dir=${1:-/opt/critests}
abi=$(cat "$from/python-abi")
version=$(printf %s "$abi" | sed -n 's/^cpython-\(3\)\([0-9]*\).*/\1.\2/p')

if [ -e "$dir" ] && [ ! -e "$dir/busybox" ]; then
    echo "$dir exists and was not made by this script" >&2
    exit 1
fi
for python in ${PYTHON:-"python$version" python3 "/usr/bin/python$version"} none; do
    [ "$("$python" -c 'import sysconfig; print(sysconfig.get_config_var("SOABI"))' 2>/dev/null)" != "$abi" ] || break
done
if [ "$python" = none ]; then
    echo "this bundle is for Python $version ($abi), which is not on the PATH; if it is elsewhere: PYTHON=FILE sh install.sh" >&2
    exit 1
fi

rm -rf "$dir"
"$python" -m venv --without-pip "$dir"
cp "$from/busybox" "$dir/busybox"
cp -R "$from/packages/." "$("$dir/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"
cat >"$dir/bin/critests" <<END
#!$dir/bin/python
import os, sys
os.environ.setdefault("BUSYBOX", "$dir/busybox")
from critests.__main__ import main
sys.exit(main())
END
chmod 755 "$dir/bin/critests" "$dir/busybox"
"$dir/bin/python" -m compileall -q -j 0 "$dir" >/dev/null || true
"$dir/bin/python" -c 'import google.protobuf, grpc, psutil, yaml' || {
    echo "the packages do not work here (see above): make the bundle on a machine with an older C library" >&2
    exit 1
}
echo "installed: $dir/bin/critests ($("$dir/bin/critests" --version))"
