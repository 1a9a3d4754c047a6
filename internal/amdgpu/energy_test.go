// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/sysfs"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

func joules(t *testing.T, c gpu.Counter[float64]) float64 {
	t.Helper()
	v, ok := c.Get()
	assert.True(t, ok)
	return v
}

// radeonInFineUnits returns a machine whose GPU counts its energy in 2^-16 J. This is known by its target.
func radeonInFineUnits() *amdgpusim.Machine {
	m := amdgpusim.Radeon()
	m.Cards[0].Target = 90010
	return m
}

// TestEnergyOfUnknownUnit: if the unit is not known by the target, it is the one that agrees with the power. Before that the energy is
// absent. The unit is found also if the power itself is not wanted.
func TestEnergyOfUnknownUnit(t *testing.T) {
	for _, want := range []gpu.Group{gpu.GroupEnergy, gpu.GroupEnergy | gpu.GroupPower} {
		for _, perJoule := range []uint64{65536, 1000, 1, 8192} {
			m := amdgpusim.Radeon()
			table := m.Cards[0].Metrics.(*amdgpusim.MetricsV1x3)
			tree, source, clock := simulate(t, m, want)
			for i := range uint64(4) {
				table.Energy = (1000 + i*2870) * perJoule // 287 W
				require.NoError(t, os.WriteFile(tree.Path(m.Cards[0].Dir()+"/gpu_metrics"), amdgpusim.Encode(table), 0o600))
				clock.pass(10 * time.Second)
				energy := read(t, source).Devices[0].Energy
				assert.Equal(t, i > 0 && perJoule != 8192, energy.Known(), "%d a joule, read %d", perJoule, i)
				if energy.Known() {
					assert.InDelta(t, 1000+float64(i)*2870, joules(t, energy), 1e-3)
				}
			}
		}
	}
}

// TestEnergyReadsAsNone: the value that the driver writes for firmware that does not count is not a total. A counter that passes through
// that value loses that one read and nothing else.
func TestEnergyReadsAsNone(t *testing.T) {
	m := radeonInFineUnits()
	table := m.Cards[0].Metrics.(*amdgpusim.MetricsV1x3)
	tree, source, clock := simulate(t, m, withoutProcesses)
	energy := func(units uint64) gpu.Counter[float64] {
		table.Energy = units
		require.NoError(t, os.WriteFile(tree.Path(m.Cards[0].Dir()+"/gpu_metrics"), amdgpusim.Encode(table), 0o600))
		clock.pass(10 * time.Second)
		node := read(t, source)
		assert.Empty(t, node.Problems)
		assert.Equal(t, gpu.Some(287.0), node.Devices[0].Power.Draw)
		return node.Devices[0].Energy
	}
	for range 3 {
		assert.False(t, energy(math.MaxUint32).Known())
	}
	assert.InDelta(t, 65436, joules(t, energy(1<<32-100*65536)), 1e-3)
	assert.False(t, energy(math.MaxUint32).Known())
	c := energy(50 * 65536)
	assert.InDelta(t, 65536+50, joules(t, c), 1e-3)
	assert.True(t, c.Since().IsZero(), "nothing was missed")
}

// TestEnergyAtLongIntervals: if the counter may wrap unseen between any two reads, the energy is absent, not 0.
func TestEnergyAtLongIntervals(t *testing.T) {
	m := radeonInFineUnits()
	table := m.Cards[0].Metrics.(*amdgpusim.MetricsV1x3)
	tree, source, clock := simulate(t, m, withoutProcesses)
	for i := range 5 {
		table.Energy = uint64(20000*(i+1)) % 65536 * 65536
		require.NoError(t, os.WriteFile(tree.Path(m.Cards[0].Dir()+"/gpu_metrics"), amdgpusim.Encode(table), 0o600))
		clock.pass(5 * time.Minute)
		assert.Equal(t, i == 0, read(t, source).Devices[0].Energy.Known())
	}
}

