// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// source is one receiver of the collector, and what it has sent.
type source struct {
	vendor, name, scraper string
	interval              time.Duration
	targetReads           int // reads in each phase
	sink                  *harness.Sink

	mu  sync.Mutex
	all []read
}

// read is one read of a source.
type read struct {
	time    float64
	points  harness.Points // those that are compared
	message pmetric.Metrics
}

// receiver is the part of a configuration for one source.
func (s *source) receiver(tool string) string {
	log := ""
	if f, err := os.Open("/dev/kmsg"); err == nil {
		_ = f.Close()
		log = ", kernel_log: {}"
	}
	return fmt.Sprintf("{collection_interval: %v, timeout: %[1]v, initial_delay: 100ms, scrapers: {%s}%s,\n"+
		"    metrics: {hw.gpu.pipe.utilization: {enabled: true}, hw.gpu.power.instant: {enabled: true}}}", s.interval, strings.ReplaceAll(s.scraper, "TOOL", tool), log)
}

// configuration returns a configuration of the collector for the sources, each with an exporter of its own.
func configuration(sources []*source, tool string) string {
	var receivers, exporters, pipelines strings.Builder
	for i, s := range sources {
		url := "http://127.0.0.1:1"
		if s.sink != nil {
			url = s.sink.URL
		}
		fmt.Fprintf(&receivers, "  gpu/%d: %s\n", i, s.receiver(tool))
		fmt.Fprintf(&exporters, "  otlp_http/%d: {endpoint: '%s', compression: none, tls: {insecure: true}}\n", i, url)
		for _, signal := range []string{"metrics", "logs"} {
			fmt.Fprintf(&pipelines, "    %s/%d: {receivers: [gpu/%[2]d], exporters: [otlp_http/%[2]d]}\n", signal, i)
		}
	}
	return "receivers:\n" + receivers.String() + "exporters:\n" + exporters.String() +
		"service:\n  telemetry: {metrics: {level: none}}\n  pipelines:\n" + pipelines.String()
}

func (t *test) startCollector() error {
	for _, s := range t.sources {
		s.sink = harness.NewSink()
		s.sink.Each = s.add
	}
	// Not in the report's directory: the names of files in it would be in the recording.
	dir, err := os.MkdirTemp("", "hardware-")
	if err != nil {
		return err
	}
	audit, err := filepath.Abs(t.program("count.so"))
	if err != nil {
		return err
	}
	program, err := filepath.Abs(t.program("otelcol-gpu"))
	if err != nil {
		return err
	}
	t.dir = dir
	t.collector, err = harness.Collector(harness.Options{
		Binary: program, Dir: dir,
		Env: []string{"GOMAXPROCS=1", "LD_AUDIT=" + audit, "GPU_HARDWARE_CALLS=" + filepath.Join(dir, "calls")},
	}, configuration(t.sources, t.tool))
	return err
}

// collectorRuns returns an error if the collector has ended.
func (t *test) collectorRuns() error {
	if t.collector.Running() {
		return nil
	}
	return fmt.Errorf("the collector has ended: %s", t.collector.Output())
}

// measureCollector reads what the collector and its calls of NVML took since its start.
func (t *test) measureCollector() error {
	var err error
	if t.cpu, err = harness.CPUTime(t.collector.PID()); err != nil {
		return err
	}
	t.calls, err = readCalls(fmt.Sprintf("%s.%d", filepath.Join(t.dir, "calls"), t.collector.PID()))
	return err
}

func (t *test) stopCollector() {
	_, _, _ = t.collector.Interrupt(5 * time.Second) // it is killed if it does not end
	for _, s := range t.sources {
		_ = s.sink.Close()
	}
	_ = os.RemoveAll(t.dir)
}

func (s *source) add(message pmetric.Metrics) {
	timestamp, ok := harness.MessageTime(message)
	if !ok {
		return
	}
	r := read{time: seconds(timestamp.AsTime()), message: message}
	for _, p := range harness.Flatten(message) {
		if compared[p.Metric] {
			r.points = append(r.points, p)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, r)
}

// between returns the reads from one time to another.
func (s *source) between(begin, end float64) []read {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.all), func(r read) bool { return r.time < begin || r.time > end })
}

// during returns the reads of a phase without the first ones, which also stand for the time before it.
func (s *source) during(p *done) []read {
	return s.between(p.Begin+2*s.interval.Seconds(), p.End)
}

// xids returns the XIDs that the source has sent.
func (s *source) xids() []plog.LogRecord {
	return slices.DeleteFunc(s.sink.Events(), func(event plog.LogRecord) bool { return event.EventName() != "hw.gpu.xid" })
}

// await waits for a condition, or until the context ends.
func await(ctx context.Context, condition func() bool) {
	for !condition() && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}
