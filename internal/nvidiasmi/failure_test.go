// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestFailures(t *testing.T) {
	const answered = gpu.NumFailureReasons // the read is good
	for name, tt := range map[string]struct {
		answer answer
		faults []gpu.FaultType // of the known GPUs; without one they are unread
		reason gpu.FailureReason
		says   string
		rests  bool
		reload bool
	}{
		"driver not loaded": {
			answer{stdout: "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.\n\n", exit: 9},
			nil, gpu.FailureDriver, "modprobe nvidia), wait for the end of an upgrade", true, true,
		},
		"driver mismatch": {
			answer{stdout: "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 535.104\n", exit: 18},
			[]gpu.FaultType{gpu.FaultDriverMismatch},
			gpu.FailureDriver, "reboot, or unload the module", false, true,
		},
		"NVML unknown error": {
			answer{stdout: "Failed to initialize NVML: Unknown Error\n", exit: 255},
			nil, gpu.FailureToolFailed, "systemd daemon-reload", false, false,
		},
		"no permission": {
			answer{stdout: "Failed to initialize NVML: Insufficient Permissions\n", exit: 4},
			nil, gpu.FailurePermission, "/dev/nvidiactl", true, false,
		},
		"no library": {
			answer{stdout: "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. Please make sure that the NVIDIA Display Driver is properly installed and present in your system.\n", exit: 12},
			nil, gpu.FailureLibrary, "libnvidia-ml.so.1", true, true,
		},
		"no devices": {answer{stdout: "No devices were found\n", exit: 6}, []gpu.FaultType{gpu.FaultUnreachable}, answered, "lspci", true, true},
		"no GPU listed": {
			answer{stdout: "<nvidia_smi_log><driver_version>580.95.05</driver_version><attached_gpus>0</attached_gpus></nvidia_smi_log>"},
			[]gpu.FaultType{gpu.FaultUnreachable},
			answered, "it lists no GPU", true, true,
		},
		"tool mismatch": {
			answer{stdout: "Mismatch in versions between nvidia-smi and NVML.\nAre you sure you are using nvidia-smi provided with the driver?\n", exit: 255},
			nil, gpu.FailureToolFailed, "run the nvidia-smi of the installed driver", true, false,
		},
		"unknown call":  {answer{stdout: "Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n", exit: 2}, nil, gpu.FailureToolFailed, "does not support the call", true, false},
		"another code":  {answer{stderr: "something else\n", exit: 255}, nil, gpu.FailureToolFailed, "exit code 255: something else", true, false},
		"killed":        {answer{exit: -1}, nil, gpu.FailureToolFailed, "exit code -1", true, false},
		"tool missing":  {answer{err: fmt.Errorf("%w: no nvidia-smi in /usr/bin", command.ErrNotFound)}, nil, gpu.FailureToolMissing, "no nvidia-smi in /usr/bin", true, false},
		"hang":          {answer{err: fmt.Errorf("nvidia-smi: %w: killed", command.ErrTimeout)}, nil, gpu.FailureTimeout, "did not end in time", false, false},
		"still hanging": {answer{err: fmt.Errorf("nvidia-smi: %w since noon", command.ErrBusy)}, nil, gpu.FailureTimeout, "still running since noon", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			// No GPU was seen yet.
			f := &tool{xml: tt.answer}
			c := newClock()
			r := newReader(t, QueryFull, f, c)
			node := read(t, r)
			assert.Empty(t, node.Devices)
			assert.Empty(t, node.Processes)
			require.Len(t, node.Problems, 1)
			require.ErrorContains(t, node.Problems[0].Err, tt.says)
			want := [gpu.NumPresences]gpu.Opt[int64]{gpu.Visible: gpu.Some(int64(0))}
			if tt.faults == nil {
				want = [gpu.NumPresences]gpu.Opt[int64]{}
			}
			assert.Equal(t, want, presence(node), "whether a GPU is missing is unknown")
			assert.Equal(t, tt.reason, failureOf(node))
			batches := len(f.batches)
			again := read(t, r)
			assert.Equal(t, tt.rests, len(f.batches) == batches, "batches: %v", f.batches)
			assert.Contains(t, problems(again), tt.says, "the problem lasts during the back-off")
			assert.Equal(t, tt.reason, failureOf(again), "and so does the failure")

			// GPUs are known.
			f = h100Tool(t)
			r = newReader(t, QueryFull, f, c)
			before := deviceOf(t, read(t, r), h100First).Epoch
			healthy := f.xml
			f.xml = tt.answer
			node = read(t, r)
			assert.Equal(t, []string{h100First, h100Second}, ids(node))
			assert.Equal(t, tt.reason, failureOf(node))
			if tt.faults != nil {
				assert.Equal(t, counts(0, 2), presence(node))
			} else {
				assert.Equal(t, [gpu.NumPresences]gpu.Opt[int64]{}, presence(node))
			}
			for i := range node.Devices {
				d := &node.Devices[i]
				assert.Equal(t, append([]gpu.FaultType{}, tt.faults...), faults(d))
				assert.Equal(t, tt.faults == nil, d.Unread, "it cannot be read, which says nothing about it")
				assert.True(t, d.ProcessesUnread)
				assert.Equal(t, "580.95.05", d.Info.DriverVersion)
				assert.False(t, d.Memory.Usage.Known())
			}
			f.xml = healthy
			c.pass(retryPolicy.Max)
			after := deviceOf(t, read(t, r), h100First).Epoch
			assert.Equal(t, tt.reload, after > before, "epoch %d, before %d", after, before)
		})
	}
}

