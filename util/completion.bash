# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Completion of fi_doctor, fi_info, fi_pingpong, fi_stat and fi_strerror in bash. It asks the tools themselves: for options
# --help, for values what they list. It is installed once under the name of each tool.

# _weft_options TOOL: all options, those with a value that follows "=" end in it.
_weft_options()
{
	"$1" --help 2>/dev/null | sed -nE 's/^ +(-.*)/\1/p' | sed -E 's/(  |\t).*//; s/, /\n/g' |
		sed -E 's/ .*//; s/^(--[^=]+=).*/\1/'
}

# The names that fi_info lists when it meets one that does not exist.
_weft_names()
{
	"$1" "$2" no-such-name 2>&1 | sed -n 's/^There are: //p'
}

_weft_providers()
{
	"$1" -l 2>/dev/null | sed -n 's/^\([^ ].*\):$/\1/p'
}

_weft_devices()
{
	ls /sys/class/infiniband 2>/dev/null
}

# The processes of this user.
_weft_processes()
{
	local dir

	for dir in /proc/[0-9]*; do
		[ ! -O "$dir" ] || echo "${dir##*/}"
	done
}

# _weft_values TOOL OPTION: what may follow the option; "-" asks for a file name, nothing means any text.
_weft_values()
{
	local tool=${1##*/} info=fi_info

	[ "$tool" = "$1" ] || info=${1%/*}/fi_info
	case $tool:$2 in
	fi_info:-c | fi_info:--caps) _weft_names "$1" -c ;;
	fi_info:-m | fi_info:--mode) _weft_names "$1" -m ;;
	fi_info:-t | fi_info:--ep_type) _weft_names "$1" -t ;;
	fi_info:-a | fi_info:--addr_format) _weft_names "$1" -a ;;
	fi_info:-T | fi_info:--tclass) _weft_names "$1" -T ;;
	fi_info:-g | fi_info:--getenv) "$1" -e 2>/dev/null | sed -n 's/^# \(FI_[A-Z0-9_]*\): .*/\1/p' ;;
	fi_info:-p | fi_info:--provider | fi_pingpong:-p | fi_pingpong:--provider) _weft_providers "$info" ;;
	fi_info:-d | fi_info:--domain | fi_pingpong:-d | fi_pingpong:--domain) _weft_devices ;;
	fi_pingpong:-e) echo msg rdm dgram ;;
	fi_pingpong:-m) echo msg tagged ;;
	fi_pingpong:-D) echo cuda ;;
	fi_pingpong:-S) echo all ;;
	fi_stat:-p | fi_stat:--pid | fi_stat:-P | fi_stat:--peers) _weft_processes ;;
	fi_doctor:-r | fi_doctor:--root) echo - ;;
	esac
}

# True if the option OPTION of TOOL is followed by a value.
_weft_takes_value()
{
	"$1" --help 2>/dev/null | grep -qE -e "^ +(-., )?$2(=| <|, --[^ ]*=)"
}

_weft_complete()
{
	local tool=$1 cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} values

	COMPREPLY=()
	# "--option=value" is three words for bash.
	if [ "$cur" = = ]; then
		cur=''
	elif [ "$before" = = ]; then
		before=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	if [[ $before == -* ]] && _weft_takes_value "$tool" "$before"; then
		values=$(_weft_values "$tool" "$before")
		if [ "$values" = - ]; then
			mapfile -t COMPREPLY < <(compgen -d -- "$cur")
		else
			mapfile -t COMPREPLY < <(compgen -W "$values" -- "$cur")
		fi
		return
	fi
	if [[ $cur == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_weft_options "$tool")" -- "$cur")
		[[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2>/dev/null
	elif [[ ${tool##*/} =~ ^fi_(doctor|pingpong)$ ]]; then
		mapfile -t COMPREPLY < <(compgen -A hostname -- "$cur")
	fi
}

complete -F _weft_complete fi_doctor fi_info fi_pingpong fi_stat fi_strerror
