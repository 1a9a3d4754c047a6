// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// card is a GPU with counts.
func card(epoch uint64, pages gpu.Opt[int64], errors ...gpu.ErrorCount) gpu.Device {
	return gpu.Device{
		ID: "amd-1", Name: "card1", Model: "MI300X", Vendor: gpu.AMD, Epoch: epoch, Errors: errors, RetiredPages: gpu.RetiredPages{Bad: pages},
	}
}

func counted(kind gpu.ErrorType, block string, n int64) gpu.ErrorCount {
	return gpu.ErrorCount{Type: kind, Block: block, Count: gpu.Total(n)}
}

// rise is what an event says has risen.
type rise struct {
	kind  gpu.EventType
	class gpu.ErrorClass
	block string
	n     int64
}

func risesOf(events []gpu.Event) (all []rise) {
	for _, e := range events {
		n, _ := e.Errors.Get()
		all = append(all, rise{e.Type, e.Class, e.Part, n})
	}
	return all
}

func TestRASCountersThatRise(t *testing.T) {
	var c rasChanges
	start := time.Unix(1000, 0)
	read := func(devices ...gpu.Device) []gpu.Event {
		return c.next(&gpu.Node{Vendor: gpu.AMD, Time: start, Devices: devices}, false)
	}
	pages := gpu.Some[int64]
	assert.Empty(t, read(card(0, pages(3), counted(gpu.ErrorCorrected, "umc", 7), counted(gpu.ErrorUncorrected, "umc", 1))), "the first read")
	events := read(card(0, pages(5), counted(gpu.ErrorCorrected, "umc", 9), counted(gpu.ErrorUncorrected, "umc", 1), counted(gpu.ErrorDeferred, "gfx", 4)))
	assert.Equal(t, []rise{
		{gpu.EventRASError, gpu.ClassCorrected, "umc", 2}, {gpu.EventBadPages, 0, "", 2},
	}, risesOf(events), "a block that was not counted before says nothing")
	assert.Equal(t, gpu.Event{
		Type: gpu.EventRASError, Time: start, DeviceID: "amd-1", Name: "card1", Model: "MI300X", Vendor: gpu.AMD, Class: gpu.ClassCorrected, Part: "umc",
		Errors: gpu.Some[int64](2),
	}, events[0])
	assert.Equal(t, pages(5), events[1].Pages)
	unread := card(0, gpu.Opt[int64]{})
	unread.Unread = true
	assert.Empty(t, read(unread))
	assert.Empty(t, read())
	assert.Equal(t, []rise{{gpu.EventRASError, gpu.ClassDeferred, "gfx", 1}}, risesOf(read(card(0, gpu.Opt[int64]{}, counted(gpu.ErrorDeferred, "gfx", 5)))))
	assert.Empty(t, read(card(0, pages(5), counted(gpu.ErrorCorrected, "umc", 9))), "what a read did not have stayed as it was")
	assert.Equal(t, []rise{{gpu.EventRASError, gpu.ClassCorrected, "umc", 2}}, risesOf(read(card(0, pages(5), counted(gpu.ErrorCorrected, "umc", 2)))), "the driver was loaded again")
	assert.Equal(t, []rise{{gpu.EventRASError, gpu.ClassCorrected, "umc", 6}}, risesOf(read(card(1, pages(5), counted(gpu.ErrorCorrected, "umc", 6)))), "and again, as the source knows")
	lifetime := counted(gpu.ErrorCorrected, "umc", 900)
	lifetime.Lifetime = true
	assert.Equal(t, []rise{{gpu.EventRASError, gpu.ClassCorrected, "umc", 1}},
		risesOf(read(card(1, pages(5), counted(gpu.ErrorCorrected, "umc", 7), lifetime))), "what was counted before the driver was loaded is no event")
	nvidia := card(1, gpu.Opt[int64]{}, counted(gpu.ErrorCorrected, "umc", 99))
	nvidia.Vendor = gpu.NVIDIA
	assert.Empty(t, read(nvidia), "which has XIDs")
}

// What the kernel's log has is not sent twice, and what it may not have is sent.
func TestRASCountersBesideTheKernelLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reading, n := false, int64(0)
		p := New(Options{
			Logger: zap.NewNop(), Events: true, KernelLog: true, Vendor: gpu.AMD, LogRead: func() bool { return reading },
		})
		for i, step := range []struct {
			reading bool
			events  int
		}{{false, 0}, {false, 1}, {true, 1}, {true, 0}, {true, 0}, {false, 1}} {
			reading, n = step.reading, n+1
			p.Take(t.Context(), &gpu.Node{Vendor: gpu.AMD, Devices: []gpu.Device{card(0, gpu.Opt[int64]{}, counted(gpu.ErrorUncorrected, "umc", n))}})
			require.Len(t, p.TakeEvents(), step.events, "read %d", i)
			time.Sleep(3 * repeatPeriod) // past the sums
			p.TakeEvents()
		}
		p.TakeLastEvents()
	})
}
