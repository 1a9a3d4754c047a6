// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"fmt"
	"strings"

	gpureceiver "github.com/otelgpu/gpureceiver/receiver"
)

// readNode says what this node has for attribution: its process table, its kubelet, Slurm and its container runtimes. Without GPUs no source
// would ask them.
func readNode(ctx context.Context, receiver string, e *gpureceiver.Examination) []Section {
	s := Section{Name: receiver + ": attribution"}
	table, err := e.CheckProcessTable()
	switch {
	case err != nil:
		s.add(Note, "process table", err.Error()) // if there are GPUs, it is a failure of their source
	case table && e.AcceptsAnyProcessTable():
		s.add(Note, "process table", "not checked for missing processes, because any_pid_namespace is true")
	case table:
		s.add(OK, "process table", "shows all processes of the machine")
	}
	if kubelet := e.ReadKubelet(ctx); kubelet != nil {
		if kubelet.Err != nil {
			s.add(Failed, "kubelet", kubelet.Err.Error())
		} else {
			s.add(OK, "kubelet", fmt.Sprintf("%s: %d pods, %d allocated devices", kubelet.Endpoint, kubelet.Pods, kubelet.Devices))
		}
	}
	if jobs := e.ReadSlurm(); jobs != nil {
		if jobs.Err != nil {
			s.add(Failed, "Slurm", jobs.Err.Error())
		} else {
			s.add(OK, "Slurm", fmt.Sprintf("%s: %d devices held by jobs", jobs.Path, jobs.Devices))
		}
	}
	for _, runtime := range e.CheckRuntimes(ctx) {
		switch {
		case runtime.Err != nil:
			s.add(Failed, runtime.Runtime, runtime.Err.Error())
		case len(runtime.Places) == 0:
			s.add(Note, runtime.Runtime, "is not on this machine, or not where attribution::containers looks for it")
		default:
			s.add(OK, runtime.Runtime, strings.Join(runtime.Places, ", ")+": containers can be looked up")
		}
	}
	if len(s.Checks) == 0 {
		return nil
	}
	return []Section{s}
}
