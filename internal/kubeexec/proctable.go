// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// processScript reads what a machine tells of processes. Its parameters: a separator, whether the time of the boot is
// wanted (1 or 0), and process ids with a point between them. What it prints, from proc(5):
//
//	<separator> b
//	<boot time in seconds>, where it was wanted
//	<separator> <pid>
//	…stat…
//	<separator> c
//	…cgroup…
//
// and so on, and at last "<separator> e". The first process is always number 2: it is the kernel's in the machine's own PID
// namespace, and any or none in another. It needs nothing but sh; where there is a timeout it runs under that, for the same
// reason as batchScript.
const processScript = `f='` + processBody + `'
command -v timeout>/dev/null&&exec timeout -s KILL 5 sh -c "$f" "$0" "$@"
eval "$f"`

// processBody stands between single quotes, so it has none.
const processBody = `s=$1;w=$2;IFS=.;set -f;set -- $3;unset IFS
cd /proc||exit
f(){ [ -r "$1" ]&&while IFS= read -r l;do printf "%s\n" "$l";done<"$1";}
echo "$s b"
[ "$w" = 1 ]&&while read -r k v;do [ "$k" = btime ]&&{ echo "$v";break;};done<stat
for p in 2 "$@";do echo "$s $p";f "$p/stat";echo "$s c";f "$p/cgroup";done 2>/dev/null
echo "$s e"`

const (
	// maxLookups is how many processes are looked up by one exec.
	maxLookups = 512
	// maxPID is PID_MAX_LIMIT of include/linux/threads.h.
	maxPID = 4 << 20
	// kthreadd is the process id of the thread that starts all threads of the kernel.
	kthreadd = 2
	// kernelThread is the flag PF_KTHREAD of include/linux/sched.h. No program can set it.
	kernelThread = 0x00200000
	// ticksPerSecond is USER_HZ, in which the kernel tells times to programs.
	ticksPerSecond = 100
	maxCgroup      = 16 << 10
)

func processArgv(separator string, boot bool, pids []int64) []string {
	numbers := make([]string, len(pids))
	for i, pid := range pids {
		numbers[i] = strconv.FormatInt(pid, 10)
	}
	wanted := "0"
	if boot {
		wanted = "1"
	}
	return []string{"sh", "-c", processScript, scriptName, separator, wanted, strings.Join(numbers, ".")}
}

// procStat is what is needed of a process's stat file.
type procStat struct {
	name  string
	flags uint64
	ticks uint64 // when it was started, since boot
}

// procEntry is what the machine tells of a process.
type procEntry struct {
	stat   procStat
	cgroup string
}

// procTable is what a machine tells of processes; those that it does not know are not in it.
type procTable struct {
	boot    time.Time // zero where it was not read
	machine bool      // it is the machine's own table, not that of a container
	entries map[int64]procEntry
}

var errProcTable = errors.New("not the output of the script")

// parseProcTable reads the output of processScript, also one that ends early.
func parseProcTable(separator string, out []byte) (*procTable, error) {
	head, body, found := bytes.Cut(out, []byte(separator+" b\n"))
	if !found || len(head) > 0 {
		return nil, fmt.Errorf("%w: %q", errProcTable, excerpt(string(out[:min(len(out), maxExcerpt)])))
	}
	t := &procTable{entries: make(map[int64]procEntry)}
	mark := []byte(separator + " ")
	boot, body, more := bytes.Cut(body, mark)
	if seconds, err := strconv.ParseInt(string(bytes.TrimSpace(boot)), 10, 64); err == nil && seconds > 0 {
		t.boot = time.Unix(seconds, 0)
	}
	for more {
		var stat, cgroup, number []byte
		number, body, _ = bytes.Cut(body, []byte("\n"))
		pid, err := strconv.ParseInt(string(number), 10, 64)
		if err != nil || pid < 1 || pid > maxPID {
			break // the end, or nothing that the script prints
		}
		var second bool
		stat, body, second = bytes.Cut(body, mark)
		if !second {
			break
		}
		_, body, _ = bytes.Cut(body, []byte("\n"))
		cgroup, body, more = bytes.Cut(body, mark)
		if !more {
			break // of what is cut off, the end may be missing
		}
		if s, ok := parseStat(stat); ok {
			t.add(pid, s, cgroup)
		}
	}
	return t, nil
}

func (t *procTable) add(pid int64, s procStat, cgroup []byte) {
	if pid == kthreadd {
		t.machine = s.flags&kernelThread != 0
		return
	}
	e := procEntry{stat: s}
	if len(cgroup) <= maxCgroup {
		e.cgroup = strings.ToValidUTF8(string(cgroup), "\uFFFD")
	}
	t.entries[pid] = e
}

// parseStat reads a stat file (proc_pid_stat(5)). The name stands in parentheses and may hold anything, so it ends at the
// last one.
func parseStat(data []byte) (procStat, bool) {
	open, end := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if open < 0 || end < open {
		return procStat{}, false
	}
	fields := bytes.Fields(data[end+1:]) // from the third on
	if len(fields) < 20 {
		return procStat{}, false
	}
	flags, err1 := strconv.ParseUint(string(fields[9-3]), 10, 64)
	ticks, err2 := strconv.ParseUint(string(fields[22-3]), 10, 64)
	if err1 != nil || err2 != nil {
		return procStat{}, false
	}
	return procStat{name: strings.ToValidUTF8(string(data[open+1:end]), "\uFFFD"), flags: flags, ticks: ticks}, true
}

// started tells when a process was started; zero where it cannot be known.
func (s *procStat) started(boot time.Time) time.Time {
	// More than the age of any machine: not a start time.
	if boot.IsZero() || s.ticks > ticksPerSecond*3600*24*366*100 {
		return time.Time{}
	}
	return boot.Add(time.Duration(s.ticks) * (time.Second / ticksPerSecond))
}
