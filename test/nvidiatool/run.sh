#!/bin/bash
# Copyright The gpureceiver Authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs the differential test with the real nvidia-smi, version 535 of Debian 12's non-free section, unpacked and not installed.
# Further arguments are passed to go test.
#
#   NVIDIA_TOOL_DIR   where it is kept; ${XDG_CACHE_HOME:-~/.cache}/gpureceiver/nvidiatool unless set
set -euo pipefail
cd "$(dirname "$0")"

dir="${NVIDIA_TOOL_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/gpureceiver/nvidiatool}"
tool="$dir/root/usr/lib/nvidia/current/nvidia-smi"

# fetch takes the package from the mirror that this machine's Debian uses. It writes nowhere but in $1.
fetch() {
  local apt="$1/apt" mirror
  mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | grep -m 1 '/debian/*$') || return
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror bookworm non-free" >"$apt/sources.list"
  local options=(-o "Dir::Etc::sourcelist=$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null -o "Dir::State::lists=$apt/lists"
    -o "Dir::Cache=$apt/cache" -o APT::Sandbox::User= -o Acquire::Retries=3 -q)
  apt-get "${options[@]}" update && (cd "$1" && apt-get "${options[@]}" download nvidia-smi) && dpkg -x "$1"/nvidia-smi_*.deb "$1/root"
}

if [ ! -x "$tool" ]; then
  if ! command -v apt-get dpkg >/dev/null || [ "$(uname -m)" != x86_64 ]; then
    echo "SKIP: test-nvidia-tool: the real nvidia-smi is taken from Debian's package for amd64, and this is another system" >&2
    exit 0
  fi
  mkdir -p "$dir"
  partial=$(mktemp -d "$dir/partial.XXXXXX")
  trap 'rm -rf "$partial"' EXIT
  if ! fetch "$partial" >"$partial/log" 2>&1; then
    tail -n 5 "$partial/log" >&2
    echo "SKIP: test-nvidia-tool: Debian's package nvidia-smi cannot be had here" >&2
    exit 0
  fi
  mv -T "$partial/root" "$dir/root" 2>/dev/null || [ -x "$tool" ] # another run may have been faster
fi
NVIDIA_SMI="$tool" ${GO_TEST:-go test} -count=1 -timeout 30m "$@" .
[ $# -gt 0 ] || NVIDIA_SMI="$tool" go test -count=1 -run TestDoctorCompareNVIDIA ../../cmd/otelgpu
