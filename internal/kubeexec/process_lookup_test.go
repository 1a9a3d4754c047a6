// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/attribution"
	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/exec"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/exec/exectest"
)

const (
	podUID      = "11111111-2222-4333-8444-555555555555"
	containerID = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	// ofPod is the control group of a container whose pod uses the machine's cgroup namespace. inPrivate is the same container seen from a
	// container with a private one.
	ofPod     = "0::/kubepods.slice/kubepods-pod11111111_2222_4333_8444_555555555555.slice/cri-containerd-" + containerID + ".scope\n"
	inPrivate = "0::/../../kubepods-pod11111111_2222_4333_8444_555555555555.slice/cri-containerd-" + containerID + ".scope\n"
)

// lookups holds the process ids that each exec asked for.
func lookups(m *exectest.Machine) []string {
	var requests []string
	for _, call := range m.Called() {
		if words := strings.Fields(call); words[0] == "proc" {
			requests = append(requests, words[2]+" "+words[3])
		}
	}
	return requests
}

func procs(pids ...int64) *gpu.Node {
	node := &gpu.Node{}
	for _, pid := range pids {
		node.Processes = append(node.Processes, gpu.Process{PID: pid, Executable: "python3", Command: "/usr/bin/python3"})
	}
	return node
}

// fixture is a node with processes to look up.
type fixture struct {
	*processLookup
	users     *attribution.Attributor
	machine   *exectest.Machine
	runner    *exec.Runner
	container exec.Container
	time      time.Time
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{
		machine:   &exectest.Machine{Table: map[int64]string{41: ofPod, 42: inPrivate, 43: "0::/system.slice/nvidia-persistenced.service\n", 44: "0::/\n"}},
		container: inDriver,
		time:      time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
	}
	f.runner = runnerIn(f.machine.Box())
	f.users = attribution.NewRemote(nil, interval)
	f.processLookup = newProcessLookup(f.runner, func() time.Time { return f.time })
	return f
}

func (f *fixture) complete(t *testing.T, node *gpu.Node) *gpu.Node {
	t.Helper()
	f.describe(t.Context(), node)
	return node
}

func runnerIn(b exectest.Box) *exec.Runner {
	return exec.NewRunner(&direct{boxes: map[string]exectest.Box{inDriver.Pod: b}}, command.NvidiaSMI, time.Now)
}

var inDriver = exec.Container{Namespace: defaultNamespace, Pod: "driver-n1", Name: driverContainer, ID: "first", HostPID: true}

// describe does what the job's reader does with a node.
func (f *fixture) describe(ctx context.Context, node *gpu.Node) {
	f.runner.Use(f.container)
	f.processLookup.runner = f.runner
	f.Describe(ctx, node)
	f.users.Describe(ctx, node)
}

func TestProcesses(t *testing.T) {
	f := newFixture(t)
	node := f.complete(t, procs(41, 42, 43, 44, 45))
	require.Empty(t, node.Problems)
	want := gpu.Container{PodUID: podUID, ID: containerID}
	for i := range 2 {
		p := node.Processes[i]
		require.NotNil(t, p.Container)
		assert.Equal(t, want, *p.Container)
		assert.Equal(t, time.Unix(1700000050, 0), p.Created)
		assert.Equal(t, f.machine.Table[p.PID], p.Cgroup)
		assert.Equal(t, "python3", p.Executable)
	}
	assert.Equal(t, &gpu.Container{SystemdUnit: "nvidia-persistenced.service"}, node.Processes[2].Container)
	assert.Nil(t, node.Processes[3].Container, "in nothing that has a name")
	assert.False(t, node.Processes[3].Created.IsZero())
	assert.Equal(t, procs(45).Processes[0], node.Processes[4], "unknown to the machine: as reported by the tool")
	first := node.Processes[0].Container

	node = f.complete(t, procs(41, 41))
	assert.Same(t, first, node.Processes[0].Container)
	assert.Same(t, first, node.Processes[1].Container)
	assert.Equal(t, []string{"1 41.42.43.44.45"}, lookups(f.machine), "what is known is not asked for")
}

// Conditions under which a process is looked up again.
func TestProcessesLookups(t *testing.T) {
	f := newFixture(t)
	steps := []struct {
		name string
		do   func()
		node *gpu.Node
		want string
	}{
		{"new ones", nil, procs(41, 42), "1 41.42"},
		{"known", nil, procs(41, 42), ""},
		{"one more", nil, procs(41, 42, 43), "0 43"},
		{"one is gone", nil, procs(41, 43), ""},
		{"it is back", nil, procs(41, 42, 43), "0 42"},
		{"another name", func() {}, &gpu.Node{Processes: []gpu.Process{{PID: 41, Executable: "other"}, {PID: 42, Executable: "python3", Command: "/usr/bin/python3"}}}, "0 41"},
		{"a while later", func() { f.time = f.time.Add(lookupKeep) }, procs(42), "0 42"},
		{"none", nil, procs(), ""},
		{"not a process id", nil, procs(0, -1, exec.MaxPID+1), ""},
		{"another container", func() { f.container.ID = "second" }, procs(42), "1 42"},
		{"another one with the same process", func() { f.container.ID = "third" }, procs(42), "1 42"},
	}
	requests := 0
	for _, step := range steps {
		if step.do != nil {
			step.do()
		}
		f.complete(t, step.node)
		lookups := lookups(f.machine)[requests:]
		requests += len(lookups)
		assert.Equal(t, step.want, strings.Join(lookups, "; "), step.name)
	}
}

