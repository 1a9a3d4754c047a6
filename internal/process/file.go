// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"io"
	"os"
	"strconv"
)

// readBounded returns at most the first limit bytes of a file.
func readBounded(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name) //nolint:gosec // a file of the process table, or the configured passwd file
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, limit))
}

// path returns the name of a file of a process.
func (r *Reader) path(pid int64, file string) string {
	return r.root + "/" + strconv.FormatInt(pid, 10) + "/" + file
}
