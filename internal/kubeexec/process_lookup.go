// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/exec"
)

const (
	// lookupKeep is how long the details of a process are taken as known.
	lookupKeep = 5 * time.Minute
	// lookupTime is how much time of a read must be left for a lookup; with less the processes stay as the tool lists them.
	lookupTime = 2 * time.Second
)

// processLookup describes the processes of one node: when they were started, and their control groups. It runs one exec for
// the processes that are new, were absent for a read, have changed their name, or were last looked up a while ago.
type processLookup struct {
	runner *exec.Runner // runs in the container that is read
	now    func() time.Time
	read   uint64 // number of this read
	known  map[int64]*knownProcess
	boot   time.Time
	// container is the ID of the container whose table was read last. Another one may see the table of another machine.
	container string
}

type knownProcess struct {
	name   string // as the tool prints it
	read   uint64 // number of the last read that had it
	looked time.Time
	// What was found; empty if the machine does not know the process.
	created time.Time
	command string
	cgroup  string
}

func newProcessLookup(r *exec.Runner, now func() time.Time) *processLookup {
	return &processLookup{runner: r, now: now, known: make(map[int64]*knownProcess)}
}

var errPIDNamespace = errors.New("the pod does not share the machine's PID namespace (hostPID: true), so the process ids of " +
	"the driver are unknown in it; no process is attributed")

// Describe implements pipeline.Describer.
func (l *processLookup) Describe(ctx context.Context, node *gpu.Node) {
	if id := l.runner.Container().ID; l.container != id {
		l.container, l.boot = id, time.Time{}
		clear(l.known)
	}
	l.read++
	if len(node.Processes) > 0 {
		if err := l.lookUp(ctx, l.due(node)); err != nil {
			node.Problems = append(node.Problems, gpu.Problem{Kind: gpu.ProblemProcessTable, What: "process table", Err: err})
		}
	}
	for i := range node.Processes {
		p := &node.Processes[i]
		known := l.known[p.PID]
		if p.Unread = known == nil || known.looked.IsZero(); p.Unread || known.cgroup == "" && known.command == "" {
			continue
		}
		p.Created, p.Cgroup = known.created, known.cgroup
		if p.Executable == "" {
			p.Executable = known.command
		}
	}
	for pid, known := range l.known {
		if known.read != l.read {
			delete(l.known, pid)
		}
	}
}

// due notes the processes of this read and returns those that need a lookup.
func (l *processLookup) due(node *gpu.Node) []int64 {
	var due []int64
	now := l.now()
	for i := range node.Processes {
		p := &node.Processes[i]
		known := l.known[p.PID]
		switch {
		case p.PID < 1 || p.PID > exec.MaxPID:
			continue
		case known != nil && known.read == l.read:
			continue // on several devices
		case known == nil || known.name != p.Executable+"\x00"+p.Command:
			known = &knownProcess{name: p.Executable + "\x00" + p.Command}
			l.known[p.PID] = known
		}
		known.read = l.read
		if now.Sub(known.looked) >= lookupKeep && len(due) < exec.MaxProcesses {
			due = append(due, p.PID)
		}
	}
	return due
}

// lookUp reads the machine's process table by one exec.
func (l *processLookup) lookUp(ctx context.Context, pids []int64) error {
	containerRef := l.runner.Container()
	if !containerRef.HostPID {
		return fmt.Errorf("kubernetes_exec: %s: %w", containerRef, errPIDNamespace)
	}
	if len(pids) == 0 {
		return nil
	}
	if deadline, bounded := ctx.Deadline(); bounded && deadline.Sub(l.now()) < lookupTime {
		return nil // the next read has more time
	}
	table, err := l.runner.ReadProcesses(ctx, l.boot.IsZero(), pids)
	if err != nil {
		return err
	}
	if !table.Machine {
		return fmt.Errorf("kubernetes_exec: %s: %w", containerRef, errPIDNamespace)
	}
	if !table.Boot.IsZero() {
		l.boot = table.Boot
	}
	now := l.now()
	for _, pid := range pids {
		known := l.known[pid]
		p, found := table.Processes[pid]
		if !found && table.Truncated {
			continue // looked up again at the next read
		}
		known.looked, known.created, known.command, known.cgroup = now, time.Time{}, "", ""
		if found {
			known.created, known.command, known.cgroup = p.Started(l.boot), p.Name, p.Cgroup
		}
	}
	return nil
}
