// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// machine is a source's inventory and its clock.
type machine struct {
	Inventory[int]

	t     *testing.T
	clock time.Time
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	return &machine{t: t, clock: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
}

// one returns the devices of a GPU that is not divided.
func one(id, address string) []gpu.Device {
	return []gpu.Device{{ID: id, Info: gpu.Info{PCIAddress: address}, Power: gpu.Power{Draw: gpu.Some(1.0)}}}
}

// names returns GPUs as id@address.
func names(all []*Known[int]) []string {
	result := make([]string, 0, len(all))
	for _, k := range all {
		result = append(result, k.ID()+"@"+k.Address())
	}
	return result
}

// read lists GPUs.
func (m *machine) read(gpus ...[]gpu.Device) (absent, forgotten []string) {
	m.t.Helper()
	m.clock = m.clock.Add(time.Minute)
	m.Begin(m.clock)
	for _, devices := range gpus {
		_, err := m.Record(devices)
		require.NoError(m.t, err)
	}
	a, f := m.End()
	return names(a), names(f)
}

func TestAbsent(t *testing.T) {
	m := newMachine(t)
	absent, forgotten := m.read(one("a", "03"), one("b", "04"), one("", "05"))
	assert.Empty(t, absent)
	assert.Empty(t, forgotten)
	lastSeen := m.clock
	for range 3 {
		absent, forgotten = m.read(one("b", "04"))
		assert.Equal(t, []string{"a@03", "@05"}, absent)
		assert.Empty(t, forgotten)
	}
	k := m.Find("a", "")
	assert.Equal(t, lastSeen, k.Seen)
	assert.False(t, m.Present(k))
	assert.Equal(t, []string{"a@03", "b@04", "@05"}, names(m.All()))
	absent, _ = m.read(one("a", "03"), one("b", "04"), one("", "05"))
	assert.Empty(t, absent, "they are back")
	m.Forget(k)
	absent, _ = m.read(one("b", "04"))
	assert.Equal(t, []string{"@05"}, absent, "the other was handed to another driver")
}

func TestTouch(t *testing.T) {
	m := newMachine(t)
	m.read(one("a", "03"))
	m.Begin(m.clock.Add(time.Minute))
	k := m.Find("a", "03")
	m.Touch(k)
	assert.Equal(t, m.clock.Add(time.Minute), k.Seen)
	_, err := m.Record(one("b", "03"))
	require.NoError(t, err)
	absent, forgotten := m.End()
	assert.Empty(t, absent, "a call on it is outstanding")
	assert.Empty(t, forgotten, "so it is not forgotten, whatever is at its address")
}

func TestState(t *testing.T) {
	m := newMachine(t)
	m.read(one("a", "03"))
	m.Find("a", "03").State = 42
	m.read(one("a", "07"))
	assert.Equal(t, 42, m.Find("a", "07").State, "it is the same GPU at another address")
	m.read(one("b", "07"))
	assert.Zero(t, m.Find("b", "07").State)
}

// What is added to the node is what was last recorded, without readings.
func TestAddTo(t *testing.T) {
	m := newMachine(t)
	devices := []gpu.Device{
		{
			ID: "a", Name: "card1", Model: "MI300X", Vendor: gpu.AMD, Index: gpu.Some(0), Epoch: 3, Info: gpu.Info{PCIAddress: "03", Serial: "7"},
			Aliases: []string{"card1"},
		},
		{ID: "a/0", Parent: "a", Partition: gpu.Some(0), Info: gpu.Info{PCIAddress: "03"}},
		{ID: "a/1", Parent: "a", GPUInstance: gpu.Some(1), ComputeInstance: gpu.Some(2), Info: gpu.Info{PCIAddress: "03"}},
	}
	want := append([]gpu.Device(nil), devices...)
	for i := range devices {
		devices[i].Energy = gpu.Total(1.0)
		devices[i].AddFault(gpu.FaultDrain, "a fault of the read")
		want[i].ProcessesUnread = true
		want[i].AddFault(gpu.FaultLost, "gone")
	}
	m.read(devices)
	for range 2 {
		var node gpu.Node
		m.Find("a", "").AddTo(&node, gpu.FaultLost, "gone")
		assert.Equal(t, want, node.Devices)
	}
	var node gpu.Node
	m.Find("a", "").AddUnreadTo(&node)
	for i := range want {
		want[i].Faults, want[i].Unread = nil, true
	}
	assert.Equal(t, want, node.Devices)
}

func TestComplete(t *testing.T) {
	info := gpu.Info{
		Serial: "7", DriverVersion: "6.8", FirmwareVersion: "113", PCIAddress: "03", Profile: "DPX", ComputeCapability: "gfx942", NUMANode: gpu.Some[int64](1),
	}
	whole := func() []gpu.Device {
		return []gpu.Device{
			{ID: "a", Model: "MI300X", Info: info},
			{ID: "a/0", Parent: "a", Partition: gpu.Some(0), Model: "partition", Info: info},
			{ID: "a/1", Parent: "a", Partition: gpu.Some(1), Model: "partition", Info: info},
		}
	}
	bare := func(n int) []gpu.Device {
		devices := whole()[:n]
		for i := range devices {
			devices[i].Model, devices[i].Info = "", gpu.Info{PCIAddress: "03"}
		}
		return devices
	}
	m := newMachine(t)
	devices := bare(3)
	m.Complete(devices)
	assert.Equal(t, bare(3), devices, "nothing is known yet")
	m.read(whole())
	m.Complete(devices)
	assert.Equal(t, whole(), devices)

	alone := bare(1)
	m.Complete(alone)
	assert.Equal(t, "MI300X", alone[0].Model)
	assert.Empty(t, alone[0].Info.Profile, "it is divided otherwise now")
	other := []gpu.Device{{ID: "b", Model: "MI210", Info: gpu.Info{PCIAddress: "03", Serial: "8"}}}
	m.Complete(other)
	assert.Equal(t, gpu.Info{PCIAddress: "03", Serial: "8"}, other[0].Info, "another GPU at the address")
	read := whole()
	read[0].Info.Serial = "9"
	m.Complete(read)
	assert.Equal(t, "9", read[0].Info.Serial, "what is read holds")
}

// A container may see a partition without its GPU.
func TestPartitionsAlone(t *testing.T) {
	m := newMachine(t)
	m.read([]gpu.Device{{ID: "a/3", Parent: "a", Info: gpu.Info{PCIAddress: "03"}}})
	assert.Equal(t, []string{"a@03"}, names(m.All()))
	m.read(one("a", "03"))
	assert.Equal(t, []string{"a@03"}, names(m.All()))
}

func TestWhoIsWho(t *testing.T) {
	type reads = [][][]gpu.Device
	for name, c := range map[string]struct {
		reads             reads
		keep              bool
		absent, forgotten []string // in the last read
	}{
		"at another address":               {reads: reads{{one("a", "03")}, {one("a", "05")}}},
		"two change places":                {reads: reads{{one("a", "03"), one("b", "04")}, {one("a", "04"), one("b", "03")}}},
		"another in its place":             {reads: reads{{one("a", "03")}, {one("b", "03")}}, forgotten: []string{"a@03"}},
		"another in its place after a gap": {reads: reads{{one("a", "03")}, {}, {one("b", "03")}}, forgotten: []string{"a@03"}},
		"another elsewhere":                {reads: reads{{one("a", "03")}, {one("b", "04")}}, absent: []string{"a@03"}},
		"the other moves up": {
			reads:     reads{{one("a", "03"), one("b", "04")}, {one("b", "03")}},
			forgotten: []string{"a@03"},
		},
		"the other moves up, and the first is missing": {
			reads: reads{{one("a", "03"), one("b", "04")}, {one("b", "03")}}, keep: true,
			absent: []string{"a@03"},
		},
		"another in its place, where those that move displace none": {
			reads: reads{{one("a", "03")}, {one("b", "03")}}, keep: true,
			forgotten: []string{"a@03"},
		},
		"a placeholder ends":                           {reads: reads{{one("", "03")}, {one("a", "03")}}},
		"a placeholder begins, and ends":               {reads: reads{{one("a", "03")}, {one("", "03")}, {one("a", "03")}}},
		"a placeholder ends by one that was elsewhere": {reads: reads{{one("a", "04"), one("", "03")}, {one("a", "03")}}, keep: true, forgotten: []string{"@03"}},
		"neither ID nor address":                       {reads: reads{{one("", "")}, {}}},
		"an ID alone":                                  {reads: reads{{one("a", "")}, {one("a", "")}}},
		"an ID alone is absent whatever comes":         {reads: reads{{one("a", "")}, {one("b", "")}}, absent: []string{"a@"}},
		"an address that was not known before":         {reads: reads{{one("a", "")}, {one("a", "03")}}},
		"the one that was last seen there, of two":     {reads: reads{{one("a", "03"), one("b", "04")}, {one("b", "03")}, {one("", "03")}}, keep: true, absent: []string{"a@03"}},
		"an address that is not known any more":        {reads: reads{{one("a", "03"), one("b", "04")}, {one("a", ""), one("b", "04")}}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.KeepDisplaced = c.keep
			var absent, forgotten []string
			for _, gpus := range c.reads {
				absent, forgotten = m.read(gpus...)
			}
			assert.ElementsMatch(t, c.absent, absent, "absent")
			assert.ElementsMatch(t, c.forgotten, forgotten, "forgotten")
			if len(forgotten) > 0 {
				absent, forgotten = m.read(c.reads[len(c.reads)-1]...)
				assert.Empty(t, absent)
				assert.Empty(t, forgotten, "once")
			}
		})
	}
}

