#!/usr/bin/env bash
# Builds otelcol-gpu and otelgpu as they are released into dist/release/bin/OS_ARCH:
#   release-binaries.sh linux/amd64 linux/arm64 ...
# The same sources and compilers give the same bytes, in whatever folder they are built. For Linux NVML needs cgo, so another processor needs
# a C compiler for it, which the script installs where it can. Without that the target is left out, and the script ends with 3.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/release-version.sh
out=dist/release
src=$out/src
mkdir -p "$src"

# Not from the environment: what Go is given is in the bytes.
export GOWORK=off GOFLAGS=-buildvcs=false CGO_CFLAGS="-O2 -g -Wno-deprecated-declarations" GOTOOLCHAIN=local
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# The distribution's sources.
builder_config "$src" >"$src/builder-config.yaml"
go tool -modfile=tools/go.mod builder --config="$src/builder-config.yaml" --skip-compilation --skip-strict-versioning=false >"$log" 2>&1 ||
	{ cat "$log" >&2; exit 1; }

# compiler prints the C compiler for Linux on $1.
compiler() {
	[ "$1" != "$(go env GOHOSTARCH)" ] || [ "$(go env GOHOSTOS)" != linux ] || { echo gcc; return; }
	local triple
	case $1 in
	arm64) triple=aarch64-linux-gnu ;;
	amd64) triple=x86-64-linux-gnu ;;
	*) return 1 ;;
	esac
	local program=${triple/x86-64/x86_64}-gcc
	if ! command -v "$program" >/dev/null; then
		[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
		DEBIAN_FRONTEND=noninteractive
		export DEBIAN_FRONTEND
		{ apt-get -q -o Acquire::Retries=3 update && apt-get -q install -y --no-install-recommends "gcc-$triple" "libc6-dev-$1-cross"; } >"$log" 2>&1 || return 1
	fi
	echo "$program"
}

left=0
for target in "$@"; do
	export GOOS=${target%/*} GOARCH=${target#*/} CGO_ENABLED=0 CC=
	suffix=
	case $GOOS in
	linux)
		CC=$(GOOS='' GOARCH='' compiler "$GOARCH") || {
			echo "release: LEFT OUT: $target: no C compiler for it here, and NVML needs one" >&2
			left=3
			continue
		}
		CGO_ENABLED=1
		;;
	windows) suffix=.exe ;;
	esac
	folder=$PWD/$out/bin/${GOOS}_$GOARCH
	mkdir -p "$folder"
	echo "release: building $target" >&2
	(cd "$src" && go build -trimpath -ldflags "-s -w -buildid=" -o "$folder/otelcol-gpu$suffix" .) >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
	go build -trimpath -ldflags "-s -w -buildid= -X main.version=$VERSION+$COMMIT" -o "$folder/otelgpu$suffix" ./cmd/otelgpu >"$log" 2>&1 ||
		{ cat "$log" >&2; exit 1; }
done
exit $left
