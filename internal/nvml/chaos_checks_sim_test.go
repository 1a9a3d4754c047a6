// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

type lastTotal struct {
	total   float64
	epoch   uint64
	since   time.Time
	seconds float64
}

// look reads once and checks what has to hold whatever happens.
func (c *chaos) look(limit time.Duration) *gpu.Node {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	n, err := c.Read(ctx)
	require.NoError(c.t, err)
	once(c.t, n)
	p := all(n)
	require.False(c.t, p[gpu.Visible] < 0 || p[gpu.Visible] > chaoticGPUs || p[gpu.Missing] < 0, "presence %v; %s", p, c.story())
	if !c.exchanged {
		require.EqualValues(c.t, chaoticGPUs, p[gpu.Visible]+p[gpu.Missing]+p[gpu.Unmanaged]+unreadGPUs(n), "presence %v; %s", p, c.story())
	}
	whole := map[string]bool{}
	for i := range n.Devices {
		d := &n.Devices[i]
		whole[d.ID] = true
		if d.Parent != "" {
			require.True(c.t, whole[d.Parent], "%s without its GPU; %s", d.ID, c.story())
		}
		if index := slices.Index(chaoticAddresses[:], d.Info.PCIAddress); index >= 0 && !c.touched[index] && d.State() != gpu.StateOK {
			require.Equal(c.t, gpu.FaultHung, d.Faults[0].Type, "%s: %v; %s", d.ID, d.Faults, c.story()) // the machine is slow
		}
		c.checkCounters(d)
		c.checkValues(reflect.ValueOf(d).Elem(), d.ID)
		if usage, ok := d.Memory.Usage.Get(); ok {
			require.LessOrEqual(c.t, usage, value2(c.t, d.Memory.Limit), "%s", d.ID)
		}
	}
	type use struct {
		id  string
		pid int64
	}
	seen := map[use]bool{}
	for i := range n.Processes {
		p := &n.Processes[i]
		require.True(c.t, whole[p.DeviceID], "process %d on %q; %s", p.PID, p.DeviceID, c.story())
		require.False(c.t, seen[use{p.DeviceID, p.PID}], "process %d is there twice", p.PID)
		seen[use{p.DeviceID, p.PID}] = true
		require.True(c.t, p.PID > 51000 && p.PID < 51010, "process %d", p.PID)
		for _, u := range p.Utilization {
			v, _ := u.Get()
			require.True(c.t, v >= 0 && v <= 1, "process %d uses %v", p.PID, v)
		}
	}
	return n
}

// unreadGPUs counts the GPUs about which nothing is known.
func unreadGPUs(n *gpu.Node) (unread int64) {
	for i := range n.Devices {
		if d := &n.Devices[i]; d.Unread && d.Parent == "" {
			unread++
		}
	}
	return unread
}

// checkCounters requires that no total falls, unless its start time or its epoch is new.
func (c *chaos) checkCounters(d *gpu.Device) {
	add := func(name string, total float64, known bool, since time.Time) {
		if !known {
			return
		}
		key := d.ID + " " + name
		now := lastTotal{total, d.Epoch, since, c.applied}
		if before, ok := c.counters[key]; ok && before.epoch == now.epoch && before.since.Equal(now.since) &&
			now.seconds-before.seconds < 200 { // in which no counter is half full
			require.GreaterOrEqual(c.t, now.total, before.total, "%s: %+v after %+v; %s", key, now, before, c.story())
		}
		c.counters[key] = now
	}
	integer := func(name string, counter gpu.Counter[int64]) {
		total, ok := counter.Get()
		add(name, float64(total), ok, counter.Since())
	}
	energy, ok := d.Energy.Get()
	add("energy", energy, ok, d.Energy.Since())
	integer("PCIe transmitted", d.PCIe.Transmitted)
	integer("PCIe received", d.PCIe.Received)
	integer("interconnect transmitted", d.Interconnect.Transmitted)
	for _, e := range d.Errors {
		integer(fmt.Sprintf("error %d %v", e.Type, e.Lifetime), e.Count)
	}
	for _, x := range d.XIDs {
		integer(fmt.Sprintf("XID %d", x.XID), x.Count)
	}
	for kind, n := range d.Interconnect.Errors {
		integer(fmt.Sprintf("link error %d", kind), n)
	}
	integer("PCIe replays", d.PCIe.Replays)
	for i := range d.Throttle {
		v, ok := d.Throttle[i].Time.Get()
		add(fmt.Sprintf("throttle %d", i), v, ok, time.Time{})
	}
}

