#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# hmem_on.sh KIND: the tests of device memory once more, on the fake GPU of this kind. Needs WEFT_BUILD, the build directory.

set -u

programs=${WEFT_BUILD:?the build directory}/tests/functional
unset FI_PROVIDER FI_LOG_LEVEL

if [ -z "${WEFT_DEVICE:-}" ]; then
	echo "WEFT_DEVICE is not set: run this with tests/vm/run"
	exit 77
fi

export FALSE_GPU=${1:?the kind of GPU}
for name in hint_sets_gpu hmem_msg_atomic hmem_msg_ping hmem_rdm_msg hmem_rdm_permitted hmem_rdm_rma hmem_rdm_unmapped hmem_refused; do
	output=$("$programs/$name" 2>&1) || {
		echo "$name: exit status $?"
		echo "$output"
		exit 1
	}
done
