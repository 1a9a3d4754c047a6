// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/otelgpu/gpureceiver/internal/attribution"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const (
	// lookupKeep is for how long what was found of a process is believed.
	lookupKeep = 5 * time.Minute
	// lookupTime is how much time must be left for a lookup; without it the processes stay as the tool tells them.
	lookupTime = 2 * time.Second
	// maxTable bounds what is read of the process table by one exec.
	maxTable = 4 << 20
)

// processes completes the processes of one node: when they were started, and in which container they run. It asks by one
// exec for those that it does not know yet, that were away for a read, that have changed their name, or that were last
// looked at a while ago.
type processes struct {
	users *attribution.Attributor
	now   func() time.Time
	round uint64
	known map[int64]*knownProcess
	boot  time.Time
	// instance is the container in which the table was read last; the table of another may be another machine's.
	instance string
}

type knownProcess struct {
	name   string // as the tool tells it
	round  uint64 // of the read that had it last
	looked time.Time
	// What was found. Nothing where the machine does not know the process.
	created time.Time
	command string
	cgroup  string
}

func newProcesses(users *attribution.Attributor, now func() time.Time) *processes {
	return &processes{users: users, now: now, known: make(map[int64]*knownProcess)}
}

var errPIDNamespace = errors.New("the pod does not share the machine's PID namespace (hostPID: true), so the processes that " +
	"the driver tells are not known in it; none is attributed")

// complete completes the processes of a node, and tells what each container uses of its GPUs. What it cannot read it adds to
// the node's problems.
func (s *processes) complete(ctx context.Context, node *gpu.Node, r *runner, j *job) {
	if s.instance != j.instance {
		s.instance, s.boot = j.instance, time.Time{}
		clear(s.known)
	}
	s.round++
	if len(node.Processes) > 0 {
		if err := s.look(ctx, s.due(node), r, j); err != nil {
			node.Problems = append(node.Problems, gpu.Problem{Kind: gpu.ProblemProcessTable, What: "process table", Err: err})
		}
	}
	for i := range node.Processes {
		p := &node.Processes[i]
		known := s.known[p.PID]
		if p.Unread = known == nil || known.looked.IsZero(); p.Unread || known.cgroup == "" && known.command == "" {
			continue
		}
		p.Created, p.Cgroup = known.created, known.cgroup
		if p.Executable == "" {
			p.Executable = known.command
		}
	}
	for pid, known := range s.known {
		if known.round != s.round {
			delete(s.known, pid)
		}
	}
	s.users.Apply(ctx, node)
}

// due notes the processes of a read and returns those that are to be looked up.
func (s *processes) due(node *gpu.Node) []int64 {
	var due []int64
	now := s.now()
	for i := range node.Processes {
		p := &node.Processes[i]
		known := s.known[p.PID]
		switch {
		case p.PID < 1 || p.PID > maxPID:
			continue
		case known != nil && known.round == s.round:
			continue // on several devices
		case known == nil || known.name != p.Executable+"\x00"+p.Command:
			known = &knownProcess{name: p.Executable + "\x00" + p.Command}
			s.known[p.PID] = known
		}
		known.round = s.round
		if now.Sub(known.looked) >= lookupKeep && len(due) < maxLookups {
			due = append(due, p.PID)
		}
	}
	return due
}

// look reads the machine's process table by one exec.
func (s *processes) look(ctx context.Context, pids []int64, r *runner, j *job) error {
	if !j.hostPID {
		return fmt.Errorf("kubeexec: %s: %w", j.in, errPIDNamespace)
	}
	if len(pids) == 0 {
		return nil
	}
	if deadline, bounded := ctx.Deadline(); bounded && deadline.Sub(s.now()) < lookupTime {
		return nil // the next read has time again
	}
	separator := newSeparator()
	r.out.reset()
	r.out.stdout.limit = maxTable
	code, err := r.executor.exec(ctx, j.in, processArgv(separator, s.boot.IsZero(), pids), r.out)
	if missing(err) || err == nil && code == codeNotFound {
		return fmt.Errorf("kubeexec: read the process table in %s: there is no sh in it; no process is attributed", j.in)
	}
	if err != nil {
		return fmt.Errorf("read the process table: %w", err)
	}
	table, err := parseProcTable(separator, r.out.stdout.data)
	if err != nil {
		return fmt.Errorf("kubeexec: read the process table in %s: exit code %d: %w", j.in, code, err)
	}
	if !table.machine {
		return fmt.Errorf("kubeexec: %s: %w", j.in, errPIDNamespace)
	}
	if !table.boot.IsZero() {
		s.boot = table.boot
	}
	now := s.now()
	for _, pid := range pids {
		known := s.known[pid]
		entry, found := table.entries[pid]
		if !found && r.out.stdout.truncated {
			continue // asked for again
		}
		known.looked, known.created, known.command, known.cgroup = now, time.Time{}, "", ""
		if found {
			known.created, known.command, known.cgroup = entry.stat.started(s.boot), entry.stat.name, entry.cgroup
		}
	}
	return nil
}