// checkValues requires that no value is negative, infinite or above an exabyte.
func (c *chaos) checkValues(v reflect.Value, place string) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			c.checkValues(v.Field(i), place+"."+v.Type().Field(i).Name)
		}
	case reflect.Array, reflect.Slice:
		for i := range v.Len() {
			c.checkValues(v.Index(i), place+"."+strconv.Itoa(i))
		}
	case reflect.Float64:
		require.True(c.t, v.Float() >= 0 && v.Float() < 1e13, "%s is %v; %s", place, v.Float(), c.story())
	case reflect.Int64:
		if !strings.HasSuffix(place, ".since.ext") {
			require.True(c.t, v.Int() >= 0 && v.Int() < 1e18, "%s is %v; %s", place, v.Int(), c.story())
		}
	default:
	}
}

// unhealthy returns what differs from this machine without faults.
func (c *chaos) unhealthy(n *gpu.Node) string {
	var b strings.Builder
	complain := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	if len(n.Problems) > 0 {
		complain("problems: %v", n.Problems)
	}
	if p := all(n); p != [gpu.NumPresences]int64{chaoticGPUs, 0, 0} {
		complain("presence: %v", p)
	}
	var got, processes []string
	for i := range n.Devices {
		d := &n.Devices[i]
		if d.State() != gpu.StateOK {
			complain("%s: %v", d.ID, d.Faults)
		}
		switch {
		case d.Parent != "":
			got = append(got, d.Parent+" "+d.Name)
			if d.ProcessesUnread || !d.Memory.Usage.Known() {
				complain("unread: %s", d.Name)
			}
		case !d.Power.Draw.Known() || !d.Energy.Known() || !d.Memory.Usage.Known() || !d.Temperature[gpu.SensorGPU].Known():
			complain("not all is there: %+v", *d)
		default:
			got = append(got, d.ID+" "+d.Name+" "+d.Info.PCIAddress)
			if d.Name != "nvidia0" && (!d.Utilization[gpu.TaskGeneral].Known() || d.ProcessesUnread) {
				complain("unread: %+v", *d)
			}
		}
	}
	for i := range n.Processes {
		p := &n.Processes[i]
		index := slices.IndexFunc(n.Devices, func(d gpu.Device) bool { return d.ID == p.DeviceID })
		processes = append(processes, fmt.Sprint(n.Devices[index].Name, " ", p.PID))
		if !p.Memory.Known() {
			complain("process %d has no memory", p.PID)
		}
	}
	want := []string{c.uuid(0) + " nvidia0/gi2/ci0", c.uuid(0) + " nvidia0/gi5/ci0", c.uuid(0) + " nvidia0/gi5/ci1"}
	for i, address := range chaoticAddresses {
		want = append(want, fmt.Sprintf("%s nvidia%d %s", c.uuid(i), i, address))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		complain("devices: %q", got)
	}
	slices.Sort(processes)
	if want := []string{
		"nvidia0/gi2/ci0 51001", "nvidia0/gi5/ci1 51002", "nvidia1 51003", "nvidia1 51004", "nvidia2 51004", "nvidia3 51005",
	}; !slices.Equal(processes, want) {
		complain("processes: %q", processes)
	}
	return b.String()
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(entries)
}
