// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
	"github.com/otelgpu/gpureceiver/test/fleet/messages"
)

// configuration is the configuration of a gateway. debug represents a backend, at next to no cost.
const configuration = `receivers:
  otlp: {protocols: {grpc: {endpoint: "%[1]s"}}}
exporters:
  debug: {verbosity: basic, sampling_initial: 1, sampling_thereafter: 1000000}
%[2]sextensions:
  pprof: {endpoint: "%[3]s"}
service:
  extensions: [pprof]
  telemetry: {metrics: {level: none}, logs: {level: warn}}
  pipelines:
    metrics: {receivers: [otlp], exporters: [%[4]s]}
`

// gateway is a running collector that receives OTLP.
type gateway struct {
	*harness.Process
	otlp, profiles string
	api            string // URL; empty without gpu_view
	agents         []*messages.Node
	dir            string
}

func startGateway(o *options, view bool) (*gateway, error) {
	addresses := make([]string, 3)
	for i := range addresses {
		var err error
		if addresses[i], err = harness.FreeAddress(); err != nil {
			return nil, err
		}
	}
	g := &gateway{otlp: addresses[0], profiles: addresses[1], agents: o.fleet.All()}
	exporter, names := "", "debug"
	if view {
		g.api = "http://" + addresses[2]
		exporter, names = fmt.Sprintf("  gpu_view: {endpoint: %q}\n", addresses[2]), "debug, gpu_view"
	}
	var err error
	if g.dir, err = os.MkdirTemp("", "view-fleet-"); err != nil {
		return nil, err
	}
	g.Process, err = harness.Collector(harness.Options{Binary: o.collector, Dir: g.dir}, fmt.Sprintf(configuration, g.otlp, exporter, g.profiles, names))
	return g, err
}

// Kill ends the collector.
func (g *gateway) Kill() {
	g.Process.Kill()
	_ = os.RemoveAll(g.dir)
}

// filled is a gateway that has received the messages of a fleet, and what that has cost.
type filled struct {
	gateway         *gateway
	messages        int
	points          int
	heap, anonymous int64 // bytes; the heap after a garbage collection
	highest         int64
	cpu             time.Duration
}

// fill starts a gateway and sends it the messages of the fleet.
func fill(ctx context.Context, o *options, view bool) (*filled, error) {
	g, err := startGateway(o, view)
	if err != nil {
		return nil, err
	}
	f, err := g.fill(ctx, o)
	if err != nil {
		output := g.Output()
		g.Kill()
		return nil, fmt.Errorf("%w\n%s", err, output)
	}
	return f, nil
}

func (g *gateway) fill(ctx context.Context, o *options) (*filled, error) {
	sender, err := messages.NewSender(g.otlp)
	if err != nil {
		return nil, err
	}
	defer func() { _ = sender.Close() }()
	f := &filled{gateway: g}
	start := time.Now()
	for round := range o.rounds {
		roundTime := start.Add(time.Duration(round-o.rounds+1) * o.interval)
		sending, cancel := context.WithTimeout(ctx, 5*time.Minute)
		points, err := sender.SendRound(sending, g.agents, roundTime)
		cancel()
		if err != nil {
			return nil, err
		}
		f.messages, f.points = f.messages+len(g.agents), f.points+points
	}
	if f.cpu, err = harness.CPUTime(g.PID()); err != nil {
		return nil, err
	}
	if f.anonymous, _, err = harness.Memory(g.PID()); err != nil {
		return nil, err
	}
	if f.highest, err = harness.HighestMemory(g.PID()); err != nil {
		return nil, err
	}
	f.heap, err = g.heap(ctx)
	return f, err
}

func (f *filled) report(label string) {
	fmt.Printf("| %s | %s | %s | %s | %.2f ms | %d |\n", label, mib(f.heap), mib(f.anonymous),
		mib(f.highest), 1e3*f.cpu.Seconds()/float64(f.messages), f.points/f.messages)
}

// heap returns the size of the objects on the collector's heap after a garbage collection.
func (g *gateway) heap(ctx context.Context) (int64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+g.profiles+"/debug/pprof/heap?gc=1&debug=1", nil)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), "# HeapAlloc = "); ok {
			return strconv.ParseInt(value, 10, 64)
		}
	}
	return 0, errors.Join(lines.Err(), errors.New("the heap profile lacks HeapAlloc"))
}

// whileSending calls a function while the agents send one message after the other, as many a second as a fleet does.
func (g *gateway) whileSending(ctx context.Context, o *options, do func() error) error {
	sender, err := messages.NewSender(g.otlp)
	if err != nil {
		return err
	}
	defer func() { _ = sender.Close() }()
	ctx, stop := context.WithCancel(ctx)
	failed := make(chan error, 1)
	go func() {
		ticker := time.NewTicker(o.interval / time.Duration(len(g.agents)))
		defer ticker.Stop()
		for i := 0; ; i = (i + 1) % len(g.agents) {
			select {
			case <-ctx.Done():
				failed <- nil
				return
			case <-ticker.C:
			}
			if err := sender.Send(ctx, g.agents[i].Metrics(time.Now())); err != nil && ctx.Err() == nil {
				failed <- err
				return
			}
		}
	}()
	err = do()
	stop()
	return errors.Join(err, <-failed)
}
