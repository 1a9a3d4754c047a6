#!/usr/bin/env bash
# Runs govulncheck over the module. Its database is on the network. If the database is not reachable, the script reports that and claims no
# result.
set -uo pipefail
cd "$(dirname "$0")/.."
out=$(go run golang.org/x/vuln/cmd/govulncheck@v1.1.4 ./... 2>&1)
code=$?
echo "$out"
if [ $code -ne 0 ] && grep -qiE 'no such host|connection refused|fetching vulnerabilities|dial tcp|timeout|Forbidden' <<<"$out"; then
	echo "vulnerabilities: NOT CHECKED, the database or govulncheck cannot be had here" >&2
	exit 0
fi
exit $code
