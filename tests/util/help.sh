#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Each tool, each example and each script that a user calls explains itself: --help prints the usage to stdout and
# succeeds; an option that does not exist fails, with at most two lines on stderr that tell about --help. Run in the
# build directory.

set -u
source=$(cd "${srcdir:-$(dirname "$0")/../..}" && pwd) || exit 1
# Called by other scripts or by make only.
internal="tests/bench/measure tests/man/extract tests/mpi/rsh tests/vm/init tests/abi/gen-layout.sh tests/abi/gen-node.sh"
internal+=" tests/packages/inside tests/bench/check-peers"
failed=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

complain()
{
	echo "FAIL $*"
	cat "$work/out" "$work/err"
	failed=1
}

# explains PROGRAM
explains()
{
	local status

	timeout 20 "$1" --help >"$work/out" 2>"$work/err" </dev/null
	status=$?
	[ $status -eq 0 ] || complain "$1 --help: exit status $status"
	[ ! -s "$work/err" ] || complain "$1 --help: something on stderr"
	grep -qi '^usage:' "$work/out" || complain "$1 --help: no usage on stdout"
	timeout 20 "$1" --no-such-option >"$work/out" 2>"$work/err" </dev/null
	status=$?
	case $status in
	0 | 124 | 77) complain "$1 --no-such-option: exit status $status" ;;
	esac
	[ ! -s "$work/out" ] || complain "$1 --no-such-option: something on stdout"
	grep -q -e --help "$work/err" || complain "$1 --no-such-option: no hint at --help"
	[ "$(wc -l <"$work/err")" -le 2 ] || complain "$1 --no-such-option: too many lines"
	count=$((count + 1))
}

# Scripts of the tree. Tests take no arguments: those of make check, and programs for run-functional.
scripts()
{
	local script

	cd "$source" || exit 1
	find quickstart autogen.sh .ci/run doc/guide tests packaging -type f -perm -u+x 2>/dev/null |
		grep -vE '^tests/(lint|functional|util)/|\.log$|\.trs$|/\.libs/' | LC_ALL=C sort | while read -r script; do
		head -c 2 "$script" | grep -q '#!' || continue
		[[ " $internal tests/abi/headers tests/abi/pkg_config tests/abi/third_party " == *" $script "* ]] || echo "$script"
	done
	echo tests/lint/format
}

count=0
for tool in util/fi_* util/weft-alternative util/weft-run; do
	[ ! -f "$tool" ] || [ ! -x "$tool" ] || explains "$tool"
done
while read -r script; do
	explains "$source/$script"
done < <(scripts)
echo "$count programs and scripts"
[ "$count" -ge 20 ] || { echo "FAIL: too few"; failed=1; }
exit $failed
