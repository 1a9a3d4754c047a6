// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Command fleet measures a collector that reads a fleet remotely: with a real etcd, API server, controller manager and scheduler, and a
// thousand simulated kubelets in this process, whose driver pods run a simulated nvidia-smi. It reports how many of the nodes were read in
// each interval, and the cost for the collector and the API server. With more than one replica it then kills one.
//
// It needs root, for the control plane's network, and the programs that test/kubernetes/build.sh builds.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
	"github.com/otelgpu/gpureceiver/test/fleet/simulation"
	"github.com/otelgpu/gpureceiver/test/kubernetes/cluster"
)

type options struct {
	collector  string
	nodes      int
	gpus       int
	interval   time.Duration
	timeout    time.Duration
	intervals  int
	replicas   int
	shards     int
	concurrent int
	verbose    bool
	check      bool
}

func main() {
	var o options
	flag.StringVar(&o.collector, "collector", "dist/otelcol-gpu", "the collector to measure")
	flag.IntVar(&o.nodes, "nodes", 1000, "how many nodes")
	flag.IntVar(&o.gpus, "gpus", 8, "GPUs of each, with a process on each GPU")
	flag.DurationVar(&o.interval, "interval", 30*time.Second, "the collection interval")
	flag.DurationVar(&o.timeout, "timeout", 10*time.Second, "the timeout of a read")
	flag.IntVar(&o.intervals, "intervals", 20, "how many intervals to measure")
	flag.IntVar(&o.replicas, "replicas", 1, "how many collectors share the nodes; of more than one, one is killed")
	flag.IntVar(&o.shards, "shards", 0, "into how many shards the nodes are divided; 0: two for each replica, or one")
	flag.IntVar(&o.concurrent, "max-concurrent", 16, "max_concurrent")
	flag.BoolVar(&o.verbose, "v", false, "show what the collectors log at the end")
	flag.BoolVar(&o.check, "check", false, "fail where a goal is missed")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, &o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o *options) error {
	if os.Geteuid() != 0 {
		return errors.New("it needs root, to give the control plane a network of its own")
	}
	var err error
	if o.collector, err = filepath.Abs(o.collector); err != nil {
		return err
	}
	if _, err := os.Stat(o.collector); err != nil {
		return fmt.Errorf("no collector to measure: %w; build it with `make otelcol-gpu`", err)
	}
	if o.shards == 0 {
		o.shards = 1
		if o.replicas > 1 {
			o.shards = 2 * o.replicas
		}
	}
	dir, err := os.MkdirTemp("", "fleet-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	f, err := startControlPlane(ctx)
	if f != nil {
		defer f.stop()
	}
	if err != nil {
		return err
	}
	start := time.Now()
	if err := f.populate(ctx, o); err != nil {
		return err
	}
	token, err := f.access(ctx, dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "fleet: %d nodes and %d pods after %.1f s\n", o.nodes, f.nodes.Running(), time.Since(start).Seconds())
	return f.measure(ctx, o, dir, token)
}

// measure runs the collectors and prints the results.
func (f *fleet) measure(ctx context.Context, o *options, dir, token string) error {
	s, err := startSink()
	if err != nil {
		return err
	}
	defer s.stop()
	m := &meter{options: o, fleet: f, sink: s}
	if m.apiServer, err = f.layout.Component(cluster.APIServer); err != nil {
		return err
	}
	if err := m.idle(ctx); err != nil {
		return err
	}
	m.collectors, err = f.startCollectors(o, dir, token, s.endpoint)
	defer func() {
		for _, c := range m.collectors {
			c.Kill()
		}
	}()
	if err != nil {
		return err
	}
	if err := m.settle(ctx); err != nil {
		m.complain()
		return err
	}
	if err := m.steady(ctx); err != nil {
		return err
	}
	missed := m.report()
	if o.replicas > 1 {
		if err := m.kill(ctx); err != nil {
			return err
		}
		missed = append(missed, m.reportKill()...)
	}
	if o.verbose {
		m.complain()
	}
	if o.check {
		return errors.Join(missed...)
	}
	return nil
}

// meter follows a run.
type meter struct {
	options    *options
	fleet      *fleet
	sink       *sink
	collectors []*harness.Process
	apiServer  int

	alone  float64 // the API server's load before the collectors
	start  time.Time
	steps  []sample
	killed time.Time
	ended  time.Time
}

func (m *meter) sample() sample {
	s := sample{sampleTime: time.Now(), apiServer: measure(m.apiServer), itself: measure(os.Getpid()), count: m.sink.count()}
	s.machine, _ = harness.MachineCPU()
	for _, c := range m.collectors {
		s.collectors = append(s.collectors, measure(c.PID()))
	}
	s.execs, s.refused, s.broken = m.fleet.execs.Served.Load(), m.fleet.execs.Refused.Load(), m.fleet.execs.Broken.Load()
	return s
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// idle measures the API server without a collector.
func (m *meter) idle(ctx context.Context) error {
	if err := pause(ctx, 10*time.Second); err != nil { // after the rollout
		return err
	}
	before := m.sample()
	if err := pause(ctx, 20*time.Second); err != nil {
		return err
	}
	after := m.sample()
	m.alone = cores(before.apiServer, after.apiServer, after.sampleTime.Sub(before.sampleTime))
	return nil
}

// settle waits until every node was read, and the same time again for one-time work: field lists, versions, processes.
func (m *meter) settle(ctx context.Context) error {
	start := time.Now()
	limit := start.Add(5*m.options.interval + time.Minute)
	for m.sink.count().nodes < m.options.nodes {
		if time.Now().After(limit) {
			return fmt.Errorf("%d of %d nodes were read after %v", m.sink.count().nodes, m.options.nodes, time.Since(start))
		}
		if err := pause(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
	fmt.Fprintf(os.Stderr, "fleet: every node was read %.1f s after the start\n", time.Since(start).Seconds())
	return pause(ctx, 2*m.options.interval)
}

// steady takes a sample after each interval.
func (m *meter) steady(ctx context.Context) error {
	m.start = time.Now()
	m.steps = append(m.steps, m.sample())
	for i := range m.options.intervals {
		if err := pause(ctx, time.Until(m.start.Add(time.Duration(i+1)*m.options.interval))); err != nil {
			return err
		}
		m.steps = append(m.steps, m.sample())
		fmt.Fprintf(os.Stderr, "fleet: interval %d of %d, %d execs\n", i+1, m.options.intervals, m.steps[i+1].execs-m.steps[i].execs)
	}
	// The last reads may still be in transit, and a node's own interval ends half an interval later.
	return pause(ctx, m.options.interval/2+2*time.Second)
}

// kill ends one replica without a clean shutdown.
func (m *meter) kill(ctx context.Context) error {
	m.killed = time.Now()
	m.collectors[0].Kill()
	fmt.Fprintln(os.Stderr, "fleet: replica 0 is killed")
	if err := pause(ctx, 5*m.options.interval); err != nil {
		return err
	}
	m.ended = time.Now()
	return pause(ctx, 2*time.Second)
}

// complain prints the collectors' logs.
func (m *meter) complain() {
	for i, c := range m.collectors {
		fmt.Fprintf(os.Stderr, "--- replica %d\n%s\n", i, c.Output())
	}
}

func (m *meter) names() []string {
	names := make([]string, m.options.nodes)
	for i := range names {
		names[i] = simulation.Name(i)
	}
	return names
}
