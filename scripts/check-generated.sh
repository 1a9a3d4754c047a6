#!/usr/bin/env bash
# Generates into a copy and fails if the result differs from what is committed.
set -euo pipefail
cd "$(dirname "$0")/.."
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
# Not called gpureceiver: the name of the checkout must not matter.
mkdir "$copy/checkout"
git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$copy/checkout"
"$copy/checkout/scripts/generate.sh"
for path in internal/metadata documentation.md generated_component_test.go generated_package_test.go README.md CONTRIBUTING.md docs deploy/helm deploy/kubernetes test/docs/evidence.tsv \
	exporter/internal/metadata exporter/generated_component_test.go exporter/generated_package_test.go \
	exporter/kubernetes/internal/metadata exporter/kubernetes/internal/metadatatest exporter/kubernetes/documentation.md exporter/kubernetes/generated_component_test.go exporter/kubernetes/generated_package_test.go; do
	diff -r "$path" "$copy/checkout/$path" || { echo "generated files are out of date: run make generate" >&2; exit 1; }
done
mkdir "$copy/dashboards"
(cd tools/dashboards && go run . "$copy/dashboards")
diff -r deploy/grafana "$copy/dashboards" || { echo "deploy/grafana is out of date: run make dashboards" >&2; exit 1; }
cp go.mod go.sum "$copy/"
go mod tidy
if ! diff go.mod "$copy/go.mod" || ! diff go.sum "$copy/go.sum"; then
	cp "$copy/go.mod" "$copy/go.sum" .
	echo "go.mod is not tidy: run go mod tidy" >&2
	exit 1
fi
echo "generated files are up to date"
