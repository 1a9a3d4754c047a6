// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"context"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

// unhang ends a fault, and waits until the call that hung has returned.
func (b *bench) unhang(text string) {
	b.t.Helper()
	b.set(text)
	require.Eventually(b.t, func() bool { return b.pool.Outstanding() == 0 }, time.Minute, time.Millisecond)
}

func TestHungCall(t *testing.T) {
	for _, function := range []string{
		"nvmlDeviceGetTemperature", "nvmlDeviceGetFieldValues", "nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetSamples",
	} {
		t.Run(function, func(t *testing.T) {
			b := start(t, "gpus = 8")
			before := b.read()
			healthy(t, before, 8)
			epoch := gpuAt(t, before, 5).Epoch
			b.set("[fault f]\ngpu = 5\nfunction = " + function + "\nhang = true")

			n := b.readUntilHung(1)
			healthy(t, n, 8, 5)
			failed(t, n, 5, gpu.FaultHung)
			assert.Equal(t, [2]int64{7, 1}, presence(n))

			for range 3 {
				n = b.read()
				healthy(t, n, 8, 5)
				failed(t, n, 5, gpu.FaultHung)
			}
			b.unhang("")
			n = b.read()
			healthy(t, n, 8)
			assert.Equal(t, epoch, gpuAt(t, n, 5).Epoch, "a slow answer is no reset")
		})
	}
}

// A call that hangs is the only one on its device, and costs one goroutine and one thread, however often the source is read.
func TestHungCallDoesNotGrow(t *testing.T) {
	counters, err := nvmlsim.OpenCounters(simulator(t).Full)
	require.NoError(t, err)
	b := start(t, "gpus = 8")
	b.read()
	b.set("[fault f]\ngpu = 2\nfunction = nvmlDeviceGetPerformanceState\nhang = true")
	b.readUntilHung(1)
	for range 20 {
		b.read()
	}
	goroutines, threads := runtime.NumGoroutine(), threadCount(t)
	for range 200 {
		failed(t, b.read(), 2, gpu.FaultHung)
		require.LessOrEqual(t, counters.Outstanding(), 1)
	}
	assert.Eventually(t, func() bool { return runtime.NumGoroutine() <= goroutines+1 }, time.Minute, time.Millisecond) // this one
	assert.LessOrEqual(t, threadCount(t), threads+50, "of 200 reads")                                                  // Go starts threads for its own reasons, too
	b.unhang("")
	healthy(t, b.read(), 8)
}

func TestEveryCallHangs(t *testing.T) {
	b := start(t, "gpus = 4")
	b.read()
	b.set("[fault f]\ngpu = *\nfunction = nvmlDevice*\nhang = true")
	for _, n := range []*gpu.Node{b.readUntilHung(4), b.read(), b.read()} {
		for i := range 4 {
			failed(t, n, i, gpu.FaultHung)
		}
	}
	assert.Equal(t, 4, b.pool.Outstanding())
	b.unhang("")
	healthy(t, b.read(), 4)
}

func TestInitHangs(t *testing.T) {
	b := start(t, "gpus = 2\n[fault f]\nfunction = nvmlInit\nhang = true")
	n := b.readUntilHung(1)
	assert.Empty(t, ids(n))
	require.ErrorContains(t, problem(t, n, "driver").Err, "nvmlInit has not returned since")
	n = b.read() // it is not waited for again
	require.ErrorContains(t, problem(t, n, "driver").Err, "nvmlInit has not returned since")
	require.NoError(t, b.control.Write("[fault f]\npresent = false"))
	require.Eventually(t, func() bool { return len(b.read().Devices) == 2 }, time.Minute, 5*time.Millisecond)
}

// Close does not wait for a call that hangs. The driver is closed when the call returns.
func TestCloseWhileHung(t *testing.T) {
	for name, fault := range map[string]string{
		"in a call":  "[fault f]\ngpu = 1\nfunction = nvmlDeviceGetTemperature\nhang = true",
		"in an init": "[fault f]\nfunction = nvmlInit\nhang = true",
	} {
		t.Run(name, func(t *testing.T) {
			counters, err := nvmlsim.OpenCounters(simulator(t).Full)
			require.NoError(t, err)
			b := start(t, "gpus = 2\n"+fault)
			b.readUntilHung(1)
			counters.Reset()
			require.NoError(t, b.Close()) // although the call hangs until below
			_, err = b.Read(t.Context())
			require.ErrorIs(t, err, errClosed)
			assert.Zero(t, counters.Calls("nvmlShutdown"))
			require.NoError(t, b.control.Write("[fault f]\npresent = false"))
			require.Eventually(t, func() bool { return counters.Calls("nvmlShutdown") == 1 }, time.Minute, time.Millisecond)
		})
	}
}

