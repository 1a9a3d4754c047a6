#!/bin/sh
# $1 is "remove" for dpkg and 0 for rpm when the package is removed; an upgrade passes something else.
set -e
case "$1" in
remove | 0)
	if [ -d /run/systemd/system ]; then
		systemctl stop otelcol-gpu.service
	fi
	if command -v systemctl >/dev/null; then
		systemctl --no-reload disable otelcol-gpu.service >/dev/null 2>&1 || true # it may be masked
	fi
	;;
esac
