#!/usr/bin/env bash
# Runs each fuzz test for a while: fuzz.sh 20s [package ...]
# A failure does not end the run: the others still get their time, and the end lists what failed.
# Minimization is off: Go would spend up to a minute on each new input, which is longer than the whole run.
set -euo pipefail
cd "$(dirname "$0")/.."
time=$1
shift
failed=()
passed=0
while read -r dir; do
	while read -r name; do
		if go test -run '^$' -fuzz "^$name\$" -fuzztime "$time" -fuzzminimizetime 1x "$dir"; then
			passed=$((passed + 1))
		else
			failed+=("$dir $name")
		fi
	done < <(grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$dir"/*_test.go | sed 's/^func //')
done < <(grep -rlE '^func Fuzz' --include='*_test.go' "${@:-.}" | xargs -n1 dirname | sed "s|^[^./]|./&|" | sort -u)
for f in "${failed[@]}"; do
	echo "fuzz: FAILED: $f" >&2
done
echo "fuzz: $passed passed, ${#failed[@]} failed"
[ ${#failed[@]} -eq 0 ]
