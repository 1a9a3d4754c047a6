#!/bin/sh
# The user that the unit names. It owns nothing; its group may read the configuration.
set -e
getent group otelcol-gpu >/dev/null || groupadd --system otelcol-gpu
getent passwd otelcol-gpu >/dev/null ||
	useradd --system --gid otelcol-gpu --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin otelcol-gpu
