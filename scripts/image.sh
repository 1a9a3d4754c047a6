#!/usr/bin/env bash
# Builds the image by whichever of buildah, podman and docker is there, and writes it into dist/image as an archive that every container runtime
# imports: image.sh [ARCH ...], amd64 and arm64 unless given. Where none is there it installs buildah if it can.
# With buildah and podman the same commit gives the same image.
#
#   IMAGE   its name; docker.io/library/otelcol-gpu:VERSION, as the manifests have it, unless set
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/release-version.sh
[ $# -gt 0 ] || set -- amd64 arm64
IMAGE=${IMAGE:-docker.io/library/otelcol-gpu:$VERSION}
out=$PWD/dist/image
mkdir -p "$out"
log=$(mktemp)
trap 'rm -f "$log"' EXIT

find_engine() {
	for engine in buildah podman; do
		if command -v $engine >/dev/null; then return; fi
	done
	engine=docker
	if command -v docker >/dev/null && docker info >/dev/null 2>&1; then return; fi
	engine=buildah
	[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || { echo "image: none of buildah, podman and docker is here" >&2; exit 3; }
	export DEBIAN_FRONTEND=noninteractive
	{ apt-get -q -o Acquire::Retries=3 update && apt-get -q -o Acquire::Retries=3 install -y --no-install-recommends buildah; } >"$log" 2>&1 ||
		{ tail -5 "$log" >&2; echo "image: buildah could not be installed" >&2; exit 3; }
}
find_engine

created=$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)
labels=()
for label in title=otelcol-gpu "description=OpenTelemetry Collector with the GPU receiver" "version=$VERSION" "revision=$COMMIT" "created=$created" \
	licenses=Apache-2.0 source=https://github.com/otelgpu/gpureceiver; do
	labels+=(--label "org.opencontainers.image.$label")
done

for arch in "$@"; do
	[ "${RELEASE_BINARIES:-}" = built ] || scripts/release-binaries.sh "linux/$arch"
	context=$out/context_$arch
	scripts/image-root.sh "$arch" "$context/root"
	archive=$out/otelcol-gpu_${VERSION}_linux_$arch.oci.tar
	rm -f "$archive"
	build=(build --platform "linux/$arch" -f deploy/image/Containerfile -t "$IMAGE" "${labels[@]}")
	case $engine in
	buildah | podman)
		# Storage of its own, which needs no mounts: nothing of the machine's images is changed.
		storage=(--root "$out/storage" --runroot "$out/storage-run" --storage-driver vfs)
		$engine "${storage[@]}" "${build[@]}" --timestamp "$SOURCE_DATE_EPOCH" "$context" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
		$engine "${storage[@]}" push "$IMAGE" "oci-archive:$archive:$IMAGE" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
		$engine "${storage[@]}" rmi --all --force >/dev/null 2>&1 || true
		rm -rf "$out/storage" "$out/storage-run"
		;;
	docker)
		docker "${build[@]}" "$context" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
		docker save -o "$archive" "$IMAGE"
		;;
	esac
	cp "$context/root/usr/share/doc/otelcol-gpu/otelcol-gpu.cdx.json" "${archive%.oci.tar}.cdx.json"
	rm -rf "$context"
	echo "image: $archive, $(du -h "$archive" | cut -f1), by $engine" >&2
done
