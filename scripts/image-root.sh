#!/usr/bin/env bash
# Puts what the image has into a folder: image-root.sh ARCH FOLDER
# The programs are those of release-binaries.sh. glibc and the certificates are Debian's, downloaded by apt for that processor and unpacked.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/release-version.sh
arch=$1 root=$2
packages="libc6 ca-certificates"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/root"
options=(-o "APT::Architecture=$arch" -o "APT::Architectures=$arch" -o "Dir::State::lists=$work/lists" -o Dir::State::status=/dev/null
	-o "Dir::Cache=$work/cache" -o APT::Sandbox::User= -o Acquire::Retries=3 -q)
# shellcheck disable=SC2086
{ apt-get "${options[@]}" update && (cd "$work" && apt-get "${options[@]}" download $packages); } >"$work/log" 2>&1 ||
	{ tail -5 "$work/log" >&2; echo "image: Debian's packages cannot be had" >&2; exit 3; }
for package in "$work"/*.deb; do dpkg -x "$package" "$work/root"; done

umask 022
rm -rf "$root"
mkdir -p "$root"/{etc/ssl/certs,etc/otelcol-gpu,usr/local/bin,usr/share/doc/otelcol-gpu,tmp,var/lib/dpkg/status.d}
chmod 1777 "$root/tmp"
(cd "$work/root" && find . \( -name 'lib*.so.*' -o -name 'ld-linux*' -o -path './etc/ld.so.conf.d/*' -o -path './usr/share/doc/*/copyright' \) ! -path '*/gconv/*' -print0 |
	xargs -0 cp -a --parents -t "$root")
find "$work/root/usr/share/ca-certificates" -name '*.crt' | LC_ALL=C sort | xargs cat >"$root/etc/ssl/certs/ca-certificates.crt"
echo 'include /etc/ld.so.conf.d/*.conf' >"$root/etc/ld.so.conf"
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
printf 'root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n' >"$root/etc/passwd"
printf 'root:x:0:\nnonroot:x:65532:\n' >"$root/etc/group"
# Scanners look here for the packages of an image without dpkg.
for package in "$work"/*.deb; do
	dpkg-deb -f "$package" Package Version Architecture Maintainer Status Source >"$root/var/lib/dpkg/status.d/$(basename "${package%%_*}")"
done
cp "dist/release/bin/linux_$arch"/{otelcol-gpu,otelgpu} "$root/usr/local/bin/"
cp -r config/. "$root/etc/otelcol-gpu/"
cp LICENSE "$root/usr/share/doc/otelcol-gpu/copyright"
GOWORK=off CGO_ENABLED=0 go run -C tools/release -buildvcs=false ./sbom otelcol-gpu "$VERSION+$COMMIT" "$root"/usr/local/bin/* "$work"/*.deb \
	>"$root/usr/share/doc/otelcol-gpu/otelcol-gpu.cdx.json"
chmod -R u=rwX,go=rX "$root"/{etc,usr}
