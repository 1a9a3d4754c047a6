#!/usr/bin/env bash
# Tests the page in a real Chromium, and that what is committed of it is what its sources give. Arguments are go test's.
# It says so and skips where Chromium or npm is missing.
set -euo pipefail
cd "$(dirname "$0")/../.."
export OTELCOL_GPU=${OTELCOL_GPU:-$PWD/dist/otelcol-gpu} # whose page is tested on simulated nodes
[ -x "$OTELCOL_GPU" ] || { echo "test/page: there is no $OTELCOL_GPU: make otelcol-gpu" >&2; exit 1; }
scripts/chromium.sh
scripts/check-page.sh # installs axe-core, too
cd test/page
${GO_TEST:-go test} -count=1 -timeout 30m "$@" ./...
