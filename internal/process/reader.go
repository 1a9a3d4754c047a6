// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"path/filepath"
	"sync"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const (
	defaultRoot = "/proc"

	// detailsWait bounds how long Describe waits for what is read of new processes. Reading a command line takes the lock
	// of the process's memory map, which a process that is stuck in the driver may hold for ever.
	detailsWait = time.Second
	// maxStuck is how many such reads may be outstanding; while they are, no further process is described.
	maxStuck = 4

	keepFor    = 5 * time.Minute // a process that is not seen for so long is forgotten
	maxEntries = 8192
)

// Reader describes processes. It may be shared by several sources.
//
// What is read of a process is kept for as long as its start time and its name stay, so a process that lives on costs at most
// one small read per Describe, of a file that is kept open, and mostly less (see watch). A process that is not found stays as
// it is: its fields are absent.
type Reader struct {
	root         string
	commandLine  bool
	cgroup       bool
	anyNamespace bool
	accounts     *accounts
	wait         time.Duration
	now          func() time.Time

	mu          sync.Mutex
	trusted     bool  // the process table was found to be the host's
	apart       bool  // and this process not to be in its PID namespace
	hidden      error // that it does not show other users' processes
	processes   map[int64]*entry
	generation  uint64
	swept       time.Time
	buf         []byte
	boot        time.Time
	bootRead    time.Time
	outstanding int // reads of details that have not come back
	open        int // processes with files kept
	closed      bool

	ownNamespace func() bool // asked once
	lives        lives
	watched      bool // what has ended is known, and the rest goes on
	turn         turns
}

// entry is one process, by its start time and its name. The name is part of it because a process that executes another
// program keeps its start time.
type entry struct {
	pid        int64
	start      uint64 // clock ticks since boot
	name       string
	generation uint64 // of the Describe that saw it last
	seen       time.Time
	found      bool
	kept       *kept // nil: its stat file is read instead

	claimed bool // a read of its details has begun
	details details
}

// Option changes a Reader.
type Option func(*Reader)

// WithCommandLine has the whole command line read too. It may hold secrets.
func WithCommandLine() Option { return func(r *Reader) { r.commandLine = true } }

// WithCgroup has the control groups read too, by which attribution finds the container.
func WithCgroup() Option { return func(r *Reader) { r.cgroup = true } }

// WithAnyNamespace takes the process table as it is, although it is not that of the machine's first PID namespace: for
// clusters that are nested in one, together with a driver (or a simulator of one) that tells process ids of the same.
func WithAnyNamespace() Option { return func(r *Reader) { r.anyNamespace = true } }

// WithPasswd names the file in which user ids are looked up; an empty name leaves them numbers. The default is the
// machine's own, etc/passwd beside the process table; in a container, whose own file would give the wrong names, none,
// unless the process table is mounted with the rest of the machine's files (/host/proc and /host/etc/passwd).
func WithPasswd(file string) Option {
	return func(r *Reader) { r.accounts = &accounts{file: file} }
}

// New returns a Reader of the process table at root, /proc if it is empty.
func New(root string, options ...Option) *Reader {
	if root == "" {
		root = defaultRoot
	}
	r := &Reader{
		root:      filepath.Clean(root),
		wait:      detailsWait,
		now:       time.Now,
		processes: make(map[int64]*entry),
		buf:       make([]byte, 2048),
	}
	r.ownNamespace = sync.OnceValue(func() bool { return ownNamespace(r.root) })
	for _, option := range options {
		option(r)
	}
	if r.accounts == nil {
		r.accounts = &accounts{file: defaultPasswd(r.root, inContainer)}
	}
	return r
}

// Describe completes the node's processes. Where the process table is not the machine's, it describes none and adds a
// Problem that says so.
func (r *Reader) Describe(node *gpu.Node) {
	r.mu.Lock()
	defer r.mu.Unlock()

	if !r.trusted && !r.anyNamespace {
		first, err := checkNamespace(r.root)
		if err != nil {
			node.Problems = append(node.Problems, gpu.Problem{Kind: gpu.ProblemProcessTable, What: "process table", Err: err})
			return
		}
		r.trusted, r.apart = true, !first
		if first {
			r.hidden = checkHidden(r.root)
		}
	}
	if r.hidden != nil {
		node.Problems = append(node.Problems, gpu.Problem{Kind: gpu.ProblemProcessTable, What: "process table", Err: r.hidden})
	}
	if r.apart && node.Vendor == gpu.NVIDIA && len(node.Processes) == 0 {
		// Older drivers list all, wherever they are asked; so does KFD.
		node.Problems = append(node.Problems, gpu.Problem{Kind: gpu.ProblemProcessTable, What: "process table", Err: errUnlisted})
	}

	r.generation++
	now := r.now()
	r.watch()
	var pending []*entry
	for i := range node.Processes {
		e := r.look(node.Processes[i].PID, now)
		if e.found && !e.claimed {
			pending = append(pending, e)
		}
	}
	r.sweep(now)
	if len(pending) > 0 {
		if err := r.fill(pending, now); err != nil {
			node.Problems = append(node.Problems, gpu.Problem{Kind: gpu.ProblemProcessTable, What: "process table", Err: err})
		}
	}
	for i := range node.Processes {
		p := &node.Processes[i]
		if e := r.processes[p.PID]; e != nil && e.found {
			e.details.apply(p)
		}
	}
}

// look finds a process and tells from its start time and name whether it is still the one that was described.
func (r *Reader) look(pid int64, now time.Time) *entry {
	e := r.processes[pid]
	if e != nil && e.generation == r.generation {
		return e // on several devices
	}
	if e != nil && e.found && r.unchanged(e) {
		e.generation, e.seen = r.generation, now
		return e
	}
	r.release(e)
	var kept *kept
	if e == nil || e.found {
		kept = r.keep(pid)
	}
	s, err := r.readStat(pid, r.buf)
	if _, alive := kept.name(make([]byte, longestName)); kept != nil && (err != nil || !alive) {
		// Only a process that was there before and after its stat file was read is known to be the one of that file.
		r.drop(kept)
		kept = nil
	}
	if err != nil {
		if e == nil {
			e = &entry{pid: pid}
			r.processes[pid] = e
		}
		*e = entry{pid: pid, generation: r.generation, seen: now}
		return e
	}
	if e == nil || !e.found || e.start != s.start || e.name != string(s.name) {
		// A new entry, never a changed one: a read that is late writes into the old one.
		e = &entry{pid: pid, start: s.start, name: string(s.name), found: true}
		r.processes[pid] = e
	}
	e.generation, e.seen, e.kept = r.generation, now, kept
	return e
}

// unchanged tells whether a process is still the one that was described.
func (r *Reader) unchanged(e *entry) bool {
	if r.goesOn(e) {
		return true
	}
	name, ok := e.kept.name(r.buf)
	return ok && string(name) == e.name
}

// sweep forgets the processes that have not been asked for in a while.
func (r *Reader) sweep(now time.Time) {
	full := len(r.processes) > maxEntries
	if !full && now.Sub(r.swept) < keepFor/4 {
		return
	}
	r.swept = now
	for pid, e := range r.processes {
		if e.generation == r.generation {
			continue
		}
		if now.Sub(e.seen) > keepFor/4 {
			r.release(e)
		}
		if full || now.Sub(e.seen) > keepFor {
			r.release(e)
			delete(r.processes, pid)
		}
	}
}
