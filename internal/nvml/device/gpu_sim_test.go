// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

// epoch is the driver's time at which a scenario with manual time starts.
var epoch = time.Unix(1_700_000_000, 0)

// simulation is the first GPU of a scenario, and the clock.
type simulation struct {
	*GPU
	control *nvmlsim.Control
	now     time.Time
}

func simulate(t *testing.T, scenario string, want gpu.Group) *simulation {
	t.Helper()
	sim, err := nvmlsim.Build()
	if errors.Is(err, nvmlsim.ErrNoCompiler) {
		t.Skip(err)
	}
	require.NoError(t, err)
	s := &simulation{control: nvmlsim.Use(t, "gpus = 1\ntime = manual\n"+scenario), now: epoch}
	lib, err := new(library.Loader).Load(sim.Full)
	require.NoError(t, err)
	require.Equal(t, library.OK, lib.Init())
	t.Cleanup(lib.Shutdown)
	handle, code := lib.Device(0)
	require.Equal(t, library.OK, code)
	uuid, code := handle.UUID()
	require.Equal(t, library.OK, code)
	s.GPU = New(lib, &Config{
		Want: want, Interval: 10 * time.Second, Now: func() time.Time { return s.now },
		NUMANode: func(string) gpu.Opt[int64] { return gpu.Some[int64](1) },
	}, uuid)
	require.Equal(t, library.OK, s.Open(handle, 0, ""))
	t.Cleanup(s.GPU.Close)
	return s
}

// read reads after so many seconds.
func (s *simulation) read(t *testing.T, after time.Duration, change string) *Result {
	t.Helper()
	s.now = s.now.Add(after)
	require.NoError(t, s.control.Set(change))
	result, code := s.Read(s.now)
	require.Equal(t, library.OK, code)
	return result
}

func TestIdentity(t *testing.T) {
	s := simulate(t, "[gpu 0]\nmig = 1\n[mig 0 0]\nprofile = 3g.40gb\ngi = 2\nci = 0", gpu.GroupAll)
	s.read(t, time.Second, "")
	i := s.Identity()
	assert.Equal(t, s.UUID(), i.ID)
	assert.Equal(t, "nvidia0", i.Name)
	assert.Equal(t, "0000:0a:00.0", i.Info.PCIAddress)
	assert.Equal(t, gpu.Some[int64](1), i.Info.NUMANode)
	assert.NotEmpty(t, i.Info.DriverVersion)
	require.Len(t, s.Instances(), 1)
	instance := s.Instances()[0]
	assert.Equal(t, i.ID, instance.Parent)
	assert.Equal(t, "nvidia0/gi2/ci0", instance.Name)
	assert.Equal(t, "3g.40gb", instance.Info.Profile)
	s.Renumber(3)
	assert.Equal(t, gpu.Some(3), s.Identity().Index)
	s.DropInstances()
	assert.Empty(t, s.Instances())
}

// Samples that the driver still has from before the machine's clock was set back do not move on what was seen.
func TestClockSetBack(t *testing.T) {
	s := simulate(t, "[gpu 0]\nutil.gpu = 30\n[process p]\ngpu = 0\npid = 7\nsm = 55", gpu.GroupAll)
	s.read(t, 1000*time.Second, "now = 1000")
	s.now = epoch.Add(400 * time.Second) // the driver's samples are ahead of it
	for range 2 {
		s.read(t, 10*time.Second, "")
		assert.Less(t, s.quantities.samples.usage.last, horizon(s.now))
		assert.Less(t, s.quantities.utilization.clock(), horizon(s.now))
	}
}

// The fields of single links are not even kept if they are not wanted.
func TestNoFieldsOfLinks(t *testing.T) {
	const totals = gpu.GroupAll &^ gpu.GroupInterconnectLinks &^ gpu.GroupInterconnectErrors &^ gpu.GroupInterconnectState &^
		gpu.GroupInterconnectSpeed &^ gpu.GroupInterconnectBitErrors
	for name, want := range map[string]gpu.Group{"not wanted": totals, "wanted": gpu.GroupAll} {
		t.Run(name, func(t *testing.T) {
			s := simulate(t, "[gpu 0]\nboard = h100\nnvlink.tx.bytes = 1Mi\nnvlink.rx.bytes = 1Mi", want)
			s.read(t, time.Second, "")
			assert.Equal(t, want == gpu.GroupAll, len(s.fields.fields) > len(quantityRows))
		})
	}
}

// What a GPU holds of a session is given back with it.
func TestClose(t *testing.T) {
	s := simulate(t, "[gpu 0]\nboard = h100", gpu.GroupAll)
	s.read(t, time.Second, "")
	require.NotNil(t, s.quantities.gpm.earlier)
	s.GPU.Close()
	assert.Nil(t, s.quantities.gpm.earlier)
	assert.Nil(t, s.quantities.gpm.later)
	assert.Nil(t, s.handle.BoundDevice)
}

// A new epoch is reported once.
func TestNewEpoch(t *testing.T) {
	s := simulate(t, "", gpu.GroupAll)
	s.read(t, time.Second, "")
	assert.True(t, s.TakeNewEpoch())
	s.read(t, time.Second, "")
	assert.False(t, s.TakeNewEpoch())
	s.CountersRestarted()
	s.read(t, time.Second, "")
	assert.True(t, s.TakeNewEpoch())
}

// A GPU that is lost is not read.
func TestLost(t *testing.T) {
	s := simulate(t, "", gpu.GroupAll)
	s.read(t, time.Second, "")
	require.NoError(t, s.control.Set("[fault f]\ngpu = 0\nkind = lost"))
	_, code := s.Read(s.now)
	assert.Equal(t, library.GPUIsLost, code)
	require.NoError(t, s.control.Set(""))
	s.read(t, time.Second, "")
}
