#!/usr/bin/env bash
# Prints the path of a tar of a minimal Debian 12 with systemd's programs, which mmdebstrap makes from Debian's packages and which is kept.
# If it cannot be had, the script prints nothing and says why; tests that need it then report that they are skipped.
#
#   RELEASE_ROOT   the tar; ${XDG_CACHE_HOME:-~/.cache}/gpureceiver/debian-root.tar unless set
set -euo pipefail
file=${RELEASE_ROOT:-${XDG_CACHE_HOME:-$HOME/.cache}/gpureceiver/debian-root.tar}
skip() { echo "SKIP: test-release: packages are not tried in a fresh Debian: $*" >&2; exit 0; }
[ "$(id -u)" = 0 ] || skip "it needs root"
if [ ! -f "$file" ]; then
	mkdir -p "$(dirname "$file")"
	log=$(mktemp)
	trap 'rm -f "$log" "$file.partial"' EXIT
	if ! command -v mmdebstrap >/dev/null; then
		command -v apt-get >/dev/null || skip "mmdebstrap is missing"
		export DEBIAN_FRONTEND=noninteractive
		{ apt-get -q -o Acquire::Retries=3 update && apt-get -q -o Acquire::Retries=3 install -y --no-install-recommends mmdebstrap; } >"$log" 2>&1 ||
			{ tail -5 "$log" >&2; skip "mmdebstrap could not be installed"; }
	fi
	mmdebstrap --format=tar --variant=minbase --include=systemd,ca-certificates bookworm "$file.partial" >"$log" 2>&1 ||
		{ tail -5 "$log" >&2; skip "mmdebstrap made none"; }
	mv "$file.partial" "$file"
fi
echo "$file"