// Two GPUs never become one.
func TestSharedID(t *testing.T) {
	m := newMachine(t)
	for range 3 {
		m.Begin(m.clock)
		_, err := m.Record(one("a", "03"))
		require.NoError(t, err)
		second := []gpu.Device{
			{ID: "a", Info: gpu.Info{PCIAddress: "04"}},
			{ID: "a/0", Parent: "a", Partition: gpu.Some(0), Info: gpu.Info{PCIAddress: "04"}},
		}
		k, err := m.Record(second)
		require.ErrorIs(t, err, ErrSharedID)
		assert.Equal(t, "04", k.Address())
		for _, d := range second {
			assert.Empty(t, d.ID)
			assert.Empty(t, d.Parent)
		}
		absent, _ := m.End()
		assert.Empty(t, absent)
		assert.Equal(t, []string{"a@03", "@04"}, names(m.All()))
	}
}

func TestListedTwice(t *testing.T) {
	for name, second := range map[string][]gpu.Device{
		"the same again":         one("a", "03"),
		"by its ID":              one("a", ""),
		"by its address":         one("", "03"),
		"its ID at the other's":  one("a", "04"),
		"by the other's address": one("", "04"),
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.read(one("a", "03"), one("b", "04"))
			m.Begin(m.clock)
			for _, devices := range [][]gpu.Device{one("a", "03"), one("b", "04")} {
				_, err := m.Record(devices)
				require.NoError(t, err)
			}
			k, err := m.Record(second)
			require.ErrorIs(t, err, ErrListedTwice)
			assert.Nil(t, k)
			assert.Len(t, m.All(), 2)
		})
	}
}

