#!/usr/bin/env bash
# Runs each fuzz test for a while: fuzz.sh 20s
# Go would make each input that is new smaller for up to a minute, which is longer than that: of documents it would try but a few.
set -euo pipefail
cd "$(dirname "$0")/.."
grep -rlE '^func Fuzz' --include='*_test.go' . | xargs -n1 dirname | sort -u | while read -r dir; do
	grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$dir"/*_test.go | sed 's/^func //' | while read -r name; do
		go test -run '^$' -fuzz "^$name\$" -fuzztime "$1" -fuzzminimizetime 1x "$dir"
	done
done
