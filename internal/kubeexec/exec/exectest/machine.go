// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package exectest

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Box is a container: it runs a command. start is the error of its runtime. done is closed when the client is gone.
type Box func(argv []string, stdout, stderr io.Writer, done <-chan struct{}) (code int, start error)

// Commands is a box that runs the scripts of package exec as sh would: it calls run for each command of a batch, and with
// "proc" and the parameters of the script for the process table.
func Commands(run func(argv []string, stdout, stderr io.Writer, done <-chan struct{}) int) Box {
	return func(argv []string, stdout, stderr io.Writer, done <-chan struct{}) (int, error) {
		switch {
		case len(argv) < 6 || argv[0] != "sh":
			return run(argv, stdout, stderr, done), nil
		case IsProcessScript(argv):
			return run(append([]string{"proc"}, argv[4:]...), stdout, stderr, done), nil
		case !strings.Contains(argv[2], "date +%s"):
			return 2, nil
		}
		separator, rest := argv[4], argv[slices.Index(argv, "-")+1:]
		_, _ = fmt.Fprintf(stdout, "%s b\n", separator)
		for len(rest) > 0 {
			n, err := strconv.Atoi(rest[0])
			if err != nil {
				return 2, nil
			}
			code := run(rest[1:n+1], stdout, stderr, done)
			_, _ = fmt.Fprintf(stdout, "\n%s %d\n", separator, code)
			_, _ = fmt.Fprintf(stderr, "\n%s\n", separator)
			rest = rest[n+1:]
		}
		return 0, nil
	}
}

// IsProcessScript reports whether a command is the script of package exec that reads the process table.
func IsProcessScript(argv []string) bool {
	return len(argv) == 7 && argv[0] == "sh" && strings.Contains(argv[2], "cd /proc")
}

// Machine is a node with one GPU, as nvidia-smi and the process table show it.
type Machine struct {
	UUID      string
	Processes []string         // rows of --query-compute-apps: pid, uuid, memory, name
	Table     map[int64]string // the cgroup file of a process
	Private   bool             // the process table of a container

	mu    sync.Mutex
	calls []string
}

// Called returns the commands that were run.
func (m *Machine) Called() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.calls)
}

// Forget drops the commands that were run.
func (m *Machine) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = nil
}

// Box is the container of the node's tools.
func (m *Machine) Box() Box {
	return Commands(func(argv []string, stdout, _ io.Writer, _ <-chan struct{}) int {
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

// fields are the fields that the machine's nvidia-smi can print.
var fields = []string{"index", "uuid", "pci.bus_id", "driver_version", "utilization.gpu", "memory.total", "memory.used", "name"}

func (m *Machine) smi(args []string) (string, int) {
	switch joined := strings.Join(args, " "); {
	case joined == "--help-query-gpu":
		return "\"" + strings.Join(fields, "\"\nA field.\n\n\"") + "\"\nA field.\n", 0
	case strings.HasPrefix(joined, "--query-gpu="):
		names := strings.Split(strings.TrimPrefix(args[0], "--query-gpu="), ",")
		values := map[string]string{
			"index": "0", "uuid": m.UUID, "pci.bus_id": "00000000:0A:00.0", "driver_version": "570.1", "utilization.gpu": "42 %",
			"memory.total": "81559 MiB", "memory.used": "500 MiB", "name": "NVIDIA H100",
		}
		row := make([]string, len(names))
		for i, field := range names {
			row[i] = values[field]
		}
		return strings.Join(names, ", ") + "\n" + strings.Join(row, ", ") + "\n", 0
	case strings.HasPrefix(joined, "--query-compute-apps="):
		return "pid, gpu_uuid, used_gpu_memory [MiB], process_name\n" + strings.Join(m.Processes, ""), 0
	case joined == "-q -x":
		return "<nvidia_smi_log><driver_version>570.1</driver_version><gpu id=\"00000000:0A:00.0\"><uuid>" + m.UUID +
			"</uuid><minor_number>3</minor_number></gpu></nvidia_smi_log>\n", 0
	case strings.HasPrefix(joined, "pmon"):
		return "# gpu pid type sm mem enc dec fb command\n# Idx # C/G % % % % MB name\n", 0
	default:
		return "ERROR: Option is not recognized.\n", 2
	}
}

func (m *Machine) proc(args []string, stdout io.Writer) {
	separator := args[0]
	_, _ = fmt.Fprintf(stdout, "%s b\n", separator)
	if args[1] == "1" {
		_, _ = fmt.Fprintln(stdout, "1700000000")
	}
	for _, number := range append([]string{"2"}, strings.Split(args[2], ".")...) {
		pid, _ := strconv.ParseInt(number, 10, 64)
		_, _ = fmt.Fprintf(stdout, "%s %d\n", separator, pid)
		cgroup, ok := m.Table[pid]
		switch {
		case pid == 2 && !m.Private:
			_, _ = fmt.Fprint(stdout, StatLine(2, "kthreadd", 2129984, 0))
		case ok:
			_, _ = fmt.Fprint(stdout, StatLine(pid, "python3", 4194304, 5000))
		}
		_, _ = fmt.Fprintf(stdout, "%s c\n", separator)
		if ok {
			_, _ = fmt.Fprint(stdout, cgroup)
		}
	}
	_, _ = fmt.Fprintf(stdout, "%s e\n", separator)
}

// StatLine is a stat file of proc(5).
func StatLine(pid int64, name string, flags, start uint64) string {
	return fmt.Sprintf("%d (%s) S 1 1 1 0 -1 %d 0 0 0 0 0 0 0 0 20 0 1 0 %d 0 0 1\n", pid, name, flags, start)
}

// Flood is a box that prints until the client is gone, and more than is kept on stderr.
func Flood(_ []string, stdout, stderr io.Writer, done <-chan struct{}) (int, error) {
	chunk := []byte(strings.Repeat("0123456789abcdef", 4096))
	_, _ = stderr.Write(chunk)
	_, _ = stderr.Write(chunk)
	for {
		select {
		case <-done:
			return 0, nil
		default:
			if _, err := stdout.Write(chunk); err != nil {
				return 0, nil //nolint:nilerr // the client is gone
			}
		}
	}
}