func TestBackOff(t *testing.T) {
	f := &tool{xml: answer{err: fmt.Errorf("%w: no nvidia-smi", command.ErrNotFound)}}
	c := newClock()
	r := newReader(t, QueryFull, f, c)
	var looks []time.Duration
	begin := c.now
	for c.now.Sub(begin) < 30*time.Minute {
		n := len(f.batches)
		read(t, r)
		if len(f.batches) > n {
			looks = append(looks, c.now.Sub(begin))
		}
		c.pass(10 * time.Second)
	}
	assert.Equal(t, []time.Duration{
		0, 10 * time.Second, 30 * time.Second, 70 * time.Second, 150 * time.Second, 310 * time.Second,
		610 * time.Second, 910 * time.Second, 1210 * time.Second, 1510 * time.Second,
	}, looks)

	healthy := h100Tool(t)
	f.xml, f.list = healthy.xml, healthy.list
	c.pass(retryPolicy.Max)
	assert.Len(t, read(t, r).Devices, 2, "a tool that was installed later is found")
	f.xml = answer{err: fmt.Errorf("%w: no nvidia-smi", command.ErrNotFound)}
	n := len(f.batches)
	read(t, r)
	c.pass(retryPolicy.First)
	read(t, r)
	assert.Len(t, f.batches, n+2, "the back-off starts again")
}

// failureOf returns why a node could not be read; NumFailureReasons if it was read.
func failureOf(node *gpu.Node) gpu.FailureReason {
	if node.Failure == nil {
		return gpu.NumFailureReasons
	}
	return node.Failure.Reason
}

// A fast read without a complete GPU fails, too.
func TestFastQueryFails(t *testing.T) {
	f := tableTool(t, allNames())
	r := newReader(t, QueryFast, f, newClock())
	before := read(t, r)
	assert.Nil(t, before.Failure)
	table := f.table
	f.table = func([]string) answer { return answer{exit: -1} }
	node := read(t, r)
	assert.Equal(t, gpu.FailureToolFailed, failureOf(node))
	assert.Equal(t, ids(before), ids(node))
	assert.True(t, node.Devices[0].Unread)
	f.table = table
	node = read(t, r)
	assert.Nil(t, node.Failure)
	assert.False(t, node.Devices[0].Unread)
}
