#!/usr/bin/env bash
# Prints a folder with Prometheus's programs: the one of promtool in PATH, else that of Debian's package prometheus, which is unpacked and not
# installed. If it cannot be had, the script prints nothing; tests that need it then report that they are skipped.
#
#   PROMETHEUS_DIR   where it is kept; ${XDG_CACHE_HOME:-~/.cache}/gpureceiver/prometheus unless set
set -euo pipefail
dir="${PROMETHEUS_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/gpureceiver/prometheus}"

# fetch unpacks the package into $1, with the sources of packages that this machine has.
fetch() {
	mkdir -p "$1/lists/partial"
	local options=(-o "Dir::State::lists=$1/lists" -o "Dir::Cache=$1/cache" -o APT::Sandbox::User= -o Acquire::Retries=3 -q)
	apt-get "${options[@]}" update && (cd "$1" && apt-get "${options[@]}" download prometheus) && dpkg -x "$1"/prometheus_*.deb "$1/root"
}

if installed=$(command -v promtool); then
	dirname "$installed"
	exit
fi
if [ ! -x "$dir/root/usr/bin/promtool" ]; then
	command -v apt-get dpkg >/dev/null || exit 0
	mkdir -p "$dir"
	partial=$(mktemp -d "$dir/partial.XXXXXX")
	trap 'rm -rf "$partial"' EXIT
	fetch "$partial" >"$partial/log" 2>&1 || exit 0
	mv -T "$partial/root" "$dir/root" 2>/dev/null || [ -x "$dir/root/usr/bin/promtool" ] # another run may have been faster
fi
echo "$dir/root/usr/bin"
