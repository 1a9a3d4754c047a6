// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package release tests what scripts/release.sh writes: the same bytes twice, the contents of archives and packages, and a package's life
// in a fresh Debian. run.sh builds it and passes its path; without it every test skips.
package release
