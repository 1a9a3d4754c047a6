#!/usr/bin/env bash
# Runs the unit tests of the recording and alerting rules of deploy/prometheus: `make test-rules`. Prometheus's own promtool evaluates them.
# If it cannot be had, the script reports it and claims no result.
set -euo pipefail
cd "$(dirname "$0")"
programs=$(../../scripts/prometheus.sh)
promtool=${PROMTOOL:-$programs/promtool}
if [ ! -x "$promtool" ]; then
	echo "SKIP: test-rules: promtool is not in PATH, and Debian's package prometheus cannot be had here" >&2
	exit 0
fi
"$promtool" check rules ../../deploy/prometheus/*.rules.yaml
"$promtool" check config ../../deploy/prometheus/prometheus.yaml
"$promtool" check config ../../deploy/prometheus/prometheus-machine.yaml
"$promtool" test rules ./*.test.yaml

# Once more with the names by which the collectors' own metrics come over OTLP, and with an instance's id in place of its address.
copies=$(mktemp -d)
trap 'rm -rf "$copies"' EXIT
for file in *.test.yaml; do
	grep -qE "otelcol_|:(8888|9400)" "$file" || continue # nothing in it has another name
	sed -E "s/otelcol_gpu_read_age\b/&_seconds/g; s/otelcol_gpu_read_success\b/&_ratio/g; s/otelcol_gpu_(events_dropped|kubernetes_dropped|kubernetes_refused)\b/&_total/g; s/:(8888|9400)\b//g; s/otelcol_(exporter|processor)_\w+_(metric_points|log_records)\b/&_total/g; s|\.\./\.\./deploy|$PWD/../../deploy|" \
		"$file" >"$copies/$file"
done
"$promtool" test rules "$copies"/*.test.yaml

# The queries of docs/operate/queries.md: go test alone skips them where promtool is not in PATH.
PATH="$(dirname "$promtool"):$PATH" ${GO_TEST:-go test} -count=1 .

# The ledger and the rules on the same day.
cd ../../exporter/ledger
PATH="$(dirname "$promtool"):$PATH" ${GO_TEST:-go test} -count=1 -run '^TestRulesAgreeWithTheLedger$' .
