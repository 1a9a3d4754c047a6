// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package amdtools compares the receiver's reads of the amdgpu driver's files with the output of AMD's own tools for them: rocm-smi 5.2.3
// of Debian 12, rocm-smi 6.1.2 and amd-smi 24.5.2 (ROCm 6.1) of Debian 13. The tools are the real ones; the driver is simulated
// (test/amdgpusim).
//
// The tests need the tools, and root to give the tools a /sys and a /proc of their own. run.sh installs the tools and runs the tests.
// Without them the tests are skipped.
package amdtools
