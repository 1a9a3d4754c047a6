#!/bin/sh
# Nothing is started by an installation: where telemetry goes is to be said first. An upgrade restarts what runs.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart otelcol-gpu.service
fi
