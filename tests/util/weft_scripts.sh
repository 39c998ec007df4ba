#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# weft-run and weft-alternative, as far as they change nothing in the system; run in the build directory. tests/packages
# tests the rest.

set -u
failed=0

# expect STATUS PATTERN COMMAND...: the exit status, and a line of the output that matches.
expect()
{
	local want=$1 pattern=$2 output status

	shift 2
	output=$(timeout 20 "$@" 2>&1 </dev/null)
	status=$?
	if [ $status -eq "$want" ] && grep -qE -- "$pattern" <<<"$output"; then
		return
	fi
	echo "FAIL $*: exit status $status, expected $want and a line like: $pattern"
	echo "$output"
	failed=1
}

[ -x util/weft-run ] || { echo "no util/weft-run here"; exit 77; }

for script in weft-run weft-alternative; do
	expect 0 "^Usage: $script " util/$script --help
	expect 0 "^$script \\(weft\\) [0-9]" util/$script --version
	expect 2 "^Usage: $script " util/$script
	if grep -n '@' util/$script | grep -v '\$@'; then
		echo "FAIL $script: not filled in"
		failed=1
	fi
done
expect 2 'unknown option: --nonsense' util/weft-run --nonsense
expect 2 '^Usage: weft-alternative ' util/weft-alternative enable now
expect 2 'unknown command: nonsense' util/weft-alternative nonsense
expect 0 '^(enabled|disabled): ' util/weft-alternative status

# With directories of our own.
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
mkdir -p "$work/lib" "$work/tools"
for script in weft-run weft-alternative; do
	sed -e "s|^libdir=.*|libdir=$work/lib|" -e "s|^toolsdir=.*|toolsdir=$work/tools|" \
		-e "s|^conf=.*|conf=$work/conf/weft.conf|" -e 's/weft-libfabric1/no-such-package/' util/$script >"$work/$script"
	chmod +x "$work/$script"
done
cat >"$work/tools/fi_tool" <<'END'
#!/bin/sh
echo "$LD_LIBRARY_PATH: $#: $*"
exit 7
END
chmod +x "$work/tools/fi_tool"
expect 125 "^weft-run: $work/lib/libfabric.so.1 does not exist" "$work/weft-run" fi_tool
touch "$work/lib/libfabric.so.1"
unset LD_LIBRARY_PATH
expect 7 "^$work/lib: 2: a  b c\$" "$work/weft-run" fi_tool 'a  b' c
LD_LIBRARY_PATH=/x:/y expect 7 "^$work/lib:/x:/y: 0: \$" "$work/weft-run" fi_tool
expect 127 '^weft-run: fi_other: no such program$' "$work/weft-run" fi_other
expect 126 'Permission denied' "$work/weft-run" "$work"

# Only root may change anything.
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	user="setpriv --reuid=65534 --regid=65534 --clear-groups"
elif [ "$(id -u)" -ne 0 ]; then
	user=
else
	exit $failed
fi
# shellcheck disable=SC2086
for command in enable disable; do
	expect 1 "run '$command' as root" $user "$work/weft-alternative" $command
done
exit $failed
