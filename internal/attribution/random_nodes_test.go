// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/attribution/podlogs"
	"github.com/otelgpu/gpureceiver/internal/attribution/podresources"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// fixed is a kubelet with a fixed answer.
type fixed struct{ list []podresources.Allocation }

func (f *fixed) List(context.Context) (podresources.Answer, error) {
	return podresources.Answer{Allocations: f.list, Pods: 1, Connection: 1}, nil
}
func (f *fixed) Close() error { return nil }

// world generates nodes: any number of containers hold and use any devices in any way, and anything may be unread.
type world struct {
	t       *testing.T
	r       *rand.Rand
	kubelet *fixed
	config  Config
	a       *Attributor
	now     time.Time
	joules  []float64
	epoch   uint64
}

func newWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	w := &world{
		t: t, r: rand.New(rand.NewPCG(seed, 1)),
		kubelet: &fixed{}, now: time.Unix(1_700_000_000, 0), joules: make([]float64, 3),
	}
	if w.r.IntN(5) > 0 {
		processes := DefaultProcesses()
		processes.LogPath = "/nonexistent"
		w.config.Processes = &processes
	}
	var err error
	w.a, err = New(w.config, interval)
	require.NoError(t, err)
	w.a.allocations = worldAllocations(t, t.TempDir(), w.kubelet)
	if w.r.IntN(2) == 0 {
		w.a.containers.logs = w.joinedByLogs()
	}
	t.Cleanup(func() { _ = w.a.Close() })
	return w
}

// joinedByLogs returns log files that name the containers.
func (w *world) joinedByLogs() *podlogs.Dirs {
	m := &machine{t: w.t, logs: w.t.TempDir()}
	for c := range 4 {
		m.log(container(c))
	}
	return podlogs.New(m.logs)
}

func container(n int) testContainer {
	return testContainer{fmt.Sprint("pod-", n/2), fmt.Sprint("c", n)}
}

func (w *world) fraction() gpu.Opt[float64] {
	if w.r.IntN(6) == 0 {
		return gpu.Opt[float64]{}
	}
	return gpu.Some(w.r.Float64() * 1.1) // a driver may report a little more than there is
}

func (w *world) bytes(most int64) gpu.Opt[int64] {
	if w.r.IntN(6) == 0 {
		return gpu.Opt[int64]{}
	}
	return gpu.Some(w.r.Int64N(most))
}

// read generates the next read.
func (w *world) read() *gpu.Node {
	w.now = w.now.Add(time.Duration(w.r.IntN(30_000)) * time.Millisecond)
	node := &gpu.Node{Vendor: gpu.NVIDIA, Time: w.now}
	if w.r.IntN(20) == 0 {
		w.epoch++
	}
	for n := range w.joules {
		d := device(n)
		d.Epoch = w.epoch
		if w.joules[n] += w.r.Float64() * 1000; w.r.IntN(30) == 0 {
			w.joules[n] = 0
		}
		d.Energy = gpu.Total(w.joules[n])
		if w.r.IntN(10) == 0 {
			d.Energy = gpu.Counter[float64]{}
		}
		d.Power.Draw = w.fraction()
		d.Memory.Usage = w.bytes(80e9)
		for t := range d.Utilization {
			d.Utilization[t] = w.fraction()
		}
		d.ProcessesUnread = w.r.IntN(15) == 0
		node.Devices = append(node.Devices, d)
		if n == 2 {
			node.Devices = append(node.Devices, mig(2, 1), mig(2, 2))
		}
	}
	w.kubelet.list = w.kubelet.list[:0]
	for c := range 4 {
		for n := range w.joules {
			if w.r.IntN(3) > 0 {
				continue
			}
			id := uuid(n)
			if n == 2 {
				id = migUUID(20 + 1 + w.r.IntN(2))
			}
			for range 1 + w.r.IntN(2) {
				if w.r.IntN(2) == 0 {
					id += fmt.Sprint("::", w.r.IntN(8))
				}
				w.kubelet.list = append(w.kubelet.list, podresources.Allocation{
					Namespace: "ml", Pod: container(c).pod, Container: container(c).name, Resource: resource, ID: id,
				})
			}
		}
	}
	for pid := range int64(w.r.IntN(8)) {
		d := &node.Devices[w.r.IntN(len(node.Devices))]
		p := gpu.Process{PID: pid, DeviceID: d.ID, Created: w.now, Memory: w.bytes(40e9)}
		for t := range p.Utilization {
			p.Utilization[t] = w.fraction()
		}
		switch w.r.IntN(12) {
		case 0:
			p.Cgroup = "0::/system.slice/x.service\n"
		case 8:
			p.Cgroup = container(w.r.IntN(4)).jobCgroup(strconv.Itoa(w.r.IntN(2)))
		case 9:
			p.Cgroup = "0::/lxc.payload.web/system.slice/x.service\n"
		case 10:
			p.Cgroup = "0::/system.slice/slurmstepd.scope/job_" + strconv.Itoa(w.r.IntN(2)) + "/step_0\n"
		case 11:
			p.Cgroup = "0::/\n"
		case 1:
			p.Created = time.Time{} // gone
		case 2: // its control group was not read
		default:
			p.Cgroup = container(w.r.IntN(4)).cgroup()
		}
		node.Processes = append(node.Processes, p)
	}
	return node
}

