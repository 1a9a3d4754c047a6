#!/usr/bin/env bash
# Runs mdatagen. mdatagen names the package of the generated tests after the folder of metadata.yaml, so it gets a link with the
# right name, whatever the checkout is called.
set -euo pipefail
cd "$(dirname "$0")/.."
link=$(mktemp -d)
trap 'rm -rf "$link"' EXIT
ln -s "$PWD" "$link/gpureceiver"
go tool -modfile=tools/go.mod mdatagen "$link/gpureceiver/metadata.yaml"
