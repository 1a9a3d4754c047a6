// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package simulation simulates the nodes of a fleet: the output of a shell with nvidia-smi in their driver pods, and the kubelets that run
// it, a thousand in one process.
package simulation

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Shell runs the receiver's scripts, as sh would in a driver pod.
type Shell struct{ Tool *Tool }

// Workload is the pod whose processes run on a machine's GPUs.
type Workload struct{ PodUID, ContainerID string }

const (
	codeUsage    = 2
	codeNotFound = 127
)

// Run runs a command and returns its exit code. It recognises the structure of the two scripts, not their text: a separator, settings, and
// calls or process ids.
func (s *Shell) Run(m *Machine, w Workload, argv []string, now time.Time, stdout, stderr io.Writer) (code int, err error) {
	if len(argv) > 0 && argv[0] == "nvidia-smi" {
		out, code := s.Tool.Run(m, argv[1:], now)
		_, err := io.WriteString(stdout, out)
		return code, err
	}
	if len(argv) < 7 || argv[0] != "sh" || argv[1] != "-c" {
		return codeNotFound, nil
	}
	separator := argv[4]
	if len(argv) == 7 {
		return s.processes(m, w, separator, argv[5] == "1", argv[6], now, stdout)
	}
	calls := slices.Index(argv, "-")
	if calls < 0 {
		return codeUsage, nil
	}
	var out, complaints strings.Builder
	fmt.Fprintf(&out, "%s b\n", separator)
	for rest := argv[calls+1:]; len(rest) > 0; {
		n, err := strconv.Atoi(rest[0])
		if err != nil || n < 1 || n >= len(rest) || rest[1] != "nvidia-smi" {
			return codeUsage, nil
		}
		printed, code := s.Tool.Run(m, rest[2:n+1], now)
		out.WriteString(printed)
		fmt.Fprintf(&out, "\n%s %d\n", separator, code)
		fmt.Fprintf(&complaints, "\n%s\n", separator)
		rest = rest[n+1:]
	}
	if _, err := io.WriteString(stdout, out.String()); err != nil {
		return 0, err
	}
	_, err = io.WriteString(stderr, complaints.String())
	return 0, err
}

// kthreadd marks the machine's own PID namespace.
const kthreadd = "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 1 0 0 1\n"

func (*Shell) processes(m *Machine, w Workload, separator string, boot bool, pids string, now time.Time, stdout io.Writer) (int, error) {
	var out strings.Builder
	fmt.Fprintf(&out, "%s b\n", separator)
	if boot {
		fmt.Fprintln(&out, now.Add(-24*time.Hour).Unix())
	}
	fmt.Fprintf(&out, "%s 2\n%s%s c\n0::/\n", separator, kthreadd, separator)
	for text := range strings.SplitSeq(pids, ".") {
		pid, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return codeUsage, nil //nolint:nilerr // a shell prints that
		}
		fmt.Fprintf(&out, "%s %d\n", separator, pid)
		runs := false
		for g := range m.GPUs {
			runs = runs || m.pid(g) == pid
		}
		if runs {
			fmt.Fprintf(&out, "%d (python3.12) S 1 1 1 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 360000 0 0 1\n", pid)
		}
		fmt.Fprintf(&out, "%s c\n", separator)
		if runs && w.PodUID != "" {
			fmt.Fprintf(&out, "0::/kubepods.slice/kubepods-pod%s.slice/cri-containerd-%s.scope\n",
				strings.ReplaceAll(w.PodUID, "-", "_"), w.ContainerID)
		}
	}
	fmt.Fprintf(&out, "%s e\n", separator)
	_, err := io.WriteString(stdout, out.String())
	return 0, err
}