func TestProcessesMany(t *testing.T) {
	f := newFixture(t)
	pids := make([]int64, 2*exec.MaxProcesses+10)
	for i := range pids {
		pids[i] = int64(1000 + i)
	}
	for range 4 {
		f.complete(t, procs(pids...))
	}
	lookups := lookups(f.machine)
	require.Len(t, lookups, 3, "as many reads as it takes")
	assert.Equal(t, exec.MaxProcesses-1, strings.Count(lookups[0], "."))
	assert.Equal(t, exec.MaxProcesses-1, strings.Count(lookups[1], "."))
	assert.Equal(t, 9, strings.Count(lookups[2], "."))
	assert.Len(t, f.known, len(pids))
	f.complete(t, procs(1000))
	assert.Len(t, f.known, 1, "what is gone is forgotten")
}

func TestProcessesUnreadable(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(f *fixture)
		want   string
	}{
		{"the pod has PIDs of its own", func(f *fixture) { f.container.HostPID = false }, "hostPID: true"},
		{"… though it does not look so", func(f *fixture) { f.machine.Private = true }, "hostPID: true"},
		{"no sh", func(f *fixture) {
			f.runner = runnerIn(func([]string, io.Writer, io.Writer, <-chan struct{}) (int, error) {
				return 0, &exec.StartError{Message: exectest.NotStarted("sh").Error()}
			})
		}, "the container contains no sh"},
		{"no sh, by exit code", func(f *fixture) {
			f.runner = runnerIn(func([]string, io.Writer, io.Writer, <-chan struct{}) (int, error) { return 127, nil })
		}, "the container contains no sh"},
		{"unreachable", func(f *fixture) {
			f.runner = runnerIn(func([]string, io.Writer, io.Writer, <-chan struct{}) (int, error) { return 0, errors.New("no route") })
		}, "no route"},
		{"garbage", func(f *fixture) {
			f.runner = runnerIn(func(_ []string, stdout, _ io.Writer, _ <-chan struct{}) (int, error) {
				fmt.Fprint(stdout, "hello")
				return 3, nil
			})
		}, `exit code 3: not the output of the script: "hello"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			tt.change(f)
			node := f.complete(t, procs(41))
			require.Len(t, node.Problems, 1)
			assert.Equal(t, gpu.ProblemProcessTable, node.Problems[0].Kind)
			require.ErrorContains(t, node.Problems[0].Err, tt.want)
			assert.Nil(t, node.Processes[0].Container)
			assert.True(t, node.Processes[0].Created.IsZero())
			assert.Empty(t, f.complete(t, procs()).Problems, "nothing to look up, nothing to complain of")
		})
	}
}

// A truncated table proves nothing about the processes missing from it: they are looked up again.
func TestProcessesCutOff(t *testing.T) {
	f := newFixture(t)
	whole := f.machine.Box()
	f.runner = runnerIn(func(argv []string, stdout, stderr io.Writer, done <-chan struct{}) (int, error) {
		code, err := whole(argv, stdout, stderr, done)
		if len(lookups(f.machine)) == 1 {
			_, _ = io.WriteString(stdout, strings.Repeat("x", 5<<20))
		}
		return code, err
	})
	node := f.complete(t, procs(41, 45))
	require.Empty(t, node.Problems)
	assert.Equal(t, ofPod, node.Processes[0].Cgroup)
	assert.True(t, node.Processes[1].Unread, "it may be in what is missing")
	node = f.complete(t, procs(41, 45))
	assert.False(t, node.Processes[1].Unread)
	assert.Equal(t, []string{"1 41.45", "0 45"}, lookups(f.machine))
}

// If the tool does not know a process's name, the name comes from the machine.
func TestProcessesNames(t *testing.T) {
	f := newFixture(t)
	node := f.complete(t, &gpu.Node{Processes: []gpu.Process{{PID: 41}, {PID: 42, Executable: "trainer"}}})
	assert.Equal(t, "python3", node.Processes[0].Executable)
	assert.Equal(t, "trainer", node.Processes[1].Executable)
}

func TestProcessesLate(t *testing.T) {
	f := newFixture(t)
	ctx, cancel := context.WithDeadline(t.Context(), f.time.Add(time.Second))
	defer cancel()
	node := procs(41)
	f.describe(ctx, node)
	assert.Empty(t, node.Problems)
	assert.Empty(t, lookups(f.machine))
	assert.True(t, node.Processes[0].Unread)
	f.complete(t, procs(41))
	assert.Equal(t, []string{"1 41"}, lookups(f.machine))
}
