// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const (
	// keepFor is how long a process that no source reports is kept. Sources that share a Reader report different processes.
	keepFor = 5 * time.Minute
	// maxKept bounds the processes that are kept although the current node does not have them.
	maxKept = 8192
)

// Reader describes the processes of nodes. Several sources may share it.
//
// Each Describe reads the stat file of each process. The other files are read once, and again when the start time or the name in
// the stat file has changed: then the PID has a new process, or the process executes another program.
type Reader struct {
	root         string
	anyNamespace bool
	now          func() time.Time
	details      asyncDetails

	mu        sync.Mutex
	trusted   bool  // the process table is the machine's
	apart     bool  // this process is not in the PID namespace of the process table
	hidden    error // the process table hides processes of other users
	processes map[int64]*process
	stats     statFiles
	closed    bool
}

// Option changes a Reader.
type Option func(*Reader)

// WithCommandLine makes the Reader read the full command line. It may contain secrets.
func WithCommandLine() Option { return func(r *Reader) { r.details.commandLine = true } }

// WithCgroup makes the Reader read the control groups. Attribution finds the container by them.
func WithCgroup() Option { return func(r *Reader) { r.details.cgroup = true } }

// WithAnyNamespace makes the Reader accept a process table that is not the one of the machine's first PID namespace. It is for
// clusters nested in a PID namespace whose driver, or simulated driver, reports process IDs of that namespace.
func WithAnyNamespace() Option { return func(r *Reader) { r.anyNamespace = true } }

// WithPasswd sets the file that maps user IDs to names. With an empty name, owners are numbers. The default is the machine's own
// file: etc/passwd next to the process table (/host/etc/passwd for /host/proc). In a container without such a mount there is none,
// because the container's own file has other users.
func WithPasswd(file string) Option {
	return func(r *Reader) { r.details.users = &passwd{file: file} }
}

// New returns a Reader of the process table at root, or at /proc if root is empty.
func New(root string, options ...Option) *Reader {
	if root == "" {
		root = defaultRoot
	}
	root = filepath.Clean(root)
	r := &Reader{
		root:      root,
		now:       time.Now,
		processes: make(map[int64]*process),
		stats:     statFiles{root: root, buf: make([]byte, maxStat)},
	}
	r.details = asyncDetails{detailsReader: detailsReader{root: root}, wait: detailsWait, mu: &r.mu}
	for _, option := range options {
		option(r)
	}
	if r.details.users == nil {
		r.details.users = &passwd{file: defaultPasswd(r.root, inContainer)}
	}
	return r
}

// Describe completes the processes of the node. The fields of a process that is not found stay empty. If the process table is not
// the machine's, no process is described and the node gets a Problem.
func (r *Reader) Describe(node *gpu.Node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.check(node); err != nil {
		addProblem(node, err)
		return
	}
	now := r.now()
	found := make(map[int64]*process, len(node.Processes)) // nil for a process that has ended
	var pending []*process
	for i := range node.Processes {
		pid := node.Processes[i].PID
		if _, done := found[pid]; done {
			continue // on several devices
		}
		p := r.look(pid, now)
		found[pid] = p
		if p != nil && !p.claimed {
			pending = append(pending, p)
		}
	}
	r.forget(now)
	if len(pending) > 0 {
		if err := r.details.readAll(pending, now); err != nil {
			addProblem(node, err)
		}
	}
	for i := range node.Processes {
		if p := found[node.Processes[i].PID]; p != nil {
			p.details.apply(&node.Processes[i])
		}
	}
}

// check returns an error if the process table must not be used, and adds a Problem if it does not have every process.
func (r *Reader) check(node *gpu.Node) error {
	if !r.trusted && !r.anyNamespace {
		first, err := checkNamespace(r.root)
		if err != nil {
			return err
		}
		r.trusted, r.apart = true, !first
		if first {
			r.hidden = checkHidden(r.root)
		}
	}
	if r.hidden != nil {
		addProblem(node, r.hidden)
	}
	// Older NVIDIA drivers list all processes in any PID namespace, and so does KFD.
	if r.apart && node.Vendor == gpu.NVIDIA && len(node.Processes) == 0 {
		addProblem(node, errUnlisted)
	}
	return nil
}

func addProblem(node *gpu.Node, err error) {
	node.Problems = append(node.Problems, gpu.Problem{Kind: gpu.ProblemProcessTable, What: "process table", Err: err})
}

// look returns the process that has the PID now, or nil if there is none.
func (r *Reader) look(pid int64, now time.Time) *process {
	p := r.processes[pid]
	var file *os.File
	if p != nil {
		file, p.stat = p.stat, nil
	}
	s, err := r.stats.read(file)
	if err != nil { // not open, or the process has ended
		r.stats.close(file)
		if file, err = r.stats.open(pid); err == nil {
			s, err = r.stats.read(file)
		}
	}
	if err != nil {
		r.stats.close(file)
		delete(r.processes, pid)
		return nil
	}
	if p == nil || p.start != s.start || p.name != string(s.name) {
		// A new one: a late read of details writes into the old one.
		p = &process{pid: pid, start: s.start, name: string(s.name)}
		r.processes[pid] = p
	}
	p.seen = now
	if r.closed || r.stats.count > maxOpen {
		r.stats.close(file)
	} else {
		p.stat = file
	}
	return p
}

// forget drops the processes that no source has reported for keepFor. If there are more than maxKept, it drops all that the
// current node does not have.
func (r *Reader) forget(now time.Time) {
	tooMany := len(r.processes) > maxKept
	maps.DeleteFunc(r.processes, func(_ int64, p *process) bool {
		drop := now.Sub(p.seen) > keepFor || tooMany && !p.seen.Equal(now)
		if drop {
			r.stats.close(p.stat)
		}
		return drop
	})
}

// Close closes all files. A closed Reader still describes processes, but keeps no file open.
func (r *Reader) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for _, p := range r.processes {
		r.stats.close(p.stat)
		p.stat = nil
	}
}
