// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package gpureceiver

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/otlptest"
	"github.com/otelgpu/gpureceiver/internal/pipeline"
	"github.com/otelgpu/gpureceiver/internal/process"
	"github.com/otelgpu/gpureceiver/internal/record"
)

const soakInterval = 30 * time.Second

// soak is a machine, to which all sorts of things happen, and the receiver on it.
type soak struct {
	*stage
	t       *testing.T
	rng     *rand.Rand
	node    soakNode
	clock   atomic.Int64  // since simEpoch
	seconds float64       // the driver's time
	jump    time.Duration // by how much our clock is ahead of the driver's
	limit   time.Duration // of a read
	log     []string

	declared *otlptest.Declared
	recorder *record.EventRecorder
	history  otlptest.History
	seen     soakSeen
}

// soakNode is what things happen to.
type soakNode interface {
	change() string         // changes something, for the worse or the better
	pass(seconds float64)   // has time pass
	apply()                 // has all be as it is described
	mend()                  // ends all that is wrong
	touched(at string) bool // whether anything has happened to the GPU at a PCI address since it was settled
	settle()
	truth() (devices, holders, processes []string)
	wrongReadings(points []otlptest.Point) []string
	excuses(wrong string) bool
}

// excuses tells whether there is a reason for what was found to be wrong; for most nodes there is none.
func (s *soak) excuses(string) bool { return false }

// now is our time, which passes while something is read.
func (s *soak) now() time.Time {
	return simEpoch.Add(time.Duration(s.clock.Add(int64(time.Millisecond))))
}

// newSoak is without a machine and its source.
func newSoak(t *testing.T, seed uint64) *soak {
	t.Helper()
	s := &soak{t: t, rng: rand.New(rand.NewPCG(seed, 1)), limit: 200 * time.Millisecond}
	var err error
	s.declared, err = otlptest.ReadDeclared(filepath.Join("..", "metadata.yaml"))
	require.NoError(t, err)
	return s
}

// begin has a source read the machine, which is made for what is wanted, and its processes in a process table.
func (s *soak) begin(proc string, source func(want gpu.Group) gpu.Source, options ...process.Option) {
	cfg, events := everyMetric(), metadata.DefaultEventsConfig()
	events.ProcessGpuStarted.Enabled, events.ProcessGpuExited.Enabled = true, true
	s.stage = newStage(s.t, source(record.Wanted(&cfg.Metrics, &events, true)), cfg, func(o *pipeline.Options) {
		o.Events, o.ProcessEvents = true, true
	})
	s.describe(process.New(proc, append(options, process.WithAnyNamespace())...))
	s.t.Cleanup(s.processes.Close)
	s.recorder = record.NewEvents(metadata.LogsBuilderConfig{Events: events, ResourceAttributes: cfg.ResourceAttributes}, s.settings())
}

func (s *soak) pass(seconds float64) {
	s.seconds += seconds
	s.node.pass(seconds)
}

// apply has the machine be as it is described.
func (s *soak) apply() {
	s.clock.Store(int64(s.seconds*float64(time.Second)) + int64(s.jump))
	s.node.apply()
}

// change changes something.
func (s *soak) change() string {
	if s.rng.IntN(20) == 0 {
		s.history.ClockSet = true
		s.jump = oneOf(s.rng, 0, -5*time.Minute, 5*time.Minute, -time.Minute, time.Minute)
		return fmt.Sprint("clock ", s.jump)
	}
	return s.node.change()
}

// look reads once, and checks what is sent.
func (s *soak) look(limit time.Duration) []otlptest.Point {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), limit)
	defer cancel()
	var points []otlptest.Point
	var found []string
	s.read(ctx, func(node *gpu.Node) {
		metrics := s.pipeline.Metrics(node)
		points = otlptest.Points(metrics)
		found = append(otlptest.Violations(metrics), otlptest.TimeViolations(metrics)...)
		found = append(found, s.declared.Violations(metrics)...)
		found = append(found, s.history.Add(metrics)...)
		found = append(found, s.checkEvents(node, points)...)
		found = append(found, s.checkUntouched(points)...)
		found = append(found, s.node.wrongReadings(points)...)
	})
	if len(points) == 0 {
		found = append(found, "nothing is told")
	}
	require.Empty(s.t, slices.DeleteFunc(found, s.node.excuses), s.story())
	return points
}

func (s *soak) story() string {
	return "what happened last:\n" + strings.Join(s.log[max(0, len(s.log)-25):], "\n")
}

func (s *soak) note(format string, args ...any) {
	s.log = append(s.log, fmt.Sprintf("%.0f s: ", s.seconds)+fmt.Sprintf(format, args...))
}

// Whatever happens to GPUs, driver, kubelet and pods, in whatever order, what is sent makes sense, message by message and from one
// to the next; and when it is over, it is what is true.
//
// GPURECEIVER_SOAK=seed:histories:changes has other histories, more of them and longer ones.
func TestSoak(t *testing.T) {
	soakHistories(t, func(t *testing.T, seed uint64) *soak { return newSoakNVML(t, seed, seed%4 > 0) })
}

func soakHistories(t *testing.T, begin func(t *testing.T, seed uint64) *soak) {
	t.Helper()
	seed, histories, changes := uint64(2), 2, 20
	if text := os.Getenv("GPURECEIVER_SOAK"); text != "" {
		_, err := fmt.Sscanf(text, "%d:%d:%d", &seed, &histories, &changes)
		require.NoError(t, err)
	}
	for i := range uint64(histories) {
		t.Run(fmt.Sprintf("GPURECEIVER_SOAK=%d:1:%d", seed+i, changes), func(t *testing.T) {
			s := begin(t, seed+i)
			s.heal()
			for range changes {
				for range 1 + s.rng.IntN(3) {
					s.note("%s", s.change())
				}
				s.pass(1 + s.rng.Float64()*60)
				s.apply()
				for range 1 + s.rng.IntN(2) {
					s.look(s.limit)
					s.pass(float64(1 + s.rng.IntN(20)))
					s.apply()
				}
				if s.rng.IntN(10) == 0 {
					s.heal()
				}
			}
			s.heal()
		})
	}
}