func TestCloseEndsARead(t *testing.T) {
	b := start(t, "gpus = 2")
	b.read()
	b.set("[fault f]\ngpu = 1\nfunction = nvmlDeviceGetTemperature\nhang = true")
	ended := make(chan error, 1)
	go func() {
		_, err := b.Read(context.Background())
		ended <- err
	}()
	b.await(b.hung(1))
	require.NoError(t, b.Close()) // although the call hangs until below
	require.ErrorIs(t, <-ended, errClosed)
	b.unhang("")
}

func TestCancelEndsARead(t *testing.T) {
	b := start(t, "gpus = 2")
	b.read()
	b.set("[fault f]\ngpu = 1\nfunction = nvmlDeviceGetTemperature\nhang = true")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := b.Read(ctx)
		ended <- err
	}()
	b.await(b.hung(1))
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	b.unhang("")
	healthy(t, b.read(), 2)
}

func threadCount(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/task")
	require.NoError(t, err)
	return len(entries)
}

// A call that hangs keeps NVML from being opened again. That costs the other GPUs nothing, although NVML counts more GPUs by then: neither
// the metrics of the time since the last read, nor the samples in between.
func TestHungWhileGPUsAppear(t *testing.T) {
	const appears = "[gpu 2]\npresent = true\n"
	b := start(t, "gpus = 3\ntime = manual\n[gpu 2]\npresent = false\n[process p]\ngpu = 0\npid = 51003\nmemory = 2Gi\nsm = 55")
	b.schedule(10, "")
	b.read()
	for i := range 3 {
		b.schedule(float64(20+10*i), appears+"[fault f]\ngpu = 1\nfunction = nvmlDeviceGetTemperature\nhang = true")
		read := b.read
		if i == 0 {
			read = func() *gpu.Node { return b.readUntilHung(1) }
		}
		n := read()
		healthy(t, n, 2, 1)
		failed(t, n, 1, gpu.FaultHung)
		assert.True(t, gpuAt(t, n, 0).Pipes[gpu.PipeGraphics].Known())
		require.Len(t, n.Processes, 1)
		approx(t, 0.55, n.Processes[0].Utilization[gpu.TaskGeneral], "of the process")
	}
	b.unhang("now = 60\n" + appears)
	healthy(t, b.read(), 3)
}

// The driver is gone for all GPUs but one, whose call hangs: they are missing while it is, and no problem remains afterwards.
func TestHungWhileTheDriverIsGone(t *testing.T) {
	const hung = "[fault f]\ngpu = 1\nfunction = nvmlDeviceGetTemperature\nhang = true\n"
	b := start(t, "gpus = 3")
	b.read()
	b.set(hung)
	n := b.readUntilHung(1)
	healthy(t, n, 3, 1)
	epoch := gpuAt(t, n, 0).Epoch
	b.set(hung + "[fault g]\ngpu = 0,2\nreturn = UNINITIALIZED")
	for range 3 {
		n = b.read()
		failed(t, n, 0, gpu.FaultUnreachable)
		failed(t, n, 1, gpu.FaultHung)
		assert.Contains(t, failed(t, n, 2, gpu.FaultUnreachable).Faults[0].Message, "not initialised")
		assert.Equal(t, [2]int64{0, 3}, presence(n))
	}
	b.set(hung)
	n = b.read()
	healthy(t, n, 3, 1)
	assert.Empty(t, n.Problems)
	assert.NotEqual(t, epoch, gpuAt(t, n, 0).Epoch)
	b.unhang("")
	n = b.read()
	healthy(t, n, 3)
	assert.Empty(t, n.Problems)
}

// Devices are read in parallel if the driver is slow.
func TestSlowDriver(t *testing.T) {
	b := start(t, "gpus = 8")
	counters, err := nvmlsim.OpenCounters(simulator(t).Full)
	require.NoError(t, err)
	b.read()
	b.set("[fault f]\ngpu = *\nfunction = nvmlDeviceGetTemperature\nhang = true")
	read := make(chan *gpu.Node, 1)
	go func() { read <- b.read() }()
	require.Eventually(t, func() bool { return counters.Outstanding() == 8 }, time.Minute, time.Millisecond)
	require.NoError(t, b.control.Set(""))
	healthy(t, <-read, 8)
}
