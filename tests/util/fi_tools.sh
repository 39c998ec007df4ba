#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Exit statuses and messages of the tools that need no device; run in the build directory.

set -u
failed=0

# expect STATUS PATTERN COMMAND...: the exit status, and a line of the output that matches.
expect()
{
	local want=$1 pattern=$2 output status

	shift 2
	output=$(timeout 20 "util/$1" "${@:2}" 2>&1 </dev/null)
	status=$?
	if [ $status -eq "$want" ] && grep -qE -- "$pattern" <<<"$output"; then
		return
	fi
	echo "FAIL $*: exit status $status, expected $want and a line like: $pattern"
	echo "$output"
	failed=1
}

[ -x util/fi_info ] || { echo "no util/fi_info here"; exit 77; }

# A variable of the user's must not choose for the tests.
unset FI_PROVIDER FI_LOG_LEVEL

for code in 61 -61 0x3d -0x3d 075 -075; do
	expect 0 '^No data available$' fi_strerror $code
done
expect 0 '^Success$' fi_strerror 0
expect 0 '^Usage: ' fi_strerror -h
expect 1 "^ERROR: unable to parse 'abc'" fi_strerror abc
expect 1 "^ERROR: unable to parse '12x'" fi_strerror 12x
expect 1 "^ERROR: unable to parse ''" fi_strerror ''
expect 1 'out of range' fi_strerror 4294967296
expect 1 'out of range' fi_strerror 99999999999999999999
expect 1 "^Try 'fi_strerror --help'" fi_strerror
expect 1 '^ERROR: not one error number' fi_strerror 1 2

expect 0 '^libfabric api: 2\.' fi_info --version
for tool in doctor info pingpong stat strerror; do
	expect 0 '^libfabric: 2\.[0-9]+\.[0-9]+ \(weft [0-9.]+\)$' fi_$tool --version
	expect 0 "^fi_$tool: weft [0-9.]+(,|$)" fi_$tool --version
done
expect 0 '^Usage: ' fi_info --help
expect 0 '^# FI_LOG_LEVEL: String$' fi_info -e
expect 0 '^# FI_LOG_LEVEL: String$' fi_info -g fi_log_l
FI_LOG_LEVEL=warn expect 0 '^FI_LOG_LEVEL=warn$' fi_info -g FI_LOG_LEVEL
FI_LOG_LEVEL=warn expect 0 '^# from: environment$' fi_info -g FI_LOG_LEVEL
expect 61 '^fi_getinfo: -61 \(No data available\)$' fi_info -p nosuchprovider
expect 61 '^fi_info: there is no provider verbz, did you mean verbs\? there are: verbs' fi_info -p verbz
expect 61 '^fi_info: there is no provider tcp; there are: ' fi_info -p tcp
FI_PROVIDER=shm expect 61 '^fi_info: FI_PROVIDER=shm: there is no provider shm; .*\(verbs.*\); plug-ins of other' fi_info
expect 61 'there is no provider nosuchprovider|libfabric has no provider' \
	fi_info --why -p nosuchprovider
expect 61 '"code": -61' fi_info --json -p nosuchprovider
expect 22 '^error: Unrecognized capability: FI_FOO$' fi_info -c 'FI_MSG|FI_FOO'
expect 22 '^error: Unrecognized endpoint type: FI_FOO$' fi_info -t FI_FOO
expect 22 '^error: Unrecognized mode: FI_FOO$' fi_info -m FI_FOO
expect 22 '^error: Unrecognized address format: FI_FOO$' fi_info -a FI_FOO
expect 1 "^Try 'fi_info --help'" fi_info --nonsense
expect 1 'unexpected argument: stray' fi_info stray
expect 1 'explains a query' fi_info --why -l
expect 1 'shows a query' fi_info --table -l
expect 1 'does not go with --verbose' fi_info --table -v
expect 1 'does not go with --verbose' fi_info --table --json
expect 1 'only one of --table and --no-table' fi_info --table --no-table
expect 61 '^fi_info: nothing matches\. fi_info --why .*fi_doctor' fi_info -d nosuchdevice
expect 61 '^fi_info: nothing matches\. fi_info --why .*fi_doctor' fi_info --table -d nosuchdevice

for option in -h --help; do
	expect 0 '^ -I <number>' fi_pingpong $option
	expect 0 '^  fi_pingpong \[OPTIONS\] <srv_addr>' fi_pingpong $option
