#!/usr/bin/env bash
# Builds or downloads the parts of the end-to-end test's node into .tools/kubernetes (E2E_CACHE): etcd, containerd, runc and the CNI plugins
# from Debian's packages, unpacked and not installed, and the Kubernetes servers, which Go builds from build/kubernetes/go.mod. Existing
# parts of the right version are kept. The first build takes about 8 minutes on 2 cores; Go's build cache makes the next ones short.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${E2E_CACHE:-$here/../../.tools/kubernetes}
mkdir -p "$cache/bin/cni" && cache=$(cd "$cache" && pwd)

# One build at a time in a checkout.
exec 8>"$cache/lock"
flock 8

say() { echo "kubernetes: $*"; }

# same STAMP VALUE: reports whether the stamp holds the value already.
same() { [ -f "$cache/$1.stamp" ] && [ "$(cat "$cache/$1.stamp")" = "$2" ]; }

# The kubelet of 1.37 takes the container runtime of Debian 12 (containerd 1.6, runc 1.1) and the API server takes etcd 3.4.
packages="etcd-server containerd runc containernetworking-plugins busybox-static"
if ! same packages "$packages"; then
	rm -rf "$cache/packages" "$cache/root"
	mkdir -p "$cache/packages" "$cache/root"
	# Without lists of packages, as in a bare container, apt finds nothing.
	# shellcheck disable=SC2086
	(cd "$cache/packages" && { apt-get download -q $packages || { apt-get update -q -o Acquire::Retries=3 && apt-get download -q -o Acquire::Retries=3 $packages; }; }) >"$cache/packages.log" 2>&1 ||
		{ cat "$cache/packages.log" >&2; exit 1; }
	for package in "$cache"/packages/*.deb; do dpkg -x "$package" "$cache/root"; done
	cp "$cache"/root/usr/bin/{etcd,containerd,containerd-shim-runc-v2,ctr} "$cache"/root/usr/sbin/runc "$cache"/root/bin/busybox "$cache/bin/"
	cp "$cache"/root/usr/lib/cni/{bridge,loopback,host-local} "$cache/bin/cni/"
	rm -rf "$cache/packages" "$cache/root"
	echo "$packages" >"$cache/packages.stamp"
	say "etcd, containerd, runc, CNI plugins and busybox unpacked"
fi
[ "${1:-}" = packages ] && exit

version=$(sed -n 's#^\(require \|\t\)k8s.io/kubernetes \(v[0-9.]*\)$#\2#p' "$here/build/kubernetes/go.mod" | head -1)
key="$(sha256sum <"$here/build/kubernetes/go.sum") $(go env GOVERSION GOARCH | tr '\n' ' ')"
if ! same servers "$key"; then
	minor=${version#v1.}
	p=k8s.io/component-base/version
	flags="-s -w -X $p.gitVersion=$version -X $p.gitMajor=1 -X $p.gitMinor=${minor%%.*} -X $p.gitTreeState=clean"
	for server in kube-apiserver kube-controller-manager kube-scheduler kubelet; do
		started=$SECONDS
		(cd "$here/build/kubernetes" && CGO_ENABLED=0 GOWORK=off GOFLAGS=-buildvcs=false nice -n 5 \
			go build -trimpath -p "${E2E_BUILD_JOBS:-2}" -ldflags "$flags" -o "$cache/bin/$server" "k8s.io/kubernetes/cmd/$server")
		say "$server $version built in $((SECONDS - started)) s"
	done
	echo "$key" >"$cache/servers.stamp"
fi

# Our own programs, built every time: Go's cache makes that quick.
(cd "$here/../.." && CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o "$cache/bin/" ./test/kubernetes/node ./test/kubernetes/pause)
