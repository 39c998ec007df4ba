#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The completion of bash offers each option that --help has and nothing else, and each option and value that it offers is
# one that the tool takes. Run in the build directory.

set -u
source=$(cd "${srcdir:-$(dirname "$0")/../..}" && pwd) || exit 1
failed=0
unset FI_PROVIDER FI_LOG_LEVEL
[ -x util/fi_info ] || { echo "no util/fi_info here"; exit 77; }
# shellcheck source=/dev/null
. "$source/util/completion.bash"

complain()
{
	echo "FAIL $*"
	failed=1
}

# offered TOOL WORD...: what is offered for the last word, one a line.
offered()
{
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
	_weft_complete "util/$1" "${@: -1}" "${@:$#-1:1}" 2>/dev/null
	[ ${#COMPREPLY[@]} -eq 0 ] || printf '%s\n' "${COMPREPLY[@]}"
}

# is WANT TOOL WORD...
is()
{
	local want=$1 got

	shift
	got=$(offered "$@" | tr '\n' ' ')
	[ "$got" = "$want" ] || complain "$*: offered are \"$got\", not \"$want\""
}

for tool in fi_doctor fi_info fi_pingpong fi_stat fi_strerror; do
	[ "$(complete -p $tool)" = "complete -F _weft_complete $tool" ] || complain "$tool has no completion"
	# Options as a reader of --help finds them: at the beginning of a line, before its text.
	help=$("util/$tool" --help | sed -nE 's/^ +(-.*)/\1/p' | sed -E 's/(  |\t).*//' |
		grep -oE '(^|[ ,])--?[A-Za-z0-9][-A-Za-z0-9_]*' | tr -d ' ,' | sort)
	got=$(offered $tool - | tr -d = | sort)
	[ "$help" = "$got" ] || complain "$tool: --help and the completion differ: $(diff <(echo "$help") <(echo "$got"))"
	[ "$(wc -l <<<"$got")" -ge 4 ] || complain "$tool: too few options"
	for option in $got; do
		text=$(timeout 20 "util/$tool" "$option" 2>&1 </dev/null | head -n 3)
		! grep -qE 'unrecognized option|invalid option' <<<"$text" || complain "$tool does not take $option: $text"
	done
done

# Each name that is offered as a value is one that fi_info takes: 22 says that it is none.
for option in -c -m -t -a -T; do
	names=$(offered fi_info $option '')
	[ "$(wc -w <<<"$names")" -ge 5 ] || complain "fi_info $option: too few names: $names"
	for name in $names; do
		util/fi_info $option "$name" >/dev/null 2>&1
		[ $? -ne 22 ] || complain "fi_info $option $name: it is no such name"
	done
done
is "FI_EP_DGRAM " fi_info -t FI_EP_D
is "FI_EP_DGRAM " fi_info --ep_type = FI_EP_D
is "--ep_type= " fi_info --ep
is "FI_VERBS_GID_IDX " fi_info -g FI_VERBS_GID
is "msg " fi_pingpong -e ms
is "tagged " fi_pingpong -p verbs -m t
is "cuda " fi_pingpong -D c
is "--timeout= " fi_doctor --tim
is "" fi_stat -w ""
offered fi_stat -p "" | grep -qx "$$" || complain "fi_stat -p: this process is not offered"
[ "$(offered fi_info -p '' | tr '\n' ' ')" = "$(util/fi_info -l | sed -n 's/^\([^ ].*\):$/\1/p' | tr '\n' ' ')" ] ||
	complain "fi_info -p: not the providers that there are"
exit $failed
