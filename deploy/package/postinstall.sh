#!/bin/sh
# An installation starts nothing: first set where telemetry goes. An upgrade restarts what runs.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart otelcol-gpu.service
fi
