#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Makes ./configure from a git checkout.
set -e
case ${1:-} in
'') ;;
-h | --help)
	echo "Usage: ./autogen.sh   make ./configure, with autoconf, automake and libtool"
	exit 0
	;;
*)
	echo "autogen.sh: unknown option $1; try ./autogen.sh --help" >&2
	exit 2
	;;
esac
cd "$(dirname "$0")"

missing=
for need in autoconf automake libtoolize:libtool pkg-config; do
	command -v "${need%:*}" >/dev/null || missing="$missing ${need#*:}"
done
if [ -n "$missing" ]; then
	echo "autogen.sh: not installed:$missing. On Debian: apt-get install$missing" >&2
	exit 1
fi

mkdir -p build-aux
exec autoreconf --install --force --warnings=all,no-portability
