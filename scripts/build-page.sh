#!/usr/bin/env bash
# Builds the page of the gpu_view exporter into the folder $1, internal/view/page/dist unless given, with the npm packages of its lock file.
# It says so and builds nothing where npm cannot be had: the built files are committed.
set -euo pipefail
cd "$(dirname "$0")/../internal/view/page/src"
out="$(realpath -m "${1:-../dist}")"
if ! command -v npm >/dev/null; then
	echo "the page is not built: npm is missing; install Node.js 20 or newer" >&2
	exit 3
fi
# The packages are as the lock file says already where a run before this one has installed them.
if ! cmp -s package-lock.json node_modules/.gpureceiver-lock; then
	npm ci --fetch-retries 5 --ignore-scripts --no-audit --no-fund >&2
	cp package-lock.json node_modules/.gpureceiver-lock
fi
npm run --silent check
npm run --silent build -- "$out"
