// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kernellog"
)

const amdAddress = "0000:03:00.0"

// followedAMD is a pipeline that has seen an AMD GPU which a container holds.
func followedAMD(t *testing.T) *Pipeline {
	t.Helper()
	p := New(Options{Logger: zap.NewNop(), Events: true, KernelLog: true, Vendor: gpu.AMD, Sys: t.TempDir()})
	p.Take(t.Context(), &gpu.Node{Vendor: gpu.AMD, Devices: []gpu.Device{{
		ID: "amd-1", Name: "card1", Model: "MI300X", Vendor: gpu.AMD, Info: gpu.Info{PCIAddress: amdAddress},
		Holders: []gpu.Holder{{Container: &gpu.Container{Namespace: "team", PodName: "train-0", Name: "main"}}}, HoldersKnown: true,
	}}})
	p.TakeEvents()
	return p
}

// amdLine is a line of amdgpu.
func amdLine(kind kernellog.Kind) kernellog.Event {
	return kernellog.Event{Kind: kind, Address: amdAddress, Time: time.Now(), Text: "text"}
}

func rasLine(class gpu.ErrorClass, count int64) kernellog.Event {
	e := amdLine(kernellog.KindRAS)
	e.Class, e.Count, e.Part = class, gpu.Some(count), "umc"
	return e
}

// A fault that AMD's driver reports is an event of the GPU, with its holders.
func TestFaultsOfAMD(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := followedAMD(t)
		limit, pages, other := amdLine(kernellog.KindBadPageLimit), amdLine(kernellog.KindBadPages), amdLine(kernellog.KindResetBegun)
		limit.Count, pages.Count, other.Address = gpu.Some[int64](128), gpu.Some[int64](2), "0000:43:00.0"
		p.log(rasLine(gpu.ClassUncorrected, 2), pages, limit, other, xidLine(79))
		events := p.TakeEvents()
		require.Len(t, events, 4, "no XID of another vendor")
		for i := range events[:3] {
			e := &events[i]
			assert.Equal(t, "amd-1", e.DeviceID)
			assert.Equal(t, "card1", e.Name)
			assert.Equal(t, gpu.AMD, e.Vendor)
			assert.Equal(t, "text", e.Detail)
			assert.Len(t, e.Holders, 1)
			assert.NotEmpty(t, e.UID)
		}
		assert.Equal(t, gpu.EventRASError, events[0].Type)
		assert.Equal(t, gpu.ClassUncorrected, events[0].Class)
		assert.Equal(t, gpu.Some[int64](2), events[0].Errors)
		assert.Equal(t, gpu.EventBadPages, events[1].Type)
		assert.Equal(t, gpu.Some[int64](2), events[1].Errors)
		assert.Equal(t, gpu.EventBadPages, events[2].Type)
		assert.True(t, events[2].AtLimit)
		assert.Equal(t, gpu.Some[int64](128), events[2].Pages)
		assert.Equal(t, gpu.EventReset, events[3].Type)
		assert.Equal(t, "node/0000:43:00.0", events[3].DeviceID, "a GPU that was not seen")
		assert.Equal(t, gpu.AMD, events[3].Vendor)
	})
}

// A burst of corrected errors is the first one immediately, and a sum.
func TestBurstOfRASErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := followedAMD(t)
		for range 100 {
			p.log(rasLine(gpu.ClassCorrected, 3))
			time.Sleep(10 * time.Millisecond)
		}
		p.log(rasLine(gpu.ClassCorrected, 5))
		require.Len(t, p.TakeEvents(), 1)
		time.Sleep(repeatPeriod)
		synctest.Wait()
		events := p.TakeEvents()
		require.Len(t, events, 1)
		assert.EqualValues(t, 100, events[0].Count)
		assert.Equal(t, gpu.Some[int64](99*3+5), events[0].Errors)
		p.TakeLastEvents()
	})
}

// An older driver has totals only.
func TestTotalsOfRASErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := followedAMD(t)
		for _, step := range []struct {
			total int64
			want  gpu.Opt[int64]
		}{{7, gpu.Opt[int64]{}}, {9, gpu.Some[int64](2)}, {4, gpu.Some[int64](4)}} {
			line := rasLine(gpu.ClassUncorrected, step.total)
			line.Total = true
			p.log(line)
			events := p.TakeLastEvents()
			require.Len(t, events, 1)
			assert.Equal(t, step.want, events[0].Errors, "total %d", step.total)
		}
	})
}

func TestReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := followedAMD(t)
		states := func(kinds ...kernellog.Kind) (all []gpu.ResetState) {
			for _, kind := range kinds {
				p.log(amdLine(kind))
			}
			for _, e := range p.TakeEvents() {
				require.Equal(t, gpu.EventReset, e.Type)
				all = append(all, e.Reset)
			}
			return all
		}
		assert.Equal(t, []gpu.ResetState{gpu.ResetStarted, gpu.ResetSucceeded}, states(kernellog.KindResetBegun, kernellog.KindResetSucceeded))
		assert.Equal(t, []gpu.ResetState{gpu.ResetStarted, gpu.ResetFailed},
			states(kernellog.KindResetBegun, kernellog.KindResetFailed, kernellog.KindResetFailed), "one failure in two lines")
		assert.Equal(t, []gpu.ResetState{gpu.ResetStarted, gpu.ResetFailed}, states(kernellog.KindResetBegun, kernellog.KindResetFailed))
	})
}

// The process comes with the line after the line of the ring, or not at all.
func TestRingTimeout(t *testing.T) {
	ring, process := amdLine(kernellog.KindRingTimeout), amdLine(kernellog.KindRingProcess)
	ring.Part, process.PID, process.Process = "gfx", gpu.Some[int64](42), "python3"
	recovered := ring
	recovered.Recovered = true
	other := process
	other.Address = "0000:43:00.0"
	for name, c := range map[string]struct {
		lines []kernellog.Event
		wait  time.Duration
		want  []gpu.EventType
		pid   int64
	}{
		"process":              {[]kernellog.Event{ring, process}, 0, []gpu.EventType{gpu.EventRingTimeout}, 42},
		"no process":           {[]kernellog.Event{ring}, holdPeriod, []gpu.EventType{gpu.EventRingTimeout}, 0},
		"not yet":              {[]kernellog.Event{ring, other}, 0, nil, 0},
		"another line between": {[]kernellog.Event{ring, amdLine(kernellog.KindResetBegun), process}, 0, []gpu.EventType{gpu.EventRingTimeout, gpu.EventReset}, 0},
		"recovered":            {[]kernellog.Event{recovered}, 0, []gpu.EventType{gpu.EventRingTimeout}, 0},
		"only a process":       {[]kernellog.Event{process}, holdPeriod, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := followedAMD(t)
				for _, line := range c.lines {
					p.log(line)
				}
				time.Sleep(c.wait)
				synctest.Wait()
				var got []gpu.EventType
				for _, e := range p.TakeEvents() {
					got = append(got, e.Type)
					if e.Type == gpu.EventRingTimeout && c.pid > 0 {
						assert.Equal(t, &gpu.Process{PID: c.pid, Executable: "python3"}, e.Process)
					} else {
						assert.Nil(t, e.Process)
					}
				}
				assert.Equal(t, c.want, got)
				p.TakeLastEvents()
			})
		})
	}
}

// Nothing that waits is lost when the pipeline ends.
func TestRingTimeoutAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := followedAMD(t)
		p.log(amdLine(kernellog.KindRingTimeout))
		assert.Len(t, p.TakeLastEvents(), 1)
	})
}

// A line that the GPU has fallen off the bus is an event if no XID 79 says the same.
func TestFallenOffTheBus(t *testing.T) {
	fallen := func() kernellog.Event {
		return kernellog.Event{Kind: kernellog.KindFallenOffBus, Address: address, Time: time.Now(), Text: "GPU has fallen off the bus."}
	}
	types := func(events []gpu.Event) (all []gpu.EventType) {
		for _, e := range events {
			all = append(all, e.Type)
		}
		return all
	}
	for name, c := range map[string]struct {
		do   func(p *Pipeline)
		want []gpu.EventType
	}{
		"alone":         {func(p *Pipeline) { p.log(fallen()) }, []gpu.EventType{gpu.EventLost}},
		"after the XID": {func(p *Pipeline) { p.log(xidLine(79), fallen()) }, []gpu.EventType{gpu.EventXID}},
		"before it":     {func(p *Pipeline) { p.log(fallen(), xidLine(79)) }, []gpu.EventType{gpu.EventXID}},
		"XID of the source": {func(p *Pipeline) {
			p.log(fallen())
			p.AddEvents([]gpu.Event{xidOn("GPU-a", 79)})
		}, []gpu.EventType{gpu.EventXID}},
		"another XID": {func(p *Pipeline) { p.log(xidLine(31), fallen()) }, []gpu.EventType{gpu.EventXID, gpu.EventLost}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := followed(t)
				c.do(p)
				time.Sleep(holdPeriod)
				synctest.Wait()
				assert.Equal(t, c.want, types(p.TakeEvents()))
				p.TakeLastEvents()
			})
		})
	}
}