type lastTotals struct {
	energy, idle gpu.Counter[float64]
}

// What containers have of a device is never more than the device has.
func TestSumsNeverExceedTheDevice(t *testing.T) {
	for seed := range uint64(150) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			w := newWorld(t, seed)
			last := map[totalsKey]lastTotals{}
			var lastTime time.Time
			lastJoules := map[string]gpu.Counter[float64]{}
			for range 25 {
				node := w.read()
				w.a.Describe(t.Context(), node)
				last = w.check(node, last, lastJoules, node.Time.Sub(lastTime).Seconds())
				lastTime = node.Time
				before := lastJoules
				lastJoules = map[string]gpu.Counter[float64]{}
				for i := range node.Devices {
					d := &node.Devices[i]
					lastJoules[d.ID] = lastKnown(before[d.ID], d.Energy)
				}
			}
		})
	}
}

const epsilon = 1e-6

func (w *world) check(node *gpu.Node, last map[totalsKey]lastTotals, joules map[string]gpu.Counter[float64], seconds float64) map[totalsKey]lastTotals {
	w.t.Helper()
	next := map[totalsKey]lastTotals{}
	for i := range node.Devices {
		d := &node.Devices[i]
		var utilization [gpu.NumTasks]float64
		var memory int64
		var watts, energy float64
		for j := range node.Containers {
			u := &node.Containers[j]
			if u.DeviceID != d.ID {
				continue
			}
			key := totalsKey{device: d.ID, container: keyOf(u.Container)}
			require.NotContains(w.t, next, key, "reported twice")
			next[key] = lastTotals{lastKnown(last[key].energy, u.Energy), u.IdleTime}
			for task := range u.Utilization {
				utilization[task] += value(w.t, u.Utilization[task])
			}
			memory += int64(value(w.t, u.MemoryUsage))
			watts += value(w.t, u.Power)
			energy += w.grown(last[key].energy, u.Energy)
			require.LessOrEqual(w.t, w.grown(last[key].idle, u.IdleTime), seconds+epsilon)
			allocated := value(w.t, boolean(u.Allocated)) == 1
			require.False(w.t, u.IdleTime.Known() && !allocated, "what is not held is not idle")
		}
		for task, sum := range utilization {
			bound, ok := d.Utilization[task].Get()
			if !ok {
				bound = 1
			}
			require.LessOrEqual(w.t, sum, bound+epsilon)
		}
		if usage, ok := d.Memory.Usage.Or(d.Memory.Limit).Get(); ok {
			require.LessOrEqual(w.t, memory, usage)
		}
		draw, _ := d.Power.Draw.Get()
		require.LessOrEqual(w.t, watts, draw+epsilon)
		before, _ := joules[d.ID].Get()
		now, _ := d.Energy.Get()
		require.LessOrEqual(w.t, energy, max(now-before, 0)+epsilon)
	}
	return next
}

// lastKnown returns the last value of a counter that was read.
func lastKnown(before, now gpu.Counter[float64]) gpu.Counter[float64] {
	if now.Known() {
		return now
	}
	return before
}

// grown returns by how much a counter has grown; 0 for a counter that started again.
func (w *world) grown(before, now gpu.Counter[float64]) float64 {
	w.t.Helper()
	a, ok1 := before.Get()
	b, ok2 := now.Get()
	if !ok2 {
		return 0
	}
	require.False(w.t, now.Since().IsZero())
	if !ok1 || !before.Since().Equal(now.Since()) {
		require.Zero(w.t, b, "a new total begins at nothing")
		return 0
	}
	require.GreaterOrEqual(w.t, b, a, "a total never falls")
	return b - a
}

// value returns an optional value, which must not be negative; 0 if it is absent.
func value[T int64 | float64](t *testing.T, o gpu.Opt[T]) float64 {
	t.Helper()
	v, _ := o.Get()
	require.GreaterOrEqual(t, v, T(0))
	return float64(v)
}

func boolean(o gpu.Opt[bool]) gpu.Opt[int64] {
	if v, ok := o.Get(); ok && v {
		return gpu.Some(int64(1))
	}
	return gpu.Opt[int64]{}
}
