// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package command

// places returns nil: no vendor ships its tools for this operating system. A configured path still works.
func places(Tool) []place { return nil }
