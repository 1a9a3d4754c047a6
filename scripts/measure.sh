#!/usr/bin/env bash
# Prints what docs/operate/performance.md states: measure.sh [SECTION...]. Without sections it measures all, for two hours.
# COST, FLEET, BURSTS and PODS are the variables of make for a shorter measurement, such as COST=-rounds=1 FLEET=-intervals=6 PODS=5000:500:120.
set -euo pipefail
cd "$(dirname "$0")/.."

command_of() {
	case $1 in
	node) echo "make -s cost${COST:+ COST=$COST}" ;;
	floor) echo 'make -s cost-floor' ;;
	amd) echo "go test -count=1 -v -run 'TestAMD$' ./test/collector" ;;
	gateway) echo 'make -s view-fleet' ;;
	page) echo 'test/page/run.sh -v -run TestFleetOf8000' ;;
	outside) echo "make -s fleet${FLEET:+ FLEET=$FLEET}" ;;
	events) echo "make -s events-load${BURSTS:+ BURSTS=$BURSTS}${PODS:+ PODS=$PODS}" ;;
	parts) echo "go test -run '^$' -bench 'FirstList|AskEvents|Syslog' ./internal/kube ./internal/nvml ./internal/kernellog" ;;
	*) echo "measure: there is no section $1" >&2 && return 1 ;;
	esac
}

[ $# -gt 0 ] || set -- node floor amd gateway page outside events parts
for section; do
	command=$(command_of "$section")
	echo "$section: $command, $(date -u +%F), commit $(git rev-parse --short=8 HEAD), $(nproc) cores of $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1)"
	OTELCOL_GPU=$PWD/dist/otelcol-gpu bash -c "$command"
	echo
done
