// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	podresourcesv1 "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/otelgpu/gpureceiver/internal/attribution/deviceid"
	"github.com/otelgpu/gpureceiver/internal/attribution/podresources/kubelettest"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// shared returns what two containers that hold a GPU have of it, with what each runs.
func shared(m *machine, joules, busy, trains, infers float64) (a, b gpu.ContainerUse) {
	m.t.Helper()
	d := device(0)
	d.Energy = gpu.Total(joules)
	d.Utilization[gpu.TaskGeneral] = gpu.Some(busy)
	node := nodeOf(d)
	if trains != 0 {
		run(node, 10, uuid(0), train, 1e9, trains)
	}
	if infers != 0 {
		run(node, 11, uuid(0), infer, 1e9, infers)
	}
	m.apply(node, 10)
	return use(m.t, node, train.joined(), uuid(0)), use(m.t, node, infer.joined(), uuid(0))
}

func newShared(t *testing.T) *machine {
	t.Helper()
	m := newMachine(t, nil, podOf(train), podOf(infer)).start()
	m.kubelet.Set(
		kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, uuid(0)+"::0")),
		kubelettest.Pod(infer.pod, kubelettest.Container(infer.name, resource, uuid(0)+"::1")))
	return m
}

// Energy is shared by the time in which each ran; the energy of the idle time is the holders'.
func TestEnergyByShare(t *testing.T) {
	m := newShared(t)
	shared(m, 1000, 0.8, 0.5, 0.2)
	a, b := shared(m, 2000, 0.8, 0.5, 0.2)
	assertTotal(t, 1000*(0.5+0.1), a.Energy)
	assertTotal(t, 1000*(0.2+0.1), b.Energy)
	assertTotal(t, 10*0.5, a.IdleTime)
	assertTotal(t, 10*0.8, b.IdleTime)

	a, b = shared(m, 2500, 0, 0, 0)
	assertTotal(t, 600+250, a.Energy)
	assertTotal(t, 300+250, b.Energy)
	assertTotal(t, 5+10, a.IdleTime)
	assertTotal(t, 8+10, b.IdleTime)
}

// A total stops while its share is unknown and then starts again, so that it is correct from its start.
func TestEnergyUnknownShare(t *testing.T) {
	m := newShared(t)
	shared(m, 1000, 0.8, 0.5, 0.2)
	a, b := shared(m, 2000, 0.8, -1, 0.2)
	assert.False(t, a.Energy.Known())
	assert.False(t, a.IdleTime.Known())
	assertTotal(t, 300, b.Energy)
	a, b = shared(m, 3000, 0.8, 0.5, 0.2)
	assertTotal(t, 0, a.Energy)
	assert.Equal(t, m.now, a.Energy.Since())
	assertTotal(t, 600, b.Energy)
	a, _ = shared(m, 4000, 0.8, 0.5, 0.2)
	assertTotal(t, 600, a.Energy)
}

// No energy is invented when the driver's counter started again or is another driver's. While it is absent, so is the total, which then has all.
func TestEnergyCounterBreaks(t *testing.T) {
	m := newMachine(t, nil, podOf(train)).start()
	m.kubelet.Set(kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, uuid(0))))
	read := func(energy gpu.Counter[float64], epoch uint64) gpu.Counter[float64] {
		d := device(0)
		d.Energy, d.Epoch = energy, epoch
		return use(t, m.apply(nodeOf(d), 10), train.joined(), uuid(0)).Energy
	}
	assertTotal(t, 0, read(gpu.Total(1000.0), 0))
	assertTotal(t, 500, read(gpu.Total(1500.0), 0))
	assertTotal(t, 0, read(gpu.Total(100.0), 0))
	assertTotal(t, 50, read(gpu.Total(150.0), 0))
	assertTotal(t, 0, read(gpu.Total(5000.0), 1))
	assertTotal(t, 10, read(gpu.Total(5010.0), 1))
	assert.False(t, read(gpu.Counter[float64]{}, 1).Known())
	assertTotal(t, 20, read(gpu.Total(5020.0), 1))
	assertTotal(t, 25, read(gpu.Total(5025.0), 1))
	assert.False(t, read(gpu.Counter[float64]{}, 1).Known())
	reset := read(gpu.TotalAfterReset(207.0, 200, m.now), 1) // the read before found 200
	assertTotal(t, 7, reset)
	assert.Equal(t, m.now.Add(-10*time.Second), reset.Since())
	assertTotal(t, 17, read(gpu.TotalAfterReset(217.0, 200, reset.Since()), 1))
	for range 5 {
		read(gpu.Counter[float64]{}, 1)
	}
	assertTotal(t, 17+3000, read(gpu.TotalAfterReset(3217.0, 200, reset.Since()), 1)) // no other container can have had the device
}

