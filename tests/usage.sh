# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Help and wrong options, alike in all scripts. A script defines usage(), which prints to stdout, and sources this file.

# Tells on stderr where there is help, after what is wrong.
hint()
{
	[ $# -eq 0 ] || echo "${0##*/}: $*" >&2
	echo "Try '$0 --help'." >&2
	exit 2
}

case ${1:-} in
-h | --help)
	usage
	exit 0
	;;
esac
