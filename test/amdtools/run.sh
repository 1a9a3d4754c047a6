#!/bin/bash
# Copyright The gpureceiver Authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs the differential tests with AMD's real tools: rocm-smi of Debian 12, rocm-smi and amd-smi of Debian 13, each from a Debian system in
# a directory of its own, which is created once and kept. Further arguments are passed to go test.
#
#   AMD_TOOLS_DIR   where the systems are kept; ${XDG_CACHE_HOME:-~/.cache}/gpureceiver/amdtools unless set
#
# It needs root, for debootstrap and to mount the simulated driver's files in a namespace of the tools.
set -euo pipefail
cd "$(dirname "$0")"

if [ "$(id -u)" -ne 0 ]; then
  echo "SKIP: test-amd-tools: needs root, for debootstrap and for mounting simulated files in a namespace" >&2
  exit 0
fi
export AMD_TOOLS_DIR="${AMD_TOOLS_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/gpureceiver/amdtools}"
mkdir -p "$AMD_TOOLS_DIR"
partial=$(mktemp -d "$AMD_TOOLS_DIR/partial.XXXXXX")
trap 'rm -rf "$partial"' EXIT

# system RELEASE PACKAGES makes a Debian system with the packages, unless there is one.
system() {
  local release=$1 packages=$2
  [ -e "$AMD_TOOLS_DIR/$release" ] && return
  if [ "$release" = bookworm ] && grep -qs '^VERSION_CODENAME=bookworm$' /etc/os-release &&
    dpkg-query --show rocm-smi procps >/dev/null 2>&1; then
    ln -s / "$AMD_TOOLS_DIR/$release" # this machine is such a system
    return
  fi
  local try
  for try in 1 2 3; do # a download may fail
    debootstrap --variant=minbase --include="$packages" "$release" "$partial/$release" >"$partial/$release.log" 2>&1 && break
    tail -n 20 "$partial/$release.log" >&2
    if [ "$try" = 3 ]; then
      echo "amdtools: no Debian $release could be made in $AMD_TOOLS_DIR" >&2
      return 1
    fi
    rm -rf --one-file-system "${partial:?}/$release"
    sleep 10
  done
  # Another run may have been faster.
  mv -T "$partial/$release" "$AMD_TOOLS_DIR/$release" 2>/dev/null || [ -e "$AMD_TOOLS_DIR/$release" ]
}

if [ ! -e "$AMD_TOOLS_DIR/bookworm" ] || [ ! -e "$AMD_TOOLS_DIR/trixie" ]; then
  if ! command -v debootstrap >/dev/null; then
    retries=(-o Acquire::Retries=3)
    apt-get install --yes --quiet debootstrap >/dev/null ||
      { apt-get "${retries[@]}" update --quiet && apt-get "${retries[@]}" install --yes --quiet debootstrap; } >/dev/null
  fi
  system bookworm rocm-smi,procps &
  first=$!
  system trixie rocm-smi,amd-smi,procps
  wait "$first"
fi

# The differences are explained for these versions only.
version() { chroot "$AMD_TOOLS_DIR/$1" dpkg-query --show --showformat='${Version}' "$2"; }
check() {
  local found
  found=$(version "$1" "$2")
  case $found in
    "$3"*) ;;
    *) echo "amdtools: $2 of Debian $1 is $found, not $3: review the differences" >&2 ;;
  esac
}
check bookworm rocm-smi 5.2.3
check trixie rocm-smi 6.1.2
check trixie amd-smi 6.1.2

${GO_TEST:-go test} -count=1 -timeout 30m "$@" .
[ $# -gt 0 ] || go test -count=1 -run TestDoctorCompareAMD ../../cmd/otelgpu
