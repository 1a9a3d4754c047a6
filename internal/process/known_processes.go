// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"maps"
	"os"
	"time"

	"github.com/otelgpu/gpureceiver/internal/workers"
)

// The stat file of a process stays open while the process is known. It belongs to the process, not to the PID: after the process has
// ended, reading fails (ESRCH), even if another process has the PID. Reading an open file takes half the time of opening and reading it,
// which is a third of a scrape with 512 processes.

const (
	// keepFor is how long a process that no source reports is kept. Sources that share a Reader report different processes.
	keepFor = 5 * time.Minute
	// maxProcesses bounds the processes that are kept although the current node does not have them.
	maxProcesses = 8192
	// maxOpen bounds the stat files that stay open. It is the default of max_processes.
	maxOpen = 512
)

// knownProcesses are the processes that sources report, as their stat files show them. It does not wait for a stat file that hangs.
type knownProcesses struct {
	root      string
	isolation workers.Isolation // of the stat files
	processes map[int64]*process
	open      int  // stat files
	closed    bool // no file stays open
}

func newKnownProcesses(root string) knownProcesses {
	return knownProcesses{root: root, processes: make(map[int64]*process)}
}

// look returns the processes that have the PIDs now. If a stat file does not answer, its process stays as last read, and the error has its
// PID.
func (k *knownProcesses) look(ctx context.Context, pids []int64, now time.Time) (processes map[int64]*process, err error) {
	processes = make(map[int64]*process, len(pids))
	files := k.openStats(pids)
	// A read that returns late drops its file, which is then closed by the garbage collection.
	blockedPIDs := workers.Each(ctx, &k.isolation, pids, func(pid int64) statFile { return readStat(k.root, pid, files[pid]) },
		func(pid int64, f statFile) bool {
			if f.err != nil {
				delete(k.processes, pid) // it has ended
				return true
			}
			p := k.processes[pid]
			if p == nil || p.start != f.start || p.name != string(f.name) {
				changed := &process{pid: pid, start: f.start, name: string(f.name)}
				if p != nil && p.start == f.start {
					changed.details = p.details // kept if a file cannot be read any more
				}
				p = changed
				k.processes[pid] = p
			}
			p.lastRead = now
			k.keepStat(p, f.file)
			processes[pid] = p
			return true
		})
	for _, pid := range blockedPIDs {
		if p := k.processes[pid]; p != nil {
			p.lastRead = now
			processes[pid] = p
		}
	}
	return processes, unanswered(k.root, "stat", blockedPIDs)
}

// openStats takes the open stat files from the processes that are known. They belong to the caller.
func (k *knownProcesses) openStats(pids []int64) map[int64]*os.File {
	files := make(map[int64]*os.File, len(pids))
	for _, pid := range pids {
		if p := k.processes[pid]; p != nil && p.stat != nil {
			files[pid], p.stat = p.stat, nil
			k.open--
		}
	}
	return files
}

// keepStat keeps the stat file of a process open if there may be another one.
func (k *knownProcesses) keepStat(p *process, file *os.File) {
	if k.closed || k.open >= maxOpen {
		_ = file.Close()
		return
	}
	p.stat = file
	k.open++
}

// closeStat closes the stat file of a process.
func (k *knownProcesses) closeStat(p *process) {
	if p.stat != nil {
		_ = p.stat.Close()
		p.stat = nil
		k.open--
	}
}

// forget drops the processes that no source has reported for keepFor. If there are more than maxProcesses, it drops all that the
// current node does not have.
func (k *knownProcesses) forget(now time.Time) {
	tooMany := len(k.processes) > maxProcesses
	maps.DeleteFunc(k.processes, func(_ int64, p *process) bool {
		drop := now.Sub(p.lastRead) > keepFor || tooMany && !p.lastRead.Equal(now)
		if drop {
			k.closeStat(p)
		}
		return drop
	})
}

// close closes all stat files. No stat file is opened afterwards.
func (k *knownProcesses) close() {
	k.closed = true
	for _, p := range k.processes {
		k.closeStat(p)
	}
}
