// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package command

// places: no vendor ships its tools for this operating system; a configured path is still honoured.
func places(Tool) []place { return nil }
