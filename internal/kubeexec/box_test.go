// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// box is a container: it runs a command. A start error is what its runtime says. gone is closed when the client is.
type box func(argv []string, stdout, stderr io.Writer, gone <-chan struct{}) (code int, start error)

// commands is a box that understands the scripts of this package as sh would, and asks run for each command in it.
func commands(run func(argv []string, stdout, stderr io.Writer, gone <-chan struct{}) int) box {
	return func(argv []string, stdout, stderr io.Writer, gone <-chan struct{}) (int, error) {
		switch {
		case len(argv) < 6 || argv[0] != "sh":
			return run(argv, stdout, stderr, gone), nil
		case argv[2] == processScript:
			return run(append([]string{"proc"}, argv[4:]...), stdout, stderr, gone), nil
		case argv[2] != batchScript:
			return 2, nil
		}
		separator, rest := argv[4], argv[slices.Index(argv, "-")+1:]
		fmt.Fprintf(stdout, "%s b\n", separator)
		for len(rest) > 0 {
			n, err := strconv.Atoi(rest[0])
			if err != nil {
				return 2, nil
			}
			code := run(rest[1:n+1], stdout, stderr, gone)
			fmt.Fprintf(stdout, "\n%s %d\n", separator, code)
			fmt.Fprintf(stderr, "\n%s\n", separator)
			rest = rest[n+1:]
		}
		return 0, nil
	}
}

// machine is a node with one GPU, as nvidia-smi and the process table tell of it.
type machine struct {
	uuid      string
	processes []string         // rows of --query-compute-apps: pid, uuid, memory, name
	table     map[int64]string // the cgroup file of a process
	private   bool             // the process table is that of a container

	mu    sync.Mutex
	calls []string // what was run
}

func (m *machine) called() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.calls)
}

func (m *machine) box() box {
	return commands(func(argv []string, stdout, _ io.Writer, _ <-chan struct{}) int {
		m.mu.Lock()
		m.calls = append(m.calls, strings.Join(argv, " "))
		m.mu.Unlock()
		if argv[0] == "proc" {
			m.proc(argv[1:], stdout)
			return 0
		}
		out, code := m.smi(argv[1:])
		_, _ = io.WriteString(stdout, out)
		return code
	})
}

// fields are what the machine's nvidia-smi can be asked for.
var fields = []string{"index", "uuid", "pci.bus_id", "driver_version", "utilization.gpu", "memory.total", "memory.used", "name"}

func (m *machine) smi(args []string) (string, int) {
	switch joined := strings.Join(args, " "); {
	case joined == "--help-query-gpu":
		return "\"" + strings.Join(fields, "\"\nA field.\n\n\"") + "\"\nA field.\n", 0
	case strings.HasPrefix(joined, "--query-gpu="):
		asked := strings.Split(strings.TrimPrefix(args[0], "--query-gpu="), ",")
		values := map[string]string{
			"index": "0", "uuid": m.uuid, "pci.bus_id": "00000000:0A:00.0", "driver_version": "570.1", "utilization.gpu": "42 %",
			"memory.total": "81559 MiB", "memory.used": "500 MiB", "name": "NVIDIA H100",
		}
		row := make([]string, len(asked))
		for i, field := range asked {
			row[i] = values[field]
		}
		return strings.Join(asked, ", ") + "\n" + strings.Join(row, ", ") + "\n", 0
	case strings.HasPrefix(joined, "--query-compute-apps="):
		return "pid, gpu_uuid, used_gpu_memory [MiB], process_name\n" + strings.Join(m.processes, ""), 0
	case joined == "-q -x":
		return "<nvidia_smi_log><driver_version>570.1</driver_version><gpu id=\"00000000:0A:00.0\"><uuid>" + m.uuid +
			"</uuid><minor_number>3</minor_number></gpu></nvidia_smi_log>\n", 0
	case strings.HasPrefix(joined, "pmon"):
		return "# gpu pid type sm mem enc dec fb command\n# Idx # C/G % % % % MB name\n", 0
	default:
		return "ERROR: Option is not recognized.\n", 2
	}
}

func (m *machine) proc(args []string, stdout io.Writer) {
	separator := args[0]
	fmt.Fprintf(stdout, "%s b\n", separator)
	if args[1] == "1" {
		fmt.Fprintln(stdout, "1700000000")
	}
	for _, number := range append([]string{"2"}, strings.Split(args[2], ".")...) {
		pid, _ := strconv.ParseInt(number, 10, 64)
		fmt.Fprintf(stdout, "%s %d\n", separator, pid)
		cgroup, known := m.table[pid]
		switch {
		case pid == kthreadd && !m.private:
			fmt.Fprint(stdout, statLine(2, "kthreadd", 2129984, 0))
		case known:
			fmt.Fprint(stdout, statLine(pid, "python3", 4194304, 5000))
		}
		fmt.Fprintf(stdout, "%s c\n", separator)
		if known {
			fmt.Fprint(stdout, cgroup)
		}
	}
	fmt.Fprintf(stdout, "%s e\n", separator)
}

// statLine is a stat file of proc(5).
func statLine(pid int64, name string, flags, start uint64) string {
	return fmt.Sprintf("%d (%s) S 1 1 1 0 -1 %d 0 0 0 0 0 0 0 0 20 0 1 0 %d 0 0 1\n", pid, name, flags, start)
}

// direct is an executor without a network: it runs boxes by the name of the pod.
type direct struct {
	mu    sync.Mutex
	boxes map[string]box
}

func (d *direct) exec(ctx context.Context, in place, argv []string, out *output) (int, error) {
	d.mu.Lock()
	b := d.boxes[in.pod]
	d.mu.Unlock()
	if b == nil {
		return 0, fmt.Errorf("no pod %s", in.pod)
	}
	out.began = true
	code, err := b(argv, to{&out.stdout}, to{&out.stderr}, ctx.Done())
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		err = fmt.Errorf("exec in %s: %w", in, err)
	}
	return code, err
}

// to is a writer of a bounded buffer.
type to struct{ b *bounded }

func (w to) Write(p []byte) (int, error) {
	if w.b.truncated {
		return len(p), nil
	}
	return len(p), w.b.readFrom(strings.NewReader(string(p)), nothing)
}
