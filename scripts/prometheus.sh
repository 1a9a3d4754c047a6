#!/usr/bin/env bash
# Prints a folder with the programs of Prometheus and of Alertmanager: the one of promtool in PATH if Debian's prometheus-alertmanager is there, too;
# else that of Debian's packages prometheus and prometheus-alertmanager, which are unpacked and not installed. If they cannot be had, the script
# prints the folder of promtool in PATH, or nothing; tests that need more then report that they are skipped.
#
#   PROMETHEUS_DIR   where they are kept; ${XDG_CACHE_HOME:-~/.cache}/gpureceiver/prometheus unless set
set -euo pipefail
dir="${PROMETHEUS_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/gpureceiver/prometheus}"
last=prometheus-alertmanager # the program that is not everywhere where promtool is

# fetch unpacks the packages into $1, with the sources of packages that this machine has.
fetch() {
	mkdir -p "$1/lists/partial"
	local options=(-o "Dir::State::lists=$1/lists" -o "Dir::Cache=$1/cache" -o APT::Sandbox::User= -o Acquire::Retries=3 -q)
	apt-get "${options[@]}" update && (cd "$1" && apt-get "${options[@]}" download prometheus prometheus-alertmanager) || return
	local package
	for package in "$1"/*.deb; do dpkg -x "$package" "$1/programs" || return; done
}

installed=$(command -v promtool) && installed=$(dirname "$installed") || installed=
if [ -n "$installed" ] && [ -x "$installed/$last" ]; then
	echo "$installed"
	exit
fi
if [ ! -x "$dir/programs/usr/bin/$last" ]; then
	partial=
	if command -v apt-get dpkg >/dev/null && mkdir -p "$dir" && partial=$(mktemp -d "$dir/partial.XXXXXX"); then
		trap 'rm -rf "$partial"' EXIT
	fi
	if [ -z "$partial" ] || ! fetch "$partial" >"$partial/log" 2>&1; then
		echo "$installed"
		exit
	fi
	mv -T "$partial/programs" "$dir/programs" 2>/dev/null || [ -x "$dir/programs/usr/bin/$last" ] # another run may have been faster
fi
echo "$dir/programs/usr/bin"
