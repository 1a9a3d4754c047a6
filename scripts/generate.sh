#!/usr/bin/env bash
# Runs mdatagen. It names the package of the generated tests after the folder of metadata.yaml, so it is given one of the
# right name, whatever the checkout is called. Then points are made to take room for their attributes at once.
set -euo pipefail
cd "$(dirname "$0")/.."
link=$(mktemp -d)
trap 'rm -rf "$link"' EXIT
ln -s "$PWD" "$link/gpureceiver"
go tool -modfile=tools/go.mod mdatagen "$link/gpureceiver/metadata.yaml"

generated=internal/metadata/generated_metrics.go
awk -f scripts/presize.awk "$generated" >"$link/presized.go"
cat "$link/presized.go" >"$generated"