// An error of a link belongs to the GPU, also if the port above it reports the error, if no other GPU is below this port.
func TestPCIeErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sys := t.TempDir()
		require.NoError(t, os.MkdirAll(filepath.Join(sys, "bus/pci/devices"), 0o755))
		for address, path := range map[string]string{
			"0000:9b:00.0": "pci0000:9a/0000:9a:01.0/0000:9b:00.0", "0000:03:00.0": "pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0/0000:03:00.0",
			"0000:05:00.0": "pci0000:00/0000:00:01.0/0000:01:00.0/0000:04:00.0/0000:05:00.0",
		} {
			require.NoError(t, os.Symlink("../../../devices/"+path, filepath.Join(sys, "bus/pci/devices", address)))
		}
		p := New(Options{Logger: zap.NewNop(), Events: true, KernelLog: true, Vendor: gpu.NVIDIA, Sys: sys})
		node := gpu.Node{Vendor: gpu.NVIDIA}
		for _, address := range []string{"0000:9b:00.0", "0000:03:00.0", "0000:05:00.0", "0000:06:00.0"} {
			node.Devices = append(node.Devices, gpu.Device{ID: address + "!", Vendor: gpu.NVIDIA, Info: gpu.Info{PCIAddress: address}})
		}
		p.Take(t.Context(), &node)
		p.TakeEvents()
		for address, want := range map[string]string{
			"0000:9b:00.0": "0000:9b:00.0!", "0000:9a:01.0": "0000:9b:00.0!", "0000:02:00.0": "0000:03:00.0!", "0000:04:00.0": "0000:05:00.0!",
			"0000:06:00.0": "0000:06:00.0!", "0000:00:01.0": "", "0000:01:00.0": "", "0000:7f:00.0": "",
		} {
			p.log(kernellog.Event{Kind: kernellog.KindPCIeError, Address: address, Time: time.Now(), Class: gpu.ClassFatal, Part: "Transaction"})
			events := p.TakeEvents()
			if want == "" {
				assert.Empty(t, events, address)
				continue
			}
			require.Len(t, events, 1, address)
			assert.Equal(t, want, events[0].DeviceID)
			assert.Equal(t, gpu.EventPCIeError, events[0].Type)
			assert.Equal(t, gpu.NVIDIA, events[0].Vendor)
			assert.Equal(t, address, events[0].PCIAddress)
			assert.Equal(t, gpu.ClassFatal, events[0].Class)
			assert.Equal(t, "Transaction", events[0].Part)
		}
		p.TakeLastEvents()
	})
}

// A flood of lines is held and remembered only within bounds, and no line is lost.
func TestKernelFaultsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKernelXIDs(gpu.AMD, "", func([]gpu.Event) {})
		kinds := []kernellog.Kind{kernellog.KindRingTimeout, kernellog.KindRAS, kernellog.KindResetFailed}
		var lines []kernellog.Event
		for i := range 3 * 2 * maxRemembered {
			line := rasLine(gpu.ClassCorrected, 1)
			line.Kind, line.Address, line.Total = kinds[i%3], fmt.Sprintf("%08x:00:00.0", i), true
			lines = append(lines, line)
		}
		passed := k.fromLog(&gpu.Host{Name: "n"}, lines)
		assert.LessOrEqual(t, len(k.faults.pending), maxPaired)
		assert.LessOrEqual(t, len(k.faults.totals), maxRemembered)
		assert.LessOrEqual(t, len(k.faults.resets), maxRemembered)
		assert.Len(t, append(passed, k.end()...), len(lines))
	})
}
