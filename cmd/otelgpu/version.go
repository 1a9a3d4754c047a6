// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "runtime/debug"

// version is set by the linker in a release: the version, "+", the commit.
var version string

// buildVersion is the release's version. Without one it is the version of the module, which go install knows.
func buildVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
