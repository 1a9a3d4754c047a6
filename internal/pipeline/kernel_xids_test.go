// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kernellog"
)

const address = "0000:9b:00.0"

// followed is a pipeline that has seen a GPU with two MIG instances of one GPU instance, and one of another.
func followed(t *testing.T) *Pipeline {
	t.Helper()
	p := New(Options{Logger: zap.NewNop(), Events: true, KernelLog: true, Vendor: gpu.NVIDIA})
	instance := func(id string, gi, ci int) gpu.Device {
		return gpu.Device{ID: id, Parent: "GPU-a", Vendor: gpu.NVIDIA, GPUInstance: gpu.Some(gi), ComputeInstance: gpu.Some(ci)}
	}
	p.Take(t.Context(), &gpu.Node{Vendor: gpu.NVIDIA, Devices: []gpu.Device{
		{ID: "GPU-a", Name: "nvidia0", Model: "H100", Vendor: gpu.NVIDIA, Info: gpu.Info{PCIAddress: address}},
		instance("MIG-1", 5, 0), instance("MIG-2", 5, 1), instance("MIG-3", 11, 0),
	}})
	p.TakeEvents()
	return p
}

// signalled reports whether it was signalled that events may wait, since the last call.
func signalled(signal <-chan struct{}) bool {
	select {
	case <-signal:
		return true
	default:
		return false
	}
}

// xidLine is an XID in the log.
func xidLine(code int64) kernellog.Event {
	return kernellog.Event{
		Kind: kernellog.KindXID, Address: address, XID: code, Time: time.Now().Add(-time.Millisecond), PID: gpu.Some[int64](42), Process: "python3", Text: "Ch 8",
	}
}

func (p *Pipeline) log(lines ...kernellog.Event) {
	p.AddKernelLog(&gpu.Host{Name: "host", NodeName: "node"}, lines)
}

func TestXIDInTheLogFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := followed(t)
		start := time.Now().Add(-time.Millisecond)
		p.log(xidLine(79))
		events := p.TakeEvents()
		require.Len(t, events, 1)
		assert.NotEmpty(t, events[0].UID)
		events[0].UID, events[0].Holders, events[0].Users = "", nil, nil
		assert.Equal(t, gpu.Event{
			Type: gpu.EventXID, Time: start, DeviceID: "GPU-a", Name: "nvidia0", Model: "H100", Vendor: gpu.NVIDIA, XID: 79,
			Process: &gpu.Process{PID: 42, Executable: "python3"}, Detail: "Ch 8",
		}, events[0])
		time.Sleep(30 * time.Second) // a lost GPU has its XIDs with the next read
		p.Take(t.Context(), &gpu.Node{Vendor: gpu.NVIDIA, Events: []gpu.Event{xidOn("GPU-a", 79)}})
		time.Sleep(time.Minute)
		assert.Empty(t, p.TakeEvents())
		p.AddEvents([]gpu.Event{xidOn("GPU-a", 79)})
		assert.True(t, signalled(p.Found()), "what is held may have to be stored")
		time.Sleep(holdPeriod)
		synctest.Wait()
		assert.True(t, signalled(p.Found()))
		assert.Len(t, p.TakeEvents(), 1, "another one, which the log does not have")
	})
}

// A process has the same name in an XID as everywhere else. The kernel's log has the name of a thread, at most 15 bytes.
func TestNameOfTheProcessOfAnXID(t *testing.T) {
	p := followed(t)
	p.options.MaxProcesses = 10
	living := map[int64]string{}
	p.kernel.executable = func(pid int64) string { return living[pid] }
	var code int64
	name := func(pid int64, comm string) string {
		t.Helper()
		code++ // equal XIDs would be summed
		line := xidLine(code)
		line.PID, line.Process = gpu.Some(pid), comm
		p.log(line)
		events := slices.DeleteFunc(p.TakeEvents(), func(e gpu.Event) bool { return e.Type != gpu.EventXID })
		require.Len(t, events, 1)
		return events[0].Process.Executable
	}
	take := func(processes ...gpu.Process) {
		p.Take(t.Context(), &gpu.Node{Vendor: gpu.NVIDIA, Processes: processes})
	}
	take(gpu.Process{PID: 42, Executable: "python3.12"}, gpu.Process{PID: 43})
	assert.Equal(t, "python3.12", name(42, "pt_data_worker"))
	assert.Equal(t, "python3", name(43, "python3"), "the read has no name")
	take()
	assert.Equal(t, "python3.12", name(42, "pt_data_worker"), "the error ended it before its line was read")
	assert.Equal(t, "python3", name(44, "python3"), "it was gone before a read")
	assert.Equal(t, "python3", name(44, "pt_data_worker"), "another thread of it")
	living[45] = "python3.12"
	assert.Equal(t, "python3.12", name(45, "python3"), "no read has it yet")
	delete(living, 45)
	assert.Equal(t, "python3.12", name(45, "python3"), "now it is gone")
	living[42] = "train"
	assert.Equal(t, "train", name(42, "train"), "another process has the PID, or it executes another program")
}

func TestXIDInTheSourceFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := followed(t)
		mig := xidOn("MIG-3", 31)
		mig.Parent, mig.Name = "GPU-a", "nvidia0/gi11/ci0"
		p.AddEvents([]gpu.Event{mig})
		time.Sleep(time.Second)
		assert.Empty(t, p.TakeEvents(), "it waits for its line")
		start := time.Now().Add(-time.Millisecond)
		p.log(xidLine(31))
		events := p.TakeEvents()
		require.Len(t, events, 1)
		assert.Equal(t, []any{"MIG-3", "GPU-a", "nvidia0/gi11/ci0", start, int64(42)},
			[]any{events[0].DeviceID, events[0].Parent, events[0].Name, events[0].Time, events[0].Process.PID}, "the source's device, the log's time and process")
		time.Sleep(time.Minute)
		assert.Empty(t, p.TakeEvents())
	})
}

