#!/usr/bin/env bash
# Prints the path of a Prometheus that takes OTLP, which Debian's does not. It is built from tools/prometheus/go.mod when that changes, without
# service discovery and without the web pages' assets. If it cannot be built, the script prints nothing; tests that need it then report that
# they are skipped.
#
#   PROMETHEUS_OTLP_DIR   where it is kept; ${XDG_CACHE_HOME:-~/.cache}/gpureceiver/prometheus-otlp unless set
set -euo pipefail
cd "$(dirname "$0")/../tools/prometheus"
dir="${PROMETHEUS_OTLP_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/gpureceiver/prometheus-otlp}"
version=$(sed -n 's|.*github.com/prometheus/prometheus v\([0-9.]*\).*|\1|p' go.mod)
binary="$dir/prometheus-$version"

mkdir -p "$dir"
exec 9>"$dir/lock"
flock 9 # packages' tests run side by side; one builds
if [ ! -x "$binary" ]; then
	CGO_ENABLED=0 GOWORK=off go build -tags remove_all_sd -trimpath -ldflags=-s -o "$binary.partial" github.com/prometheus/prometheus/cmd/prometheus \
		9>&- >"$dir/log" 2>&1 || exit 0
	mv "$binary.partial" "$binary"
fi
echo "$binary"
