// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nodes

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/otlptest"
	"github.com/otelgpu/gpureceiver/internal/pipeline"
	"github.com/otelgpu/gpureceiver/internal/process"
	"github.com/otelgpu/gpureceiver/internal/record"
	"github.com/otelgpu/gpureceiver/test/histories"
)

const (
	interval     = 30 * time.Second
	maxProcesses = 512
	unhurried    = 10 * time.Minute // limit of a read that must not be cut short, and in which nothing hangs
	maxLimit     = 5 * time.Second  // of a read in which something may hang
)

// epoch is the driver's time at which a history starts.
var epoch = time.Unix(1_700_000_000, 0).UTC()

// plan is the default plan, if the environment defines none.
var plan = histories.Plan{Seed: 2, Histories: 2, Rounds: 20}

// node is a machine and the pipeline that reads it. It is a histories.World.
type node struct {
	t       *testing.T
	h       *histories.History
	rng     *rand.Rand
	machine machine
	clock   atomic.Int64  // the collector's, since epoch
	seconds float64       // the driver's time
	jump    time.Duration // the collector's clock is ahead of the driver's by this much
	limit   time.Duration // of a read between two recoveries

	host     gpu.Host
	reader   pipeline.Reader
	pipeline *pipeline.Pipeline
	recorder *record.EventRecorder
	declared *otlptest.Declared
	sequence otlptest.Sequence
	resource otlptest.Resources
	ends     otlptest.Ends
	previous sentBefore
	uses     uses
}

// machine is the hardware, its driver and its processes.
type machine interface {
	steps() []histories.Step
	pass(seconds float64)
	apply()                      // writes everything as it is described
	recover()                    // ends all faults
	touched(address string) bool // reports whether a step concerned the GPU at a PCI address since the last recovery
	settle()                     // starts a new "since the last recovery"
	truth() (devices, holders, processes []string)
	wrongReadings(points []otlptest.Point) []string
	excuses(wrong string) bool // reports whether there is a good reason for something that looks wrong
}

func (n *node) excuses(string) bool { return false }

// now returns the collector's time. It advances during a read.
func (n *node) now() time.Time {
	return epoch.Add(time.Duration(n.clock.Add(int64(time.Millisecond))))
}

// newNode returns a node that has neither a machine nor a source yet.
func newNode(t *testing.T, h *histories.History) *node {
	t.Helper()
	n := &node{t: t, h: h, rng: h.Rand, limit: 200 * time.Millisecond, host: gpu.Host{Name: "node-a", NodeName: "node-a", ClusterName: "prod"}}
	var err error
	n.declared, err = otlptest.ReadDeclared(filepath.Join("..", "..", "..", "metadata.yaml"))
	require.NoError(t, err)
	return n
}

// begin creates the source, for every metric and event, and the pipeline. proc is the process table.
func (n *node) begin(proc string, source func(want gpu.Group) gpu.Source, options ...process.Option) {
	cfg, events := everyMetric(), metadata.DefaultEventsConfig()
	events.ProcessGpuStarted.Enabled, events.ProcessGpuExited.Enabled = true, true
	processes := process.New(proc, append(options, process.WithAnyNamespace(), process.WithPatience(time.Hour))...)
	n.t.Cleanup(processes.Close)
	n.reader = pipeline.Reader{Source: source(record.Wanted(&cfg.Metrics, &events, true)), Processes: describer{processes}}
	n.pipeline = pipeline.New(pipeline.Options{
		Source: "source", Logger: zap.NewNop(), Events: true, ProcessEvents: true, AllocationEvents: true, Interval: interval, MaxProcesses: maxProcesses,
		Dropped:  func(context.Context, int) {},
		Recorder: record.New(cfg, settings()),
	})
	n.recorder = record.NewEvents(metadata.LogsBuilderConfig{Events: events, ResourceAttributes: cfg.ResourceAttributes}, settings())
}

func settings() receiver.Settings { return receivertest.NewNopSettings(metadata.Type) }

// everyMetric also enables the metrics that are off by default.
func everyMetric() metadata.MetricsBuilderConfig {
	cfg := metadata.NewDefaultMetricsBuilderConfig()
	metrics := reflect.ValueOf(&cfg.Metrics).Elem()
	for _, metric := range metrics.Fields() {
		metric.FieldByName("Enabled").SetBool(true)
	}
	return cfg
}

// describer adds the processes' details if the node has devices, as the receiver does.
type describer struct{ *process.Reader }

func (d describer) Describe(_ context.Context, node *gpu.Node) {
	if len(node.Devices) > 0 {
		d.Reader.Describe(node)
	}
}

// Steps implements histories.World.
func (n *node) Steps() []histories.Step {
	steps := histories.Times(19, n.machine.steps())
	weight := 0
	for _, s := range steps {
		weight += s.Weight
	}
	return append(steps, histories.Step{Name: "clock set", Weight: weight / 19, Do: func() string {
		n.sequence.ClockSet = true
		n.jump = histories.OneOf(n.rng, 0, -5*time.Minute, 5*time.Minute, -time.Minute, time.Minute)
		return n.jump.String()
	}})
}

// Pass implements histories.World.
func (n *node) Pass(seconds float64) {
	n.seconds += seconds
	n.machine.pass(seconds)
	n.apply()
}

// apply puts the machine and the clock into the described state.
func (n *node) apply() {
	n.clock.Store(int64(n.seconds*float64(time.Second)) + int64(n.jump))
	n.machine.apply()
}

// Check implements histories.World.
func (n *node) Check() []string {
	_, wrong := n.read(n.limit)
	return wrong
}

// read reads once, and returns the sent points and the errors in them.
func (n *node) read(limit time.Duration) (points []otlptest.Point, wrong []string) {
	ctx, cancel := context.WithTimeout(n.t.Context(), limit)
	defer cancel()
	node, err := n.reader.Read(ctx, n.host)
	if err != nil {
		failed := n.pipeline.Metrics(n.pipeline.Failed(n.host, gpu.NVIDIA, time.Now(), err))
		wrong = append(n.declared.Violations(failed), n.ends.Add(failed)...)
		return nil, n.excused(append(wrong, "nothing is sent"))
	}
	n.pipeline.Take(ctx, node)
	metrics := n.pipeline.Metrics(node)
	points = otlptest.Points(metrics)
	wrong = append(otlptest.Violations(metrics), otlptest.TimeViolations(metrics)...)
	wrong = append(wrong, n.declared.Violations(metrics)...)
	wrong = append(wrong, otlptest.PrometheusViolations(metrics)...)
	wrong = append(wrong, n.sequence.Add(metrics)...)
	wrong = append(wrong, n.resource.Add(metrics)...)
	wrong = append(wrong, n.ends.Add(metrics)...)
	wrong = append(wrong, n.checkEvents(node, points)...)
	wrong = append(wrong, n.checkUntouched(points)...)
	wrong = append(wrong, n.machine.wrongReadings(points)...)
	if len(points) == 0 {
		wrong = append(wrong, "nothing is sent")
	}
	return points, n.excused(wrong)
}

// excused removes the errors that the machine explains.
func (n *node) excused(wrong []string) []string { return slices.DeleteFunc(wrong, n.machine.excuses) }

// play plays the histories of one kind of node.
func play(t *testing.T, begin func(t *testing.T, h *histories.History) *node) {
	t.Helper()
	histories.Each(t, plan, func(t *testing.T, h *histories.History) { h.Play(begin(t, h)) })
}
