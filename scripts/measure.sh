#!/usr/bin/env bash
# Measures what docs/operate/measurements.md states, and writes it there: measure.sh [SECTION...]. Without sections it measures all, for two hours.
# COST, FLEET, BURSTS and PODS are the variables of make for a shorter measurement, such as COST=-rounds=1 FLEET=-intervals=6 PODS=5000:500:120.
# Run `make generate` afterwards: it writes the figures into the other pages.
set -euo pipefail
cd "$(dirname "$0")/.."
page=docs/operate/measurements.md
output=$(mktemp)
trap 'rm -f "$output"' EXIT

# What each section runs, as the page shows it. The programs print Markdown.
command_of() {
	case $1 in
	node) echo "make cost${COST:+ COST=$COST}" ;;
	floor) echo 'make cost-floor' ;;
	amd) echo "go test -count=1 -v -run 'TestAMD$' ./test/collector" ;;
	gateway) echo 'make view-fleet' ;;
	page) echo 'test/page/run.sh -v -run TestFleetOf8000' ;;
	outside) echo "make fleet${FLEET:+ FLEET=$FLEET}" ;;
	events) echo "make events-load${BURSTS:+ BURSTS=$BURSTS}${PODS:+ PODS=$PODS}" ;;
	parts) echo "go test -run '^$' -bench 'FirstList|AskEvents|Syslog' ./internal/kube ./internal/nvml ./internal/kernellog" ;;
	*) echo "measure: there is no section $1" >&2 && return 1 ;;
	esac
}

# The lines of a test's log and the results of a benchmark, as a block; what is Markdown already stays as it is.
markdown() {
	if grep -qE '^(=== RUN|goos:)' "$output"; then
		echo '```text'
		sed -nE 's/^ +[a-z_0-9]+_test\.go:[0-9]+: //p; /^Benchmark/p' "$output"
		echo '```'
	else
		cat "$output"
	fi
}

for section in "${@:-node floor amd gateway page outside events parts}"; do
	for name in $section; do
		command=$(command_of "$name")
		echo "measure: $name: $command" >&2
		OTELCOL_GPU=$PWD/dist/otelcol-gpu bash -c "${command//make /make -s }" >"$output"
		{
			echo "\`$command\`, $(date -u +%F), commit $(git rev-parse --short=8 HEAD), $(nproc) cores of $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1):"
			echo
			markdown
		} >"$output.section"
		awk -v name="$name" -v file="$output.section" '
			$0 == "<!-- measured: " name " -->" { print; print ""; while ((getline line < file) > 0) print line; print ""; inside = 1; found = 1; next }
			$0 == "<!-- end of " name " -->" { inside = 0 }
			!inside { print }
			END { if (!found) { print "measure: " FILENAME " has no section " name > "/dev/stderr"; exit 1 } }' "$page" >"$output.page"
		cat -s "$output.page" >"$page"
		rm -f "$output.section" "$output.page"
	done
done
