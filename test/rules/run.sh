#!/usr/bin/env bash
# Runs the unit tests of the recording and alerting rules of deploy/prometheus: `make test-rules`. Prometheus's own promtool evaluates them.
# If it is not in PATH, it is taken from Debian's package prometheus, unpacked and not installed. If that cannot be had, the script reports it
# and claims no result.
#
#   PROMTOOL       another promtool
#   PROMTOOL_DIR   where it is kept; ${XDG_CACHE_HOME:-~/.cache}/gpureceiver/promtool unless set
set -euo pipefail
cd "$(dirname "$0")"
dir="${PROMTOOL_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/gpureceiver/promtool}"

# fetch unpacks the package into $1, with the sources of packages that this machine has.
fetch() {
	mkdir -p "$1/lists/partial"
	local options=(-o "Dir::State::lists=$1/lists" -o "Dir::Cache=$1/cache" -o APT::Sandbox::User= -q)
	apt-get "${options[@]}" update && (cd "$1" && apt-get "${options[@]}" download prometheus) && dpkg -x "$1"/prometheus_*.deb "$1/root"
}

promtool=${PROMTOOL:-$(command -v promtool || echo "$dir/root/usr/bin/promtool")}
if [ ! -x "$promtool" ]; then
	mkdir -p "$dir"
	partial=$(mktemp -d "$dir/partial.XXXXXX")
	trap 'rm -rf "$partial"' EXIT
	if ! command -v apt-get dpkg >/dev/null || ! fetch "$partial" >"$partial/log" 2>&1; then
		echo "test-rules: NOT CHECKED, promtool is not in PATH, and Debian's package prometheus cannot be had here" >&2
		exit 0
	fi
	mv -T "$partial/root" "$dir/root" 2>/dev/null || [ -x "$promtool" ] # another run may have been faster
fi
"$promtool" check rules ../../deploy/prometheus/*.rules.yaml
"$promtool" check config ../../deploy/prometheus/prometheus.yaml
"$promtool" test rules ./*.test.yaml
