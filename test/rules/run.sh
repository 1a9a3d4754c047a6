#!/usr/bin/env bash
# The recording and alerting rules of deploy/prometheus against their unit tests: `make test-rules`. Prometheus's own
# promtool evaluates them; where it is not installed that is said, and nothing is claimed.
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
