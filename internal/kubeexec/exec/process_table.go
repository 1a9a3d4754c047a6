// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// processScript prints entries of a machine's process table. Its parameters: a separator, whether the boot time is wanted (1 or
// 0), and process ids with a point between them. Its output, from proc(5):
//
//	<separator> b
//	<boot time in seconds>, if it was wanted
//	<separator> <pid>
//	…stat…
//	<separator> c
//	…cgroup…
//
// and so on, and at last "<separator> e". The first process is always number 2: in the machine's own PID namespace it is a
// thread of the kernel, in another one any process or none. The script needs only sh; if there is a timeout it runs under
// it, for the same reason as batchScript.
const processScript = `f='` + processBody + `'
command -v timeout>/dev/null&&exec timeout -s KILL 5 sh -c "$f" "$0" "$@"
eval "$f"`

// processBody is between single quotes, so it must not contain any.
const processBody = `s=$1;w=$2;IFS=.;set -f;set -- $3;unset IFS
cd /proc||exit
f(){ [ -r "$1" ]&&while IFS= read -r l;do printf "%s\n" "$l";done<"$1";}
echo "$s b"
[ "$w" = 1 ]&&while read -r k v;do [ "$k" = btime ]&&{ echo "$v";break;};done<stat
for p in 2 "$@";do echo "$s $p";f "$p/stat";echo "$s c";f "$p/cgroup";done 2>/dev/null
echo "$s e"`

const (
	// MaxProcesses is the number of processes that one exec may look up: their ids have to fit into a URL.
	MaxProcesses = 512
	// MaxPID is PID_MAX_LIMIT of include/linux/threads.h.
	MaxPID = 4 << 20
	// maxTable bounds the output of the script, in bytes.
	maxTable = 4 << 20
	// kthreadd is the process id of the thread that starts all threads of the kernel.
	kthreadd = 2
	// kernelThread is the flag PF_KTHREAD of include/linux/sched.h. No program can set it.
	kernelThread = 0x00200000
	// ticksPerSecond is USER_HZ, the unit of times in proc(5).
	ticksPerSecond = 100
	maxCgroup      = 16 << 10
)

func processArgv(separator string, boot bool, pids []int64) []string {
	numbers := make([]string, len(pids))
	for i, pid := range pids {
		numbers[i] = strconv.FormatInt(pid, 10)
	}
	bootFlag := "0"
	if boot {
		bootFlag = "1"
	}
	return []string{"sh", "-c", processScript, scriptName, separator, bootFlag, strings.Join(numbers, ".")}
}

// Process is an entry of a machine's process table.
type Process struct {
	Name   string
	Cgroup string // the whole of /proc/<pid>/cgroup
	flags  uint64
	ticks  uint64 // start time, since boot
}

// ProcessTable has the requested entries of a machine's process table. A process that the machine does not have is not in it.
type ProcessTable struct {
	Boot      time.Time // zero if it was not read
	Machine   bool      // it is the machine's own table, not the table of a container
	Truncated bool      // some of the entries may be missing
	Processes map[int64]Process
}

// ReadProcesses reads the process table in the container by one exec, with the time of boot if it is wanted.
func (r *Runner) ReadProcesses(ctx context.Context, boot bool, pids []int64) (*ProcessTable, error) {
	separator := newSeparator()
	r.out.reset()
	r.out.stdout.limit = maxTable
	code, err := r.executor.Exec(ctx, r.container, processArgv(separator, boot, pids), r.out)
	if missing(err) || err == nil && code == codeNotFound {
		return nil, fmt.Errorf("kubernetes_exec: read the process table in %s: the container contains no sh; no process is attributed", r.container)
	}
	if err != nil {
		return nil, fmt.Errorf("read the process table: %w", err)
	}
	table, err := parseProcessTable(separator, r.out.stdout.data)
	if err != nil {
		return nil, fmt.Errorf("kubernetes_exec: read the process table in %s: exit code %d: %w", r.container, code, err)
	}
	table.Truncated = r.out.stdout.truncated
	return table, nil
}

var errProcessTable = errors.New("not the output of the script")

// parseProcessTable reads the output of processScript, also one that ends early.
func parseProcessTable(separator string, out []byte) (*ProcessTable, error) {
	head, body, found := bytes.Cut(out, []byte(separator+" b\n"))
	if !found || len(head) > 0 {
		return nil, fmt.Errorf("%w: %q", errProcessTable, excerpt(string(out[:min(len(out), maxExcerpt)])))
	}
	t := &ProcessTable{Processes: make(map[int64]Process)}
	mark := []byte(separator + " ")
	boot, body, more := bytes.Cut(body, mark)
	if seconds, err := strconv.ParseInt(string(bytes.TrimSpace(boot)), 10, 64); err == nil && seconds > 0 {
		t.Boot = time.Unix(seconds, 0)
	}
	for more {
		var stat, cgroup, number []byte
		number, body, _ = bytes.Cut(body, []byte("\n"))
		pid, err := strconv.ParseInt(string(number), 10, 64)
		if err != nil || pid < 1 || pid > MaxPID {
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
			break // the end of the last entry may be missing
		}
		if s, ok := parseStat(stat); ok {
			t.add(pid, s, cgroup)
		}
	}
	return t, nil
}

func (t *ProcessTable) add(pid int64, p Process, cgroup []byte) {
	if pid == kthreadd {
		t.Machine = p.flags&kernelThread != 0
		return
	}
	if len(cgroup) <= maxCgroup {
		p.Cgroup = strings.ToValidUTF8(string(cgroup), "\uFFFD")
	}
	t.Processes[pid] = p
}

// parseStat reads a stat file (proc_pid_stat(5)). The name is in parentheses and may contain any character, so it ends at the last one.
func parseStat(data []byte) (Process, bool) {
	open, end := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if open < 0 || end < open {
		return Process{}, false
	}
	fields := bytes.Fields(data[end+1:]) // from the third on
	if len(fields) < 20 {
		return Process{}, false
	}
	flags, err1 := strconv.ParseUint(string(fields[9-3]), 10, 64)
	ticks, err2 := strconv.ParseUint(string(fields[22-3]), 10, 64)
	if err1 != nil || err2 != nil {
		return Process{}, false
	}
	return Process{Name: gpu.CleanText(string(data[open+1 : end])), flags: flags, ticks: ticks}, true
}

// Started returns when the process was started; zero if it is unknown.
func (p *Process) Started(boot time.Time) time.Time {
	// More than the age of any machine is not a start time.
	if boot.IsZero() || p.ticks > ticksPerSecond*3600*24*366*100 {
		return time.Time{}
	}
	return boot.Add(time.Duration(p.ticks) * (time.Second / ticksPerSecond))
}