func TestBound(t *testing.T) {
	m := newMachine(t)
	m.read(one("first", "00"))
	m.read(one("second", "01"))
	var all [][]gpu.Device
	for i := range 4 * maxAbsent {
		all = append(all, one(strconv.Itoa(i), strconv.Itoa(i+2)))
	}
	absent, forgotten := m.read(all...)
	assert.Len(t, absent, 2)
	assert.Empty(t, forgotten, "there may be many GPUs")
	absent, forgotten = m.read()
	assert.Len(t, absent, maxAbsent)
	assert.Len(t, forgotten, len(all)+2-maxAbsent)
	assert.Contains(t, forgotten, "first@00")
	assert.Contains(t, forgotten, "second@01")
	for i := range 1000 { // a node that reports another GPU at each read
		m.read(one(fmt.Sprint("x", i), ""))
	}
	assert.LessOrEqual(t, len(m.All()), maxAbsent+1)
	assert.Nil(t, m.Find("x1", ""))
	assert.NotNil(t, m.Find("x998", ""))
}

// Update is for what neither ID nor address finds: a GPU that only its index identifies.
func TestUpdate(t *testing.T) {
	m := newMachine(t)
	m.Begin(m.clock)
	k := m.Add([]gpu.Device{{Name: "gpu1", Index: gpu.Some(1)}})
	absent, _ := m.End()
	assert.Empty(t, absent)
	m.Begin(m.clock)
	m.Update(k, one("a", "03"))
	assert.True(t, m.Present(k))
	assert.Same(t, k, m.Find("a", ""))
	assert.Empty(t, (&Known[int]{}).ID())
	assert.Empty(t, (&Known[int]{}).Address())
}
