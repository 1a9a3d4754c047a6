#!/usr/bin/env bash
# Builds the page and fails if the result differs from what is committed. It says so and skips if npm is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v npm >/dev/null; then
	echo "SKIP: test-page: internal/view/page/dist was not compared with its sources: npm is missing"
	exit
fi
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
scripts/build-page.sh "$built"
diff -rq internal/view/page/dist "$built" || { echo "the built page is out of date: run make page" >&2; exit 1; }
echo "the built page is up to date"