// What was used while the counter could not be read is shared as it is when it is read again. One who has had the device alone only since then
// has no more than its share.
func TestEnergyIsNotReadOnce(t *testing.T) {
	m := newShared(t)
	shared(m, 1000, 0.8, 0.5, 0.2)
	unread := device(0)
	unread.Energy = gpu.Counter[float64]{}
	unread.Utilization[gpu.TaskGeneral] = gpu.Some(0.8)
	node := nodeOf(unread)
	run(node, 10, uuid(0), train, 1e9, 0.5)
	run(node, 11, uuid(0), infer, 1e9, 0.2)
	m.apply(node, 10)
	assert.False(t, use(t, node, train.joined(), uuid(0)).Energy.Known())
	a, b := shared(m, 3000, 0.8, 0.5, 0.2)
	assertTotal(t, 2000*(0.5+0.1), a.Energy)
	assertTotal(t, 2000*(0.2+0.1), b.Energy)
	assertTotal(t, 20*0.5, a.IdleTime)

	m.kubelet.Set(kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, uuid(0)+"::0")))
	alone := func(energy gpu.Counter[float64]) gpu.Counter[float64] {
		d := device(0)
		d.Energy = energy
		node := nodeOf(d)
		run(node, 10, uuid(0), train, 1e9, 0.5)
		return use(t, m.apply(node, 10), train.joined(), uuid(0)).Energy
	}
	alone(gpu.Counter[float64]{})
	assertTotal(t, 1200+1000*(0.5+0.2), alone(gpu.Total(4000.0)))
	assertTotal(t, 1900+1000, alone(gpu.Total(5000.0)))
}

// When a neighbour leaves, the one who stays has of that interval what it used itself.
func TestEnergyNeighbourLeaves(t *testing.T) {
	m := newShared(t)
	shared(m, 1000, 0.8, 0.5, 0.2)
	m.kubelet.Set(kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, uuid(0)+"::0")))
	alone := func(joules float64) gpu.ContainerUse {
		d := device(0)
		d.Energy = gpu.Total(joules)
		node := nodeOf(d)
		run(node, 10, uuid(0), train, 1e9, 0.5)
		return use(t, m.apply(node, 10), train.joined(), uuid(0))
	}
	u := alone(2000)
	assertTotal(t, 1000*(0.5+0.2), u.Energy)
	assert.Equal(t, gpu.Some(400.0), u.Power)
	u = alone(3000)
	assertTotal(t, 700+1000, u.Energy)
}

// The totals of a device that disappears are dropped. They start again after it is back.
func TestLedgerForgets(t *testing.T) {
	m := newShared(t)
	shared(m, 1000, 0.8, 0.5, 0.2)
	shared(m, 2000, 0.8, 0.5, 0.2)
	m.apply(nodeOf(device(1)), 10)
	assert.Empty(t, m.attributor.histories[gpu.NVIDIA].accounting.totals.containers)
	assert.Len(t, m.attributor.histories[gpu.NVIDIA].accounting.totals.meters, 1)
	a, _ := shared(m, 3000, 0.8, 0.5, 0.2)
	assertTotal(t, 0, a.Energy)
}

// Encoding is work: such a holder is not idle.
func TestIdleByBusiestTask(t *testing.T) {
	m := newMachine(t, nil, podOf(train)).start()
	m.kubelet.Set(kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, uuid(0))))
	read := func() gpu.Counter[float64] {
		d := device(0)
		d.Utilization[gpu.TaskGeneral], d.Utilization[gpu.TaskEncoder] = gpu.Some(0.1), gpu.Some(0.6)
		return use(t, m.apply(nodeOf(d), 10), train.joined(), uuid(0)).IdleTime
	}
	read()
	assertTotal(t, 4, read())
}

// The processes show how long nothing ran on a GPU that does not report its own utilization, if all of them report theirs.
func TestPowerByProcesses(t *testing.T) {
	for _, tt := range []struct {
		name            string
		trains, infers  float64
		general, watts  gpu.Opt[float64] // of train
		others, theirs  gpu.Opt[float64] // of infer
		idle, idleOther gpu.Opt[float64]
	}{
		{"both", 0.3, 0.2, gpu.Some(0.3), gpu.Some((0.3 + 0.25) * 400), gpu.Some(0.2), gpu.Some((0.2 + 0.25) * 400), gpu.Some(7.0), gpu.Some(8.0)},
		{"more than there is", 0.9, 0.6, gpu.Some(0.6), gpu.Some(0.6 * 400), gpu.Some(0.4), gpu.Some(0.4 * 400), gpu.Some(4.0), gpu.Some(6.0)},
		{"one alone", 0.3, 0, gpu.Some(0.3), gpu.Some((0.3 + 0.35) * 400), gpu.Some(0.0), gpu.Some(0.35 * 400), gpu.Some(7.0), gpu.Some(10.0)},
		{"one does not report it", -1, 0.2, gpu.Opt[float64]{}, gpu.Opt[float64]{}, gpu.Some(0.2), gpu.Opt[float64]{}, gpu.Opt[float64]{}, gpu.Some(8.0)},
		{"nobody", 0, 0, gpu.Opt[float64]{}, gpu.Opt[float64]{}, gpu.Opt[float64]{}, gpu.Opt[float64]{}, gpu.Some(10.0), gpu.Some(10.0)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newShared(t)
			var a, b gpu.ContainerUse
			for range 2 {
				d := device(0)
				d.Utilization = [gpu.NumTasks]gpu.Opt[float64]{}
				node := nodeOf(d)
				if tt.trains != 0 {
					run(node, 10, uuid(0), train, 1e9, tt.trains)
				}
				if tt.infers != 0 {
					run(node, 11, uuid(0), infer, 1e9, tt.infers)
				}
				m.apply(node, 10)
				a, b = use(t, node, train.joined(), uuid(0)), use(t, node, infer.joined(), uuid(0))
			}
			for want, got := range map[*gpu.Opt[float64]]gpu.Opt[float64]{
				&tt.general: general(a), &tt.watts: a.Power, &tt.others: general(b), &tt.theirs: b.Power,
				&tt.idle: counted(a.IdleTime), &tt.idleOther: counted(b.IdleTime),
			} {
				if v, ok := want.Get(); ok {
					inDelta(t, v, got)
				} else {
					assert.False(t, got.Known())
				}
			}
		})
	}
}

