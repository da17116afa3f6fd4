#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The closing line of a test run: total.sh PASSED FAILED SKIPPED
set -euo pipefail

if [ "$3" -gt 0 ]; then
	printf '%d passed, %d failed, %d skipped\n' "$1" "$2" "$3"
else
	printf '%d passed, %d failed\n' "$1" "$2"
fi