done
expect 0 '^fi_pingpong: weft [0-9.]+, libfabric API 2\.[0-9]+$' fi_pingpong --version
expect 0 '^fi_strerror: weft [0-9.]+, libfabric API 2\.[0-9]+$' fi_strerror --version
expect 1 "^fi_pingpong: unrecognized option '--nonsense'$" fi_pingpong --nonsense
expect 1 "^fi_pingpong: option requires an argument -- 'p'$" fi_pingpong -p
expect 61 '^fi_pingpong: there is no provider verbz, did you mean verbs' fi_pingpong -p verbz -B 47594
expect 1 'Unknown endpoint : foo' fi_pingpong -e foo
expect 1 'Unknown transmit mode : foo' fi_pingpong -m foo
expect 1 'Unknown device interface : foo \(-D takes cuda\)' fi_pingpong -D foo
expect 1 'there is no device memory for datagrams' fi_pingpong -D cuda
expect 1 'Error parsing "foo"' fi_pingpong -S foo
expect 1 'Error parsing "0"' fi_pingpong -I 0
expect 1 'Error parsing "65536"' fi_pingpong -P 65536
expect 1 'more than one server address' fi_pingpong a b
expect 1 'no round trips to time' fi_pingpong --rate --plot
expect 1 '--rate does not go with -c' fi_pingpong --rate -c
expect 1 'goes with --rate only' fi_pingpong -W 8
expect 1 '--plot .* does not go with --json' fi_pingpong --plot --json
expect 61 'fi_getinfo.*No data available' fi_pingpong -p nosuchprovider -B 47594
expect 61 'fi_info --why -p nosuchprovider -t FI_EP_MSG -c FI_MSG says' \
	fi_pingpong -p nosuchprovider -e msg 127.0.0.1

expect 0 '^Usage: ' fi_doctor --help
expect 0 '^fi_doctor: weft [0-9.]+, libfabric API 2\.[0-9]+$' fi_doctor --version
expect 2 "^Try 'fi_doctor --help'" fi_doctor --nonsense
expect 2 'unexpected argument: stray' fi_doctor host 1 stray
expect 2 "a port is a number from 1 to 65535, not '0'" fi_doctor host 0
expect 2 'does not go with a peer' fi_doctor -r /tmp host
expect 1 '^fail  the kernel module ib_uverbs is not loaded  -> modprobe ib_uverbs$' \
	fi_doctor -r /nonexistent

expect 0 '^Usage: ' fi_stat --help
expect 0 '^fi_stat: weft [0-9.]+, libfabric API 2\.[0-9]+$' fi_stat --version
expect 2 "^Try 'fi_stat --help'" fi_stat --nonsense
expect 2 '--pid is required' fi_stat
expect 2 "takes 1 to 2147483647, not '0'" fi_stat -p 0
expect 2 "takes 1 to 2147483647, not '1x'" fi_stat -p 1x
expect 2 "takes 0.01 to 86400 seconds, not 'nan'" fi_stat -p 1 -w nan
expect 2 'unexpected argument: stray' fi_stat -p 1 stray
expect 2 '--count requires --watch' fi_stat -p 1 -c 3
expect 1 'there is no such process' fi_stat -p 2147483647
expect 1 'it has no statistics' fi_stat -p $$

# A disk that is full is no success, nor is an output that is closed.
for command in 'fi_strerror 61' 'fi_strerror --help' 'fi_info -e' 'fi_info --json -e' 'fi_info -l' 'fi_info --version' \
	'fi_doctor --help' 'fi_pingpong --version' 'fi_stat --help' 'fi_doctor --json -r /nonexistent'; do
	for out in '>/dev/full' '>&-'; do
		output=$(eval "timeout 20 util/$command 2>&1 $out </dev/null")
		status=$?
		if [ $status -ne 1 ] || [ "$output" != "${command%% *}: the output could not be written" ]; then
			echo "FAIL $command $out: exit status $status: $output"
			failed=1
		fi
	done
done

# No build path, log prefix or function name in what a user reads.
for command in 'fi_info -p verbz' 'fi_info -d nosuchdevice' 'fi_info --nonsense' 'fi_info -n' \
	'fi_pingpong -p verbz -B 47594' 'fi_pingpong -B 47594 -d nosuchdevice' 'fi_pingpong -Z' \
	'fi_stat --nonsense' 'fi_doctor --nonsense' 'fi_strerror'; do
	# shellcheck disable=SC2086
	output=$(timeout 20 util/$command 2>&1 </dev/null)
	if grep -qE 'libfabric:[0-9]+:|\(\):[0-9]|<warn>|\.libs|: ret=' <<<"$output"; then
		echo "FAIL $command: for programmers: $output"
		failed=1
	fi
done

if command -v python3 >/dev/null; then
	for options in '' -e -l --version --why '-p nosuchprovider --why'; do
		# shellcheck disable=SC2086
		if ! util/fi_info --json $options 2>/dev/null | python3 -m json.tool >/dev/null; then
			echo "FAIL fi_info --json $options: no valid JSON"
			failed=1
		fi
	done
	if ! util/fi_doctor --json -r /nonexistent | python3 -m json.tool >/dev/null; then
		echo "FAIL fi_doctor --json: no valid JSON"
		failed=1
	fi
fi
exit $failed
