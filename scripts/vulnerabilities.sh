#!/usr/bin/env bash
# govulncheck over the module. Its database is on the network; where it cannot be had that is said, and nothing is claimed.
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
