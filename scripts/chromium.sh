#!/usr/bin/env bash
# Installs Debian's Chromium with a font where it is missing and this user can. Where it cannot be had, the script says so;
# tests that need it then report that they are skipped.
set -euo pipefail
for name in chromium chromium-browser google-chrome; do
	if command -v "$name" >/dev/null; then exit; fi
done
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
	echo "SKIP: test-page: chromium is missing, and only root can install it with apt-get" >&2
	exit
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
if ! { apt-get -q -o Acquire::Retries=3 update && apt-get -q -o Acquire::Retries=3 install -y --no-install-recommends chromium fonts-dejavu-core; } >"$log" 2>&1; then
	tail -5 "$log" >&2
	echo "SKIP: test-page: chromium could not be installed" >&2
fi
