// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/view"
)

// Two GPUs are held for 10 periods of 30 s: 600 s. The first is idle in 4 of them: 120 s. Each period adds 100 J on each GPU: 2,000 J. The time in
// which the node was silent is not counted; the energy counter goes on in it.
func TestUsage(t *testing.T) {
	f, w := newTestFleet(Settings{})
	m := newMachine("a", 2, 0)
	energy := 1000.0
	read := func(utilization float64) {
		m.Containers[0].Utilization[gpu.TaskGeneral] = gpu.Some(utilization)
		for i := range m.Containers {
			m.Containers[i].Energy = gpu.TotalSince(energy, start)
		}
		f.ConsumeMetrics(m.read(w.now))
	}
	read(0.5)
	for i := range 10 {
		w.pass(period)
		energy += 100
		read(map[bool]float64{true: 0, false: 0.5}[i < 4])
	}
	since, usage := f.Usage()
	assert.Equal(t, start, since)
	require.Len(t, usage, 1)
	u := usage[0]
	assert.Equal(t, []string{"prod", "", "team", "Job", "train"}, []string{u.Cluster, u.Node, u.Namespace, u.Kind, u.Workload})
	assert.InDelta(t, 20*period.Seconds(), u.Held, 1e-6)
	assert.InDelta(t, 4*period.Seconds(), *u.Idle, 1e-6)
	assert.InDelta(t, 2000, *u.Energy, 1e-6)

	w.pass(time.Hour)
	energy += 100
	read(0.5)
	_, usage = f.Usage()
	assert.InDelta(t, 20*period.Seconds(), usage[0].Held, 1e-6)
	assert.InDelta(t, 2200, *usage[0].Energy, 1e-6)
}

// The time of a GPU that two workloads hold is divided between them.
func TestUsageOfASharedGPU(t *testing.T) {
	f, w := newTestFleet(Settings{})
	m := newMachine("a", 1, 0)
	other := *m.Containers[0].Container
	other.PodName, other.PodUID, other.ID, other.Owners = "infer-0", "uid-infer", fmt.Sprintf("%064s", "b"), []gpu.Owner{{Kind: "Job", Name: "infer", UID: "2"}}
	use := m.Containers[0]
	use.Container = &other
	m.Containers = append(m.Containers, use)
	for range 3 {
		f.ConsumeMetrics(m.read(w.now))
		w.pass(period)
	}
	_, usage := f.Usage()
	require.Len(t, usage, 2)
	for _, u := range usage {
		assert.InDelta(t, period.Seconds(), u.Held, 1e-6, u.Workload)
	}
}

// Of more workloads than there is room for, the ones that ended longest ago lose their names, and no time is lost.
func TestUsageIsBounded(t *testing.T) {
	f, w := newTestFleet(Settings{MaxGPUs: 10})
	m := newMachine("a", 1, 0)
	const workloads = 100
	for i := range workloads {
		pod := *m.Containers[0].Container
		pod.PodName, pod.ID, pod.Owners = fmt.Sprint("pod-", i), fmt.Sprintf("%064d", i), []gpu.Owner{{Kind: "Job", Name: fmt.Sprint("job-", i), UID: strconv.Itoa(i)}}
		m.Containers[0].Container = &pod
		for range 2 {
			f.ConsumeMetrics(m.read(w.now))
			w.pass(period)
		}
	}
	_, usage := f.Usage()
	assert.LessOrEqual(t, len(usage), 10)
	held := 0.0
	for _, u := range usage {
		held += u.Held
	}
	assert.InDelta(t, workloads*period.Seconds(), held, 1e-6)
	assert.True(t, slices.ContainsFunc(usage, func(u view.Usage) bool { return u.Namespace == "team" && u.Workload == "" && u.Held > 0 }))
}
