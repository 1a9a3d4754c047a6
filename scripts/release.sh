#!/usr/bin/env bash
# Writes what is released into dist/release: archives, deb and rpm, bills of materials (CycloneDX) and SHA256SUMS.
#   release.sh [OS/ARCH ...]     every target unless given
# Everything can be built again with the same bytes: see release-binaries.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/release-version.sh
umask 022
[ $# -gt 0 ] || set -- linux/amd64 linux/arm64 windows/amd64 darwin/amd64 darwin/arm64
out=$PWD/dist/release
rm -rf "$out"
left=0
scripts/release-binaries.sh "$@" || left=$?
[ $left = 0 ] || [ $left = 3 ] || exit $left
for tool in ./archive ./sbom github.com/goreleaser/nfpm/v2/cmd/nfpm; do
	GOWORK=off CGO_ENABLED=0 go build -C tools/release -buildvcs=false -o "$out/tools/" "$tool"
done

# stage OS_ARCH FOLDER: what every archive and package has.
stage() {
	mkdir -p "$2"
	cp -r config LICENSE "$2/"
	# Their links lead to pages that the archive does not have.
	local pages=https://github.com/otelgpu/gpureceiver/blob/main
	sed -E "s#\]\(\.\./\.\./#]($pages/#g; s#\]\(\.\./#]($pages/docs/#g; s#\]\(([A-Za-z-]+\.md)#]($pages/docs/start/\1#g" docs/start/install.md >"$2/INSTALL.md"
	sed -E "s#\]\(([^h#)])#]($pages/\1#g" CHANGELOG.md >"$2/CHANGELOG.md"
	cp "$out/bin/$1/"* "$2/"
	"$out/tools/sbom" otelcol-gpu "$VERSION+$COMMIT" "$out/bin/$1/"* >"$2/otelcol-gpu.cdx.json"
	chmod -R u=rwX,go=rX "$2" # whatever the umask of the checkout was
}

# glibc prints the oldest glibc that has every symbol that the programs in this folder use.
glibc() {
	grep -aohE 'GLIBC_[0-9]+\.[0-9]+(\.[0-9]+)?' otelcol-gpu otelgpu | sed 's/GLIBC_//' | sort -Vu | tail -1
}

for target in "$@"; do
	os=${target%/*} arch=${target#*/}
	[ -d "$out/bin/${os}_$arch" ] || continue
	name=otelcol-gpu_${VERSION}_${os}_$arch
	folder=$out/stage/$name
	stage "${os}_$arch" "$folder"
	cp "$folder/otelcol-gpu.cdx.json" "$out/$name.cdx.json"
	case $os in
	windows)
		cp deploy/package/without-nvml.txt "$folder/WITHOUT-NVML.txt"
		"$out/tools/archive" "$folder" "$out/$name.zip"
		;;
	darwin)
		cp deploy/package/without-nvml.txt "$folder/WITHOUT-NVML.txt"
		"$out/tools/archive" "$folder" "$out/$name.tar.gz"
		;;
	linux)
		cp deploy/systemd/otelcol-gpu.service "$folder/"
		cp -r deploy/slurm "$folder/"
		"$out/tools/archive" "$folder" "$out/$name.tar.gz"
		# A package's files are in /usr, what is installed by hand in /usr/local.
		sed -i 's|/usr/local/|/usr/|g' "$folder/otelcol-gpu.service"
		cp deploy/package/* "$folder/"
		chmod -R u=rwX,go=rX "$folder"
		for format in deb rpm; do
			(cd "$folder" && ARCH=$arch GLIBC=$(glibc) "$out/tools/nfpm" package --config nfpm.yaml --packager $format --target "$out/" >/dev/null)
		done
		;;
	esac
done
rm -rf "$out/stage" "$out/src" "$out/tools"
(cd "$out" && find . -maxdepth 1 -type f ! -name SHA256SUMS -printf '%P\n' | LC_ALL=C sort | xargs sha256sum >SHA256SUMS && cat SHA256SUMS)
exit $left
