#!/usr/bin/env bash
# Runs mdatagen for the receiver and the exporters, and writes the diagrams of docs/images, the versions in the documentation
# and the manifests, and the types of the page. mdatagen names the package
# of the generated tests after the folder of metadata.yaml, so each gets a link with the right name, whatever the checkout is called.
set -euo pipefail
cd "$(dirname "$0")/.."
link=$(mktemp -d)
trap 'rm -rf "$link"' EXIT
ln -s "$PWD" "$link/gpureceiver"
ln -s "$PWD/exporter" "$link/gpuviewexporter"
ln -s "$PWD/exporter/kubernetes" "$link/gpukubernetesexporter"
ln -s "$PWD/exporter/ledger" "$link/gpuledgerexporter"
cp go.mod "$link/go.mod" # mdatagen looks for it above the link
for component in gpureceiver gpuviewexporter gpukubernetesexporter gpuledgerexporter; do
	go tool -modfile=tools/go.mod mdatagen "$link/$component/metadata.yaml"
done
# The import path of what is generated follows the link, too.
sed -i 's|gpureceiver/gpukubernetesexporter/|gpureceiver/exporter/kubernetes/|' exporter/kubernetes/internal/metadatatest/*.go
(cd tools/diagrams && go run . ../../docs/images)
(cd tools/versions && go run . ../..)
(cd tools/pagetypes && go run .) <internal/view/api/openapi.json >internal/view/page/src/core/types.ts
