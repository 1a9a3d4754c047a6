// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/attribution"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/exec"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/exec/exectest"
)

// Another container may have another tool and driver: their properties are queried again, and counters start again.
func TestReadInAnotherContainer(t *testing.T) {
	c, _, s, _ := bare(1, 0)
	m := &exectest.Machine{UUID: "GPU-1"}
	c.executor = &direct{boxes: map[string]exectest.Box{"n1": m.Box()}}
	n := newNode(c, "n1", planOf(c, "n1", "first"))
	helps := func() int { return strings.Count(strings.Join(m.Called(), "\n"), "--help-query-gpu") }
	read := func(instance string) uint64 {
		p := planOf(c, "n1", instance)
		n.read(t.Context(), p, &p.jobs[0])
		_, _, node, err := s.state("c/n1")
		require.NoError(t, err)
		require.Len(t, node.Devices, 1)
		return node.Devices[0].Epoch
	}
	first := read("first")
	assert.Equal(t, first, read("first"))
	assert.Equal(t, 1, helps())
	second := read("second")
	assert.Greater(t, second, first)
	assert.Equal(t, second, read("second"))
	assert.Equal(t, 2, helps())
	assert.Len(t, n.readers, 1)
}

// amdTool is a container with rocm-smi and amd-smi, which list this many GPUs.
func amdTool(cards int) exectest.Box {
	return exectest.Commands(func(argv []string, stdout, _ io.Writer, _ <-chan struct{}) int {
		var entries []string
		for i := range cards {
			entry := fmt.Sprintf(`"card%d": {"Unique ID": "0x%x", "PCI Bus": "0000:0%d:00.0"}`, i, 12+i, 3+i)
			if argv[0] == "amd-smi" {
				entry = fmt.Sprintf(`{"gpu": %d, "bdf": "0000:0%d:00.0", "hip_uuid": "GPU-%016x"}`, i, 3+i, 12+i)
			}
			entries = append(entries, entry)
		}
		list := strings.Join(entries, ", ")
		switch {
		case argv[1] == "--json":
			fmt.Fprintf(stdout, "{%s}", list)
		case argv[1] == "list":
			fmt.Fprintf(stdout, "[%s]", list)
		case argv[0] == "amd-smi":
			fmt.Fprint(stdout, "[]")
		}
		return 0
	})
}

// The pod with AMD's tool is replaced: a lost GPU stays lost, and a GPU lost in the meantime is reported.
func TestReadAMDInAnotherContainer(t *testing.T) {
	for _, tool := range []string{ToolROCmSMI, ToolAMDSMI} {
		t.Run(tool, func(t *testing.T) {
			c, _, s, _ := bare(1, 0)
			pods := &direct{boxes: map[string]exectest.Box{}}
			c.executor = pods
			c.targets[0] = TargetConfig{Tool: tool}
			n := newNode(c, "n1", planOf(c, "n1", "first"))
			read := func(instance string, cards int) []gpu.Device {
				pods.boxes["n1"] = amdTool(cards)
				p := planOf(c, "n1", instance)
				n.read(t.Context(), p, &p.jobs[0])
				_, _, node, err := s.state("c/n1")
				require.NoError(t, err)
				return node.Devices
			}
			require.Len(t, read("first", 3), 3)
			require.Len(t, read("first", 2), 3)
			for _, instance := range []string{"second", "second", "third"} {
				devices := read(instance, 1)
				require.Len(t, devices, 3, instance)
				assert.Empty(t, devices[0].Faults)
				for _, lost := range devices[1:] {
					require.Len(t, lost.Faults, 1)
					assert.Equal(t, gpu.FaultLost, lost.Faults[0].Type)
				}
			}
			devices := read("fourth", 3)
			require.Len(t, devices, 3)
			assert.Empty(t, devices[2].Faults)
		})
	}
}

// busy refuses to read the process table.
type busy struct{ exec.Executor }

func (b busy) Exec(ctx context.Context, container exec.Container, argv []string, out *exec.Output) (int, error) {
	if exectest.IsProcessScript(argv) {
		return 0, &exec.Refusal{Code: 429, RetryAfter: 2 * time.Minute}
	}
	return b.Executor.Exec(ctx, container, argv, out)
}

// The API server asks for a pause when the process table is read: the GPU values are kept, and the pause is observed and counted.
func TestReadThrottledAtTheProcessTable(t *testing.T) {
	c, _, s, _ := bare(1, 0)
	m := &exectest.Machine{UUID: "GPU-1", Processes: []string{"41, GPU-1, 100 MiB, python3\n"}}
	c.executor = busy{&direct{boxes: map[string]exectest.Box{"n1": m.Box()}}}
	now := time.Now()
	c.now = func() time.Time { return now }
	p := planOf(c, "n1", "first")
	p.jobs[0].container.HostPID = true
	n := newNode(c, "n1", p)
	n.readers[p.jobs[0].reader()] = newReader(c, p.jobs[0].target, attribution.NewRemote(nil, interval))
	n.read(t.Context(), p, &p.jobs[0])

	_, _, node, err := s.state("c/n1")
	require.NoError(t, err)
	require.Len(t, node.Devices, 1)
	require.Len(t, node.Problems, 1)
	require.ErrorContains(t, node.Problems[0].Err, "read the process table: the API server answered 429 Too Many Requests")
	assert.Equal(t, int64(1), c.stats().Throttled)
	assert.Equal(t, now.Add(2*time.Minute), c.paused)
}
