// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"io"
	"os"
)

// readBounded reads at most limit bytes of a file of any length.
func readBounded(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name) //nolint:gosec // a file of the process table, or the configured passwd
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, limit))
}
