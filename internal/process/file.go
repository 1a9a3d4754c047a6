// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"io"
	"os"
	"strconv"
)

const defaultRoot = "/proc"

// readBounded returns at most the first limit bytes of a file.
func readBounded(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name) //nolint:gosec // a file of the process table, or the configured passwd file
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, limit))
}

// processFile returns the name of a file of a process in the process table at root.
func processFile(root string, pid int64, file string) string {
	return root + "/" + strconv.FormatInt(pid, 10) + "/" + file
}

// unanswered returns an error that names the processes whose file did not answer; nil if there are none.
func unanswered(root, file string, pids []int64) error {
	if len(pids) == 0 {
		return nil
	}
	const shown = 10
	return fmt.Errorf("process: read %s: the %s of %d processes did not answer in time, of %v first; a driver that hangs may hold their locks",
		root, file, len(pids), pids[:min(len(pids), shown)])
}
