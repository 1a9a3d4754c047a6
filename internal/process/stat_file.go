// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"io"
	"os"
	"time"

	"github.com/otelgpu/gpureceiver/internal/workers"
)

// The stat file of a process stays open while the process is known. It belongs to the process, not to the PID: after the process has
// ended, reading fails (ESRCH), even if another process has the PID. Reading an open file takes half the time of opening and reading it,
// which is a third of a scrape with 512 processes.

// maxOpen bounds the stat files that stay open. It is the default of max_processes.
const maxOpen = 512

// statFile is a stat file that was read, or why it could not be.
type statFile struct {
	stat
	file *os.File // nil where it could not be read
	err  error
}

// readStat reads the stat file of a process from its start. It opens the file unless open is the file and belongs to a process that lives.
func readStat(root string, pid int64, open *os.File) statFile {
	if open != nil {
		if s, err := readStatFile(open); err == nil {
			return statFile{stat: s, file: open}
		}
		_ = open.Close() // the process has ended
	}
	f, err := os.Open(processFile(root, pid, "stat"))
	if err != nil {
		return statFile{err: err}
	}
	s, err := readStatFile(f)
	if err != nil {
		_ = f.Close()
		return statFile{err: err}
	}
	return statFile{stat: s, file: f}
}

func readStatFile(f *os.File) (stat, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return stat{}, err
	}
	buf := make([]byte, maxStat)
	n, err := f.Read(buf)
	if err != nil {
		return stat{}, err
	}
	return parseStat(buf[:n])
}

// look returns the processes that have the PIDs now. One whose stat file does not answer is as it was last, and the error has its PID.
func (r *Reader) look(pids []int64, now time.Time) (found map[int64]*process, err error) {
	found = make(map[int64]*process, len(pids))
	files := r.openStats(pids)
	ctx, cancel := r.bounded()
	defer cancel()
	// A read that returns late drops its file, which is then closed by the garbage collection.
	left := workers.Each(ctx, &r.stats, pids, func(pid int64) statFile { return readStat(r.root, pid, files[pid]) },
		func(pid int64, f statFile) bool {
			if f.err != nil {
				delete(r.processes, pid) // it has ended
				return true
			}
			p := r.processes[pid]
			if p == nil || p.start != f.start || p.name != string(f.name) {
				p = &process{pid: pid, start: f.start, name: string(f.name)}
				r.processes[pid] = p
			}
			p.seen = now
			r.keepStat(p, f.file)
			found[pid] = p
			return true
		})
	for _, pid := range left {
		if p := r.processes[pid]; p != nil {
			p.seen = now
			found[pid] = p
		}
	}
	return found, unanswered(r.root, "stat", left)
}

// openStats takes the open stat files from the processes that are known. They belong to the caller.
func (r *Reader) openStats(pids []int64) map[int64]*os.File {
	files := make(map[int64]*os.File, len(pids))
	for _, pid := range pids {
		if p := r.processes[pid]; p != nil && p.stat != nil {
			files[pid], p.stat = p.stat, nil
			r.open--
		}
	}
	return files
}

// keepStat keeps the stat file of a process open if there may be another one.
func (r *Reader) keepStat(p *process, file *os.File) {
	if r.closed || r.open >= maxOpen {
		_ = file.Close()
		return
	}
	p.stat = file
	r.open++
}

// closeStat closes the stat file of a process.
func (r *Reader) closeStat(p *process) {
	if p.stat != nil {
		_ = p.stat.Close()
		p.stat = nil
		r.open--
	}
}
