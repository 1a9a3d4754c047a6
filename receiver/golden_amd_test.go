// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package gpureceiver

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelgpu/gpureceiver/internal/amdgpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/process"
	"github.com/otelgpu/gpureceiver/internal/record"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

// TestGoldenAMD reads each simulated machine with the amdgpu scraper twice, 30 s apart, and compares the second result, with every metric
// enabled.
func TestGoldenAMD(t *testing.T) {
	machines := amdgpusim.Machines()
	for _, name := range slices.Sorted(maps.Keys(machines)) {
		t.Run(name, func(t *testing.T) {
			m := machines[name]()
			compare(t, "amdgpu_"+strings.ReplaceAll(name, "-", "_")+".yaml", amdgpuAfterHalfAMinute(t, m, everyMetric()))
		})
	}
}

// amdgpuAfterHalfAMinute returns the metrics of a machine half a minute after its first read.
func amdgpuAfterHalfAMinute(t *testing.T, m *amdgpusim.Machine, cfg metadata.MetricsBuilderConfig) pmetric.Metrics {
	t.Helper()
	root := t.TempDir()
	tree, err := amdgpusim.Write(root, m)
	require.NoError(t, err)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	settings := amdgpu.DefaultConfig()
	settings.RootPath = root
	source, err := amdgpu.New(settings, record.Wanted(&cfg.Metrics, new(metadata.EventsConfig), false),
		amdgpu.WithClock(func() time.Time { return now }))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, source.Close()) })
	s := newStage(t, "test", source, cfg)
	s.describe(process.New(tree.Path("proc"), process.WithAnyNamespace()))
	s.record()
	now = now.Add(halfAMinute * time.Second)
	passHalfAMinute(m)
	_, err = amdgpusim.Write(root, m)
	require.NoError(t, err)
	return withoutStarts(s.record())
}

const (
	halfAMinute = 30 // s
	// The units of the driver's counters.
	perJoule, perSecond = 1 << 16, 1_000_000_000
)

// passHalfAMinute advances the driver's counters: energy by the power, the time (power-limited for a third of it), and the engine time of
// those processes that report it.
func passHalfAMinute(m *amdgpusim.Machine) {
	for _, c := range m.Cards {
		switch table := c.Metrics.(type) {
		case *amdgpusim.MetricsV1x3:
			units := uint64(perJoule)
			if c.Target == 90008 { // MI100
				units = 1
			}
			table.Energy += uint64(table.SocketPower) * halfAMinute * units
		case *amdgpusim.MetricsV1x5:
			table.Energy += uint64(table.SocketPower) * halfAMinute * perJoule
		case *amdgpusim.MetricsV1x6:
			table.Energy += uint64(table.SocketPower) * halfAMinute * perJoule
			passLimits(&table.Residencies, halfAMinute)
		case *amdgpusim.MetricsV1x8:
			table.Energy += uint64(table.SocketPower) * halfAMinute * perJoule
			passLimits(&table.Residencies, halfAMinute)
		}
	}
	counted := map[*amdgpusim.Client]bool{}
	for _, p := range m.Processes {
		for _, f := range p.Files {
			if f.Client == nil || counted[f.Client] {
				continue
			}
			counted[f.Client] = true
			for i, key := range f.Client.Keys {
				name, value, _ := strings.Cut(key, ":")
				engine, isEngine := strings.CutPrefix(name, "drm-engine-")
				var ns int64
				if _, err := fmt.Sscan(value, &ns); isEngine && err == nil {
					f.Client.Keys[i] = amdgpusim.Engine(engine, ns+worked[engine]*perSecond)
				}
			}
		}
	}
}

// worked is the number of seconds of the half minute that each engine was active.
var worked = map[string]int64{"gfx": 15, "dma": 1, "dec": 3, "enc": 6}

// passLimits advances the time, with the power limited for a third of it.
func passLimits(r *amdgpusim.Residencies, seconds float64) {
	r.SystemClock += uint64(seconds * perSecond)
	r.Accumulations += uint32(seconds * 500)
	r.PPT += uint32(seconds * 500 / 3)
}
