#!/usr/bin/env bash
# Builds the distribution with ocb, unless the existing one was built from the same sources.
#   build-collector.sh dist/otelcol-gpu [builder-config.yaml]
set -euo pipefail
cd "$(dirname "$0")/.."
binary=$1 builder=${2:-builder-config.yaml}
# The stock distribution does not have the ledger.
without=./exporter/ledger
[ "$builder" = builder-config.yaml ] || without=./dist
# Not by git: the sources may come from an archive. What is embedded, such as the page, is a source too.
sources() {
	find . \( -path "$without" -o -path ./test -o -path ./cmd -o -path './tools/*/*' -o -path ./dist -o -path './.*' \) -prune -o \
		-type f \( -name '*.go' ! -name '*_test.go' -o -name go.mod -o -name go.sum -o -name "$builder" -o -path './exporter/ledger/*.sql' \) -print
	go list -f '{{$d := .Dir}}{{range .EmbedFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}' . ./internal/... ./exporter/... | sed "s|^$PWD/|./|"
}
stamp=$(sources | LC_ALL=C sort | xargs -d '\n' sha256sum | sha256sum)-$(go version | sha256sum)
if [ -x "$binary" ] && [ "$(cat "$binary.stamp" 2>/dev/null)" = "$stamp" ]; then
	exit 0
fi
echo "Building $binary (some minutes the first time)…" >&2
log=$(mktemp) config=$(mktemp)
trap 'rm -f "$log" "$config"' EXIT
[ -e .git ] || COMMIT=${COMMIT:-unknown} SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-0} # the sources may come from an archive
source scripts/release-version.sh
mkdir -p "$(dirname "$(dirname "$binary")")" # the builder makes the last folder only
builder_config "$(dirname "$binary")" "$builder" >"$config"
if ! go tool -modfile=tools/go.mod builder --config="$config" --skip-strict-versioning=false >"$log" 2>&1; then
	cat "$log" >&2
	exit 1
fi
echo "$stamp" >"$binary.stamp"
