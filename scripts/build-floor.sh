#!/usr/bin/env bash
# Builds the distribution with one more receiver, which reads nothing and knows its points (test/collector/cost/held).
#   build-floor.sh dist/floor
set -euo pipefail
cd "$(dirname "$0")/.."
out=$1
mkdir -p "$out"
awk -v out="./$out" '
	/output_path:/ { print "  output_path: " out; next }
	{ print }
	/^receivers:/ {
		print "  - gomod: github.com/otelgpu/gpureceiver v0.0.0"
		print "    import: github.com/otelgpu/gpureceiver/test/collector/cost/held"
	}' builder-config.yaml >"$out/builder-config.yaml"
echo "Building $out/otelcol-gpu (some minutes the first time)…" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! go tool -modfile=tools/go.mod builder --config="$out/builder-config.yaml" --skip-strict-versioning=false >"$log" 2>&1; then
	cat "$log" >&2
	exit 1
fi
