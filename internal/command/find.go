// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package command

// Find returns the path of the tool that a Local without a configured path would run. The error wraps ErrNotFound.
func Find(tool Tool) (path string, err error) {
	path, _, err = find(tool, "", places(tool))
	return path, err
}
