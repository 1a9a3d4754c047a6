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
for path in internal/metadata internal/view/page/src/core/types.ts documentation.md generated_component_test.go generated_package_test.go README.md CONTRIBUTING.md docs deploy/helm deploy/kubernetes test/docs/evidence.tsv \
	exporter/internal/metadata exporter/generated_component_test.go exporter/generated_package_test.go \
	exporter/kubernetes/internal/metadata exporter/kubernetes/internal/metadatatest exporter/kubernetes/documentation.md exporter/kubernetes/generated_component_test.go exporter/kubernetes/generated_package_test.go \
	exporter/ledger/internal/metadata exporter/ledger/generated_component_test.go exporter/ledger/generated_package_test.go; do
	diff -r "$path" "$copy/checkout/$path" || { echo "generated files are out of date: run make generate" >&2; exit 1; }
done
mkdir "$copy/dashboards"
(cd tools/dashboards && go run . "$copy/dashboards")
diff -r deploy/grafana "$copy/dashboards" || { echo "deploy/grafana is out of date: run make dashboards" >&2; exit 1; }
cd "$copy/checkout"
for module in . exporter/ledger; do
	(cd "$module" && go mod tidy -diff) || { echo "$module/go.mod is not tidy: run go mod tidy there" >&2; exit 1; }
done
# What the distribution resolves newer than go.mod would be compiled a second time, and tested in another version than it is shipped.
go tool -modfile=tools/go.mod builder --config=builder-config.yaml --skip-compilation --skip-strict-versioning=false >"$copy/log" 2>&1 ||
	{ cat "$copy/log" >&2; exit 1; }
versions() { awk '$1 ~ /\./ && $2 ~ /^v/ {print $1, $2}' "$1" | LC_ALL=C sort; }
newer=$(LC_ALL=C join <(versions go.mod) <(versions dist/go.mod) | awk '$2 != $3 {print "-require=" $1 "@" $3}')
[ -z "$newer" ] || { echo "the distribution has other versions of modules: run go mod edit" $newer "and go mod tidy" >&2; exit 1; }
echo "generated files are up to date"