// What only one of them has is sent, and neither another code nor another GPU matches.
func TestXIDInOneOfThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := followed(t)
		start := time.Now()
		p.AddEvents([]gpu.Event{xidOn("GPU-a", 13), {Type: gpu.EventStatus, DeviceID: "GPU-a"}})
		assert.Len(t, p.TakeEvents(), 1, "only XIDs are held")
		time.Sleep(time.Second)
		p.AddEvents([]gpu.Event{xidOn("GPU-b", 31)})
		p.log(xidLine(31))
		assert.Equal(t, []string{"GPU-a 31"}, texts(start, p.TakeEvents()))
		assert.True(t, signalled(p.Found()))
		time.Sleep(time.Second)
		synctest.Wait()
		assert.True(t, signalled(p.Found()))
		assert.Equal(t, []string{"GPU-a 13"}, texts(start, p.TakeEvents()))
		time.Sleep(time.Second)
		synctest.Wait()
		assert.True(t, signalled(p.Found()))
		assert.Equal(t, []string{"GPU-b 31"}, texts(start, p.TakeEvents()))
		p.AddEvents([]gpu.Event{xidOn("GPU-a", 43)})
		assert.Equal(t, []string{"GPU-a 43"}, texts(start, p.TakeLastEvents()), "at a shutdown nothing is held")
		signalled(p.Found())
		time.Sleep(time.Minute)
		assert.False(t, signalled(p.Found()))
	})
}

// For every order of the events, each XID is in exactly one event. The sums of repeats count them, too.
func TestXIDsArePairedOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := followed(t)
		p.log(xidLine(94), xidLine(94), xidLine(94))
		many := xidOn("GPU-a", 94)
		many.Count, many.First = 4, many.Time
		p.AddEvents([]gpu.Event{many}) // one more than the log has
		p.AddEvents([]gpu.Event{xidOn("GPU-a", 94), xidOn("GPU-a", 94)})
		p.log(xidLine(94), xidLine(94)) // one less
		time.Sleep(time.Minute)
		synctest.Wait()
		total, sums := int64(0), 0
		for _, e := range p.TakeEvents() {
			total += max(e.Count, 1)
			if e.Count > 1 {
				sums++
				assert.Nil(t, e.Process, "one of them came without")
			}
		}
		assert.EqualValues(t, 6, total)
		assert.Equal(t, 1, sums)
	})
}

// A sum keeps the process if all its XIDs have the same one.
func TestSumsOfTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := followed(t)
		p.log(xidLine(94), xidLine(94), xidLine(94))
		p.TakeEvents()
		time.Sleep(repeatPeriod)
		events := p.TakeEvents()
		require.Len(t, events, 1)
		assert.EqualValues(t, 2, events[0].Count)
		assert.Equal(t, &gpu.Process{PID: 42, Executable: "python3"}, events[0].Process)
		assert.Equal(t, "Ch 8", events[0].Detail)
	})
}

func TestDeviceOfALine(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*kernellog.Event)
		want   string
	}{
		"the GPU":                              {func(*kernellog.Event) {}, "GPU-a"},
		"an instance":                          {func(e *kernellog.Event) { e.GPUInstance, e.ComputeInstance = gpu.Some(5), gpu.Some(1) }, "MIG-2"},
		"the only compute instance":            {func(e *kernellog.Event) { e.GPUInstance = gpu.Some(11) }, "MIG-3"},
		"one of two compute instances":         {func(e *kernellog.Event) { e.GPUInstance = gpu.Some(5) }, "GPU-a"},
		"an instance that is not known":        {func(e *kernellog.Event) { e.GPUInstance, e.ComputeInstance = gpu.Some(5), gpu.Some(7) }, "GPU-a"},
		"a GPU that was never read":            {func(e *kernellog.Event) { e.Address = "0000:01:00.0" }, "node/0000:01:00.0"},
		"one whose UUID the log had before it": {func(e *kernellog.Event) { e.Address = "0000:02:00.0" }, "GPU-b"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := followed(t)
				p.log(kernellog.Event{Kind: kernellog.KindGPU, Address: "0000:02:00.0", UUID: "GPU-b"}, kernellog.Event{Kind: kernellog.KindResetBegun, Address: address})
				e := xidLine(79)
				c.change(&e)
				p.log(e)
				events := p.TakeEvents()
				require.Len(t, events, 1)
				assert.Equal(t, c.want, events[0].DeviceID)
			})
		})
	}
}

// A flood of XIDs is not held, and not remembered, without a bound.
func TestKernelXIDsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKernelXIDs(gpu.NVIDIA, "", func([]gpu.Event) {})
		many := make([]gpu.Event, 3*maxPaired)
		lines := make([]kernellog.Event, 3*maxRemembered)
		for i := range many {
			many[i] = xidOn("GPU-x", int64(i))
		}
		for i := range lines {
			lines[i] = xidLine(-1)
			lines[i].Kind = kernellog.Kind(i % 2)
			lines[i].Address += string(rune('a' + i))
		}
		assert.Len(t, k.fromSource(many), 2*maxPaired)
		assert.Len(t, k.sourceXIDs, maxPaired)
		assert.Len(t, k.fromLog(&gpu.Host{Name: "n"}, lines), 3*maxRemembered/2)
		assert.LessOrEqual(t, len(k.logXIDs), maxPaired)
		assert.LessOrEqual(t, len(k.gpus.uuids), maxRemembered)
		assert.Len(t, k.end(), maxPaired)
	})
}
