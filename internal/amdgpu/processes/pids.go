// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"slices"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/sysfs"
)

// listPIDs returns the processes that have an entry in a directory, in order, and whether there may be more.
func listPIDs(dir string) (pids []int64, truncated bool, err error) {
	names, err := sysfs.Names(dir, maxEntries)
	for _, name := range names {
		if pid, ok := sysfs.ParseUint(name); ok && pid > 0 && pid < 1<<31 {
			pids = append(pids, int64(pid))
		}
	}
	slices.Sort(pids)
	return pids, len(names) == maxEntries, err
}
