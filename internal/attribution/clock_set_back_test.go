// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/attribution/podresources/kubelettest"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Totals that started after the time to which the clock was set back start again, once. A start in the future would have to move at each
// read, and a backend would interpret a moved start as a new total each time.
func TestTotalsResetClockSetBack(t *testing.T) {
	m := newMachine(t, nil, podOf(train)).start()
	m.kubelet.Set(kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, uuid(0))))
	joules := 0.0
	read := func(seconds float64) gpu.ContainerUse {
		d := device(0)
		joules += 100
		d.Energy = gpu.Total(joules)
		return use(t, m.apply(nodeOf(d), seconds), train.joined(), uuid(0))
	}
	read(10)
	u := read(10)
	assertTotal(t, 100, u.Energy)
	assertTotal(t, 2, u.IdleTime)

	u = read(-7200)
	back := m.now
	assertTotal(t, 0, u.Energy)
	assertTotal(t, 0, u.IdleTime)
	u = read(10)
	assertTotal(t, 100, u.Energy)
	assertTotal(t, 2, u.IdleTime)
	assert.Equal(t, back, u.Energy.Since())
	assert.Equal(t, back, u.IdleTime.Since())

	u = read(-5)
	assertTotal(t, 200, u.Energy)
	assert.Equal(t, back, u.Energy.Since(), "they had begun by then")
}

// A time from time.Now has a monotonic reading, by which it is never after a later one although the clock was set back. The start of a
// total is compared and sent as the time of day.
func TestTotalsBeginByTheTimeOfDay(t *testing.T) {
	var idle total
	now := time.Now()
	idle.start(now)
	assert.Equal(t, now.Round(0), idle.since)
}
