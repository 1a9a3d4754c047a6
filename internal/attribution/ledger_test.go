// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/attribution/podresources/kubelettest"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// shared is a GPU that two containers hold, with what each runs.
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

// Energy goes by the time in which each ran; that of the time in which nothing ran is the holders'.
func TestEnergyByShare(t *testing.T) {
	m := newShared(t)
	shared(m, 1000, 0.8, 0.5, 0.2)
	a, b := shared(m, 2000, 0.8, 0.5, 0.2)
	total(t, 1000*(0.5+0.1), a.Energy)
	total(t, 1000*(0.2+0.1), b.Energy)
	total(t, 10*0.5, a.IdleTime)
	total(t, 10*0.8, b.IdleTime)

	a, b = shared(m, 2500, 0, 0, 0)
	total(t, 600+250, a.Energy)
	total(t, 300+250, b.Energy)
	total(t, 5+10, a.IdleTime)
	total(t, 8+10, b.IdleTime)
}

// Where a share is not known, counting begins anew when it is: a total is right from its start on.
func TestEnergyUnknownShare(t *testing.T) {
	m := newShared(t)
	shared(m, 1000, 0.8, 0.5, 0.2)
	a, b := shared(m, 2000, 0.8, -1, 0.2)
	assert.False(t, a.Energy.Known())
	assert.False(t, a.IdleTime.Known())
	total(t, 300, b.Energy)
	a, b = shared(m, 3000, 0.8, 0.5, 0.2)
	total(t, 0, a.Energy)
	assert.Equal(t, m.now, a.Energy.Since())
	total(t, 600, b.Energy)
	a, _ = shared(m, 4000, 0.8, 0.5, 0.2)
	total(t, 600, a.Energy)
}

// The driver's counter began anew, is not told, or is another driver's: no energy is made up.
func TestEnergyCounterBreaks(t *testing.T) {
	m := newMachine(t, nil, podOf(train)).start()
	m.kubelet.Set(kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, uuid(0))))
	read := func(energy gpu.Counter[float64], epoch uint64) gpu.Counter[float64] {
		d := device(0)
		d.Energy, d.Epoch = energy, epoch
		return use(t, m.apply(nodeOf(d), 10), train.joined(), uuid(0)).Energy
	}
	total(t, 0, read(gpu.Total(1000.0), 0))
	total(t, 500, read(gpu.Total(1500.0), 0))
	total(t, 0, read(gpu.Total(100.0), 0))
	total(t, 50, read(gpu.Total(150.0), 0))
	total(t, 0, read(gpu.Total(5000.0), 1))
	total(t, 10, read(gpu.Total(5010.0), 1))
	assert.False(t, read(gpu.Counter[float64]{}, 1).Known())
	total(t, 0, read(gpu.Total(5020.0), 1))
	total(t, 5, read(gpu.Total(5025.0), 1))
}

// Of the interval in which a neighbour has left, the one who stays has what it used itself.
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
	total(t, 1000*(0.5+0.2), u.Energy)
	assert.Equal(t, gpu.Some(400.0), u.Power)
	u = alone(3000)
	total(t, 700+1000, u.Energy)
}

// A device that goes away takes its totals with it; when it is back they begin anew.
func TestLedgerForgets(t *testing.T) {
	m := newShared(t)
	shared(m, 1000, 0.8, 0.5, 0.2)
	shared(m, 2000, 0.8, 0.5, 0.2)
	m.apply(nodeOf(device(1)), 10)
	assert.Empty(t, m.attributor.domains[gpu.NVIDIA].ledger.accounts)
	assert.Len(t, m.attributor.domains[gpu.NVIDIA].ledger.meters, 1)
	a, _ := shared(m, 3000, 0.8, 0.5, 0.2)
	total(t, 0, a.Energy)
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
	total(t, 4, read())
}

// A GPU that does not tell its own utilisation: the processes of the container alone on it do.
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
