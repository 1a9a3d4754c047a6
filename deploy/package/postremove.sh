#!/bin/sh
# $1 is "purge" where dpkg removes the configuration, too. rpm has no such step; it keeps changed files as .rpmsave, and the user.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
if [ "$1" = purge ]; then
	rm -rf /etc/otelcol-gpu /etc/systemd/system/otelcol-gpu.service.d /var/lib/otelcol-gpu /var/lib/private/otelcol-gpu
	if getent passwd otelcol-gpu >/dev/null; then
		userdel otelcol-gpu
	fi
	if getent group otelcol-gpu >/dev/null; then
		groupdel otelcol-gpu
	fi
fi
