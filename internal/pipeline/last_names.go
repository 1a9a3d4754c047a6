// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"cmp"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// lastNames are the names of processes, by PID, as they were sent since the second-last read. An error may end a process before its line in the
// kernel's log is read, and a read may come between.
type lastNames [2]map[int64]string

func (l *lastNames) set(node *gpu.Node) {
	if node.Failure != nil {
		return
	}
	names := make(map[int64]string, len(node.Processes))
	for i := range node.Processes {
		if p := &node.Processes[i]; p.Executable != "" {
			names[p.PID] = p.Executable
		}
	}
	l[0], l[1] = names, l[0]
}

// get returns the name of a process: now, if it still can be read, else the last one, else comm, which is then the last one.
func (l *lastNames) get(pid int64, now, comm string) string {
	name := cmp.Or(now, l[0][pid], l[1][pid], comm)
	if l[0] == nil {
		l[0] = map[int64]string{}
	}
	remember(l[0], pid, name)
	return name
}
