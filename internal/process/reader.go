// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// defaultWait bounds how long Describe waits for the stat files, and again for the other files. An eighth of it is waited for one
// process.
const defaultWait = 4 * time.Second

// Reader describes the processes of nodes. Several sources may share it.
//
// Each Describe reads the stat file of each process. The other files are read once, and again when the start time or the name in
// the stat file has changed: then the PID has a new process, or the process executes another program.
type Reader struct {
	root         string
	anyNamespace bool
	now          func() time.Time
	details      isolatedDetails

	wait           time.Duration      // how long Describe waits for files of one kind
	closing        context.Context    // ends with Close: a Describe that waits ends
	cancel         context.CancelFunc // of closing
	mu             sync.Mutex
	trusted        bool  // the process table is the machine's
	otherNamespace bool  // this process is not in the PID namespace of the process table
	hidden         error // the process table hides processes of other users
	known          knownProcesses
}

// Option changes a Reader.
type Option func(*Reader)

// WithCommandLine makes the Reader read the full command line. It may contain secrets.
func WithCommandLine() Option { return func(r *Reader) { r.details.commandLine = true } }

// WithCgroup makes the Reader read the control groups. Attribution finds the container by them.
func WithCgroup() Option { return func(r *Reader) { r.details.cgroup = true } }

// WithAnyNamespace makes the Reader accept the process table of a PID namespace other than the machine's first. It is for clusters nested
// in a PID namespace whose driver, or simulated driver, reports process IDs of that namespace.
func WithAnyNamespace() Option { return func(r *Reader) { r.anyNamespace = true } }

// WithPasswd sets the file that maps user IDs to names. With an empty name, owners are numbers. The default is the machine's own file:
// etc/passwd next to the process table (/host/etc/passwd for /host/proc). Without such a mount, a container has no default, because its own
// file has other users.
func WithPasswd(file string) Option {
	return func(r *Reader) { r.details.users = &passwd{file: file} }
}

// WithPatience sets how long Describe waits for the stat files, and again for the other files; an eighth of it for one process. A busy machine
// must not exceed it in tests.
func WithPatience(d time.Duration) Option { return func(r *Reader) { r.wait = d } }

// New returns a Reader of the process table at root, or at /proc if root is empty.
func New(root string, options ...Option) *Reader {
	if root == "" {
		root = defaultRoot
	}
	root = filepath.Clean(root)
	r := &Reader{
		root:    root,
		now:     time.Now,
		known:   newKnownProcesses(root),
		wait:    defaultWait,
		details: isolatedDetails{detailsReader: detailsReader{root: root}},
	}
	r.closing, r.cancel = context.WithCancel(context.Background())
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
	pids := make([]int64, 0, len(node.Processes))
	for i := range node.Processes {
		pids = append(pids, node.Processes[i].PID)
	}
	slices.Sort(pids)
	pids = slices.Compact(pids) // a process may be on several devices
	processes, err := r.look(pids, now)
	if err != nil {
		addProblem(node, err)
	}
	r.known.forget(now)
	var pending []*process
	for _, pid := range pids {
		if p := processes[pid]; p != nil && !p.described {
			pending = append(pending, p)
		}
	}
	ctx, cancel := r.bounded()
	defer cancel()
	if err := r.details.readAll(ctx, pending, now); err != nil {
		addProblem(node, err)
	}
	for i := range node.Processes {
		if p := processes[node.Processes[i].PID]; p != nil {
			p.details.apply(&node.Processes[i])
		}
	}
}

// Executable returns the name of the executable file of the process that has a PID now; "" if it cannot be read. It does not wait for Describe, and
// reading the link does not wait for the process.
func (r *Reader) Executable(pid int64) string {
	if _, err := checkNamespace(r.root); err != nil {
		return ""
	}
	program, ok := readProgram(r.root, pid)
	if !ok {
		return ""
	}
	return path.Base(program)
}

// look returns the processes that have the PIDs now.
func (r *Reader) look(pids []int64, now time.Time) (map[int64]*process, error) {
	ctx, cancel := r.bounded()
	defer cancel()
	return r.known.look(ctx, pids, now)
}

// check returns an error if the process table must not be used, and adds a Problem if it does not have every process.
func (r *Reader) check(node *gpu.Node) error {
	if !r.trusted && !r.anyNamespace {
		first, err := checkNamespace(r.root)
		if err != nil {
			return err
		}
		r.trusted, r.otherNamespace = true, !first
		if first {
			r.hidden = checkHidden(r.root)
		}
	}
	if r.hidden != nil {
		addProblem(node, r.hidden)
	}
	// Older NVIDIA drivers list all processes in any PID namespace, and so does KFD.
	if r.otherNamespace && node.Vendor == gpu.NVIDIA && len(node.Processes) == 0 {
		addProblem(node, errUnlisted)
	}
	return nil
}

func addProblem(node *gpu.Node, err error) {
	node.Problems = append(node.Problems, gpu.Problem{Kind: gpu.ProblemProcessTable, What: "process table", Err: err})
}

// bounded returns the context of reads of files of one kind. It ends with Close. If the Reader is already closed, only the time limit ends
// it.
func (r *Reader) bounded() (context.Context, context.CancelFunc) {
	if r.known.closed {
		return context.WithTimeout(context.Background(), r.wait)
	}
	return context.WithTimeout(r.closing, r.wait)
}

// Close closes all files. A closed Reader still describes processes, but keeps no file open.
func (r *Reader) Close() {
	r.cancel()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known.close()
}
