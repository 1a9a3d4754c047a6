#!/usr/bin/env bash
# Runs the unit tests of the recording and alerting rules of deploy/prometheus: `make test-rules`. Prometheus's own promtool evaluates them.
# If it is not installed, the script reports that and claims no result.
set -euo pipefail
cd "$(dirname "$0")"
promtool=${PROMTOOL:-$(command -v promtool || true)}
if [ -z "$promtool" ]; then
	echo "test-rules: NOT CHECKED, promtool is not in PATH; on Debian: apt-get install --no-install-recommends prometheus" >&2
	exit 0
fi
"$promtool" check rules ../../deploy/prometheus/*.rules.yaml
"$promtool" check config ../../deploy/prometheus/prometheus.yaml
"$promtool" test rules ./*.test.yaml
