# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Sourced by tests that run others once more, with other variables. Needs WEFT_BUILD, the build directory.

build=${WEFT_BUILD:?the build directory}
unset FI_PROVIDER FI_LOG_LEVEL
if [ -z "${WEFT_DEVICE:-}" ]; then
	echo "WEFT_DEVICE is not set: run this with tests/vm/run"
	exit 77
fi

# programs NAME... VARIABLE=VALUE...: each program with these variables
programs()
{
	local name program output variables=()

	for name; do
		case $name in *=*) variables+=("$name") ;; esac
	done
	for name; do
		case $name in *=*) continue ;; esac
		# The script that libtool may put beside the program would be preloaded, too.
		program=$build/tests/functional/.libs/$name
		[ -x "$program" ] || program=$build/tests/functional/$name
		output=$(env LD_LIBRARY_PATH="$build/.libs" "${variables[@]}" "$program" 2>&1) || {
			echo "$name with ${variables[*]}: exit status $?: $output"
			exit 1
		}
	done
}

# on_adapter NAME... VARIABLE=VALUE...: the same on devices that look like Elastic Fabric Adapters
on_adapter()
{
	programs "$@" WEFT_PROVIDER=efa "LD_PRELOAD=$build/tests/efa/.libs/fake.so"
}
