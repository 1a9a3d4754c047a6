#!/usr/bin/env bash
# Builds the release for Linux on this machine's processor twice, in two folders, and tests what came out: the same bytes, and the packages
# in a fresh Debian. Without root or mmdebstrap the tests that need a fresh Debian report that they are skipped. Arguments are passed to go test.
#
#   RELEASE_ROOT   the tar of the Debian; ${XDG_CACHE_HOME:-~/.cache}/gpureceiver/debian-root.tar unless set
set -euo pipefail
cd "$(dirname "$0")/../.."
if [ "$(go env GOOS)" != linux ] || ! command -v dpkg-deb >/dev/null; then
	echo "SKIP: test-release: packages are built and tested on Debian's kind of Linux"
	exit
fi
target=linux/$(go env GOARCH)
source scripts/release-version.sh

# A checkout elsewhere, of another name, without git; and the module as a published version has it.
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
for folder in elsewhere module; do
	mkdir "$copy/$folder"
	git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$copy/$folder"
done
if ! command -v rpm >/dev/null; then
	if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
		{ apt-get -q -o Acquire::Retries=3 update && DEBIAN_FRONTEND=noninteractive apt-get -q -o Acquire::Retries=3 install -y --no-install-recommends rpm; } \
			>"$copy/log" 2>&1 || tail -5 "$copy/log" >&2
	fi
	command -v rpm >/dev/null || echo "SKIP: test-release: the rpm is built and not looked into: rpm is missing" >&2
fi
scripts/release.sh "$target"
(umask 077 && "$copy/elsewhere/scripts/release.sh" "$target" >/dev/null)

RELEASE_FIRST=$PWD/dist/release RELEASE_SECOND=$copy/elsewhere/dist/release RELEASE_ROOT=$(scripts/debian-root.sh) \
	RELEASE_MODULE=$copy/module \
	RELEASE_LIBRARY=$PWD/bin/nvmlsim/libnvidia-ml.so.1 go test -count=1 -timeout 30m "$@" ./test/release