// TestEnergyAfterSleep: a GPU that slept had no power and counts from 0 again. That is not a wrap.
func TestEnergyAfterSleep(t *testing.T) {
	m := radeonInFineUnits()
	table := m.Cards[0].Metrics.(*amdgpusim.MetricsV1x3)
	tree, source, clock := simulate(t, m, withoutProcesses)
	energy := func(status string, joules uint64) gpu.Counter[float64] {
		table.Energy = joules * 65536
		dir := tree.Path(m.Cards[0].Dir())
		require.NoError(t, os.WriteFile(dir+"/gpu_metrics", amdgpusim.Encode(table), 0o600))
		require.NoError(t, os.WriteFile(dir+"/power/runtime_status", []byte(status+"\n"), 0o600))
		clock.pass(10 * time.Second)
		return read(t, source).Devices[0].Energy
	}
	assert.InDelta(t, 65000, joules(t, energy("active", 65000)), 1e-3)
	assert.False(t, energy("suspended", 65001).Known())
	assert.False(t, energy("active", 40).Known(), "counting begins again")
	c := energy("active", 90)
	assert.InDelta(t, 50, joules(t, c), 1e-3)
	assert.False(t, c.Since().IsZero())

	assert.False(t, energy("suspended", 0).Known())
	c = energy("active", 120)
	assert.InDelta(t, 80, joules(t, c), 1e-3, "counting goes on")
}

// TestEnergyAfterShortSleep: a GPU that slept only between two reads was never seen asleep, but its counter starts from 0 too.
func TestEnergyAfterShortSleep(t *testing.T) {
	m := radeonInFineUnits()
	table := m.Cards[0].Metrics.(*amdgpusim.MetricsV1x3)
	tree, source, clock := simulate(t, m, withoutProcesses)
	energy := func(slept int, joules uint64) gpu.Counter[float64] {
		table.Energy = joules * 65536
		dir := tree.Path(m.Cards[0].Dir())
		require.NoError(t, os.WriteFile(dir+"/gpu_metrics", amdgpusim.Encode(table), 0o600))
		require.NoError(t, os.WriteFile(dir+"/power/runtime_suspended_time", []byte(strconv.Itoa(slept)+"\n"), 0o600))
		clock.pass(30 * time.Second)
		return read(t, source).Devices[0].Energy
	}
	assert.InDelta(t, 65000, joules(t, energy(1234, 65000)), 1e-3)
	assert.InDelta(t, 65536+40, joules(t, energy(1234, 40)), 1e-3, "it has not slept: its counter has wrapped")
	for total := uint64(13000); total <= 65000; total += 13000 { // 433 W
		assert.InDelta(t, 65536+float64(total), joules(t, energy(1234, total)), 1e-3)
	}
	assert.False(t, energy(9876, 40).Known(), "counting begins again")
	c := energy(9876, 90)
	assert.InDelta(t, 50, joules(t, c), 1e-3)
	assert.False(t, c.Since().IsZero())
}

// TestEnergyAfterReset: the driver refuses the table while it resets the GPU. Then the counter starts from 0.
func TestEnergyAfterReset(t *testing.T) {
	m := radeonInFineUnits()
	table := m.Cards[0].Metrics.(*amdgpusim.MetricsV1x3)
	tree, source, clock := simulate(t, m, withoutProcesses)
	energy := func(joules uint64, refused error) gpu.Counter[float64] {
		table.Energy = joules * 65536
		require.NoError(t, os.WriteFile(tree.Path(m.Cards[0].Dir()+"/gpu_metrics"), amdgpusim.Encode(table), 0o600))
		clock.pass(30 * time.Second)
		source.readFile = func(path string) ([]byte, error) {
			if refused != nil && filepath.Base(path) == "gpu_metrics" {
				return nil, refused
			}
			return sysfs.Read(path)
		}
		return read(t, source).Devices[0].Energy
	}
	assert.InDelta(t, 60000, joules(t, energy(60000, nil)), 1e-3)
	assert.False(t, energy(60001, syscall.EPERM).Known())
	assert.False(t, energy(40, nil).Known(), "counting begins again")
	assert.InDelta(t, 50, joules(t, energy(90, nil)), 1e-3)
}
