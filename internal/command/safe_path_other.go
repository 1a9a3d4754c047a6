// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux && !darwin

package command

// CheckSafe accepts every path: owners and modes are those of Linux and macOS.
func CheckSafe(string) error { return nil }