func counted(c gpu.Counter[float64]) gpu.Opt[float64] {
	if v, ok := c.Get(); ok {
		return gpu.Some(v)
	}
	return gpu.Opt[float64]{}
}

// The processes of a container that is alone on a GPU show its utilization if the GPU does not report it.
func TestUtilizationOfProcesses(t *testing.T) {
	m := newMachine(t, nil, podOf(train)).start()
	m.kubelet.Set(kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, uuid(0))))
	d := device(0)
	d.Utilization = [gpu.NumTasks]gpu.Opt[float64]{}
	d.Memory.Usage = gpu.Opt[int64]{}
	node := nodeOf(d)
	run(node, 10, uuid(0), train, 1e9, 0.5)
	run(node, 11, uuid(0), train, 1e9, 0.3)
	u := use(t, m.apply(node), train.joined(), uuid(0))
	inDelta(t, 0.8, general(u))
	assert.Equal(t, gpu.Some(int64(2e9)), u.MemoryUsage)
}

// After reads have failed for hours, the next one does not count for all that time, and no total starts again.
func TestGap(t *testing.T) {
	const gap = 7200
	t.Run("shared", func(t *testing.T) {
		m := newShared(t)
		shared(m, 1000, 0.8, 0.5, 0.2)
		before, _ := shared(m, 2000, 0.8, 0.5, 0.2)
		m.now = m.now.Add(gap * time.Second)
		a, b := shared(m, 1e6, 0, 0, 0)
		assertTotal(t, 600, a.Energy)
		assertTotal(t, 300, b.Energy)
		assertTotal(t, 5, a.IdleTime)
		assertTotal(t, 8, b.IdleTime)
		assert.Equal(t, before.Energy.Since(), a.Energy.Since())
		assert.Equal(t, before.IdleTime.Since(), a.IdleTime.Since())
		a, b = shared(m, 1e6+1000, 0.8, 0.5, 0.2)
		assertTotal(t, 600+600, a.Energy)
		assertTotal(t, 300+300, b.Energy)
		assertTotal(t, 5+5, a.IdleTime)
		assertTotal(t, 8+8, b.IdleTime)
	})
	for _, tt := range []struct {
		name   string
		holder *podresourcesv1.ContainerResources
		energy float64 // of the gap
	}{
		// The device has counted, and no other container can have had it.
		{"exclusive", kubelettest.Container(train.name, resource, uuid(0)), 5000},
		{"replica", kubelettest.Container(train.name, resource, uuid(0)+"::0"), 0},
		{"claim", kubelettest.Claimed(train.name, "own", deviceid.DriverNVIDIA, "gpu-0"), 0}, // it may have been another pod's in between
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t, noAPI).start()
			m.kubelet.Set(kubelettest.Pod(train.pod, tt.holder))
			read := func(joules, busy, seconds float64) gpu.ContainerUse {
				d := device(0)
				d.Energy = gpu.Total(joules)
				d.Utilization[gpu.TaskGeneral] = gpu.Some(busy)
				return use(t, m.apply(nodeOf(d), seconds), train.named(), uuid(0))
			}
			read(1000, 0.8, 0)
			read(1100, 0.8, 30)
			u := read(1200, 0.8, 30)
			assertTotal(t, 200, u.Energy)
			assertTotal(t, 60*(1-0.8), u.IdleTime)
			u = read(6200, 0, gap)
			assertTotal(t, 200+tt.energy, u.Energy)
			assertTotal(t, 60*(1-0.8), u.IdleTime)
			u = read(6300, 0, 90) // two reads have failed
			assertTotal(t, 300+tt.energy, u.Energy)
			assertTotal(t, 90+60*(1-0.8), u.IdleTime)
		})
	}
}
