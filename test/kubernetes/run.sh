#!/usr/bin/env bash
# Runs the end-to-end tests on a real single-node Kubernetes, which it starts and removes again. README.md beside it describes them.
# Arguments are passed to `go test`. If the machine does not allow such a node, it reports that and succeeds.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."

skip() { echo "SKIP: e2e: $*"; exit 0; }
[ "$(uname -s)" = Linux ] || skip "it needs Linux"
[ "$(id -u)" = 0 ] || skip "it needs root"
for program in ip unshare dpkg apt-get flock; do
	command -v "$program" >/dev/null || skip "it needs $program"
done
unshare --mount --net --uts --ipc ip link add e2e-probe type veth peer name e2e-other 2>/dev/null ||
	skip "this machine allows no network of its own: it needs namespaces and veth"
unshare --mount sh -c 'mount -t tmpfs tmpfs /run' 2>/dev/null || skip "this machine allows no mounts"
unshare --mount --net ip link add e2e-probe type bridge 2>/dev/null || skip "this machine has no bridges"
probe=$(find /sys/fs/cgroup -maxdepth 1 -name pids)
probe=${probe:-/sys/fs/cgroup}/gpureceiver-e2e-probe
mkdir "$probe" 2>/dev/null || skip "this machine allows no control groups"
rmdir "$probe"

export E2E_CACHE=${E2E_CACHE:-$PWD/.tools/kubernetes} E2E_INDEX=${E2E_INDEX:-0}
export OTELCOL_GPU=${OTELCOL_GPU:-$PWD/dist/otelcol-gpu}
[ -x "$OTELCOL_GPU" ] || { echo "e2e: there is no $OTELCOL_GPU: make otelcol-gpu" >&2; exit 1; }

# The image that is shipped, of the programs that make has built. image.sh ends with 3 if a program or package that it needs cannot be had; then
# the tests that run the image report that they are skipped.
if [ -z "${OTELCOL_GPU_IMAGE:-}" ]; then
	arch=$(go env GOARCH)
	image=0
	mkdir -p "dist/release/bin/linux_$arch"
	cp "$OTELCOL_GPU" bin/otelgpu "dist/release/bin/linux_$arch/"
	RELEASE_BINARIES=built scripts/image.sh "$arch" || image=$?
	case $image in
	0) OTELCOL_GPU_IMAGE=$(ls "$PWD"/dist/image/otelcol-gpu_*_linux_"$arch".oci.tar) ;;
	3) echo "SKIP: e2e: the image cannot be built here, so nothing that is shipped runs in pods" ;;
	*) echo "e2e: the image was not built" >&2; exit 1 ;;
	esac
fi
export OTELCOL_GPU_IMAGE

"$here/build.sh"
node=$E2E_CACHE/bin/node
tests=
down() {
	trap '' INT TERM
	[ -z "$tests" ] || kill -INT -- "-$tests" 2>/dev/null || true
	"$node" down ${E2E_KEEP:+-keep} # E2E_KEEP=1 leaves the node's logs
}
"$node" down # remains of a killed run
trap down EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
environment=$("$node" up)
eval "$environment"
# One package after the other: they freeze and end parts of the same node. Parallel tests of one package mostly wait. They run in a process
# group of their own: bash handles no signal before its foreground process has ended.
set -m
${GO_TEST:-go test} -count=1 -p 1 -parallel 8 -timeout 40m "$@" ./test/kubernetes/... ./test/clusterevents &
tests=$!
set +m
wait "$tests"
