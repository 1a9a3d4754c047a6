// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Command view measures a gateway whose gpu_view exporter shows a fleet: the memory and the time that the exporter adds to the collector,
// and how fast the API answers. It sends the messages of a thousand agents over OTLP to a built collector, once without gpu_view and once with
// it, as many rounds as fill its history.
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

	"github.com/otelgpu/gpureceiver/test/fleet/messages"
)

// goalMemory is what gpu_view may add to the collector's heap for a thousand nodes of eight GPUs and 64 processes, in bytes.
const goalMemory = 150 << 20

type options struct {
	collector string
	fleet     messages.Fleet
	rounds    int
	interval  time.Duration
	requests  int
	check     bool
}

func main() {
	var o options
	flag.StringVar(&o.collector, "collector", "dist/otelcol-gpu", "the collector to measure")
	flag.IntVar(&o.fleet.Nodes, "nodes", 1000, "how many nodes")
	flag.IntVar(&o.fleet.GPUs, "gpus", 8, "GPUs of each node")
	flag.IntVar(&o.fleet.Processes, "processes", 64, "processes of each node")
	flag.IntVar(&o.fleet.Clusters, "clusters", 4, "clusters of the nodes")
	flag.IntVar(&o.rounds, "rounds", 121, "how many messages each node sends; 121 fill a history of an hour")
	flag.DurationVar(&o.interval, "interval", 30*time.Second, "the time between the reads of a node, by its clock; the messages follow each other at once")
	flag.IntVar(&o.requests, "requests", 200, "how often each request is sent")
	flag.BoolVar(&o.check, "check", false, "fail where the goal of the memory is missed, or the API shows something else than was sent")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, &o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "view-fleet:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o *options) error {
	var err error
	if o.collector, err = filepath.Abs(o.collector); err != nil {
		return err
	}
	if _, err := os.Stat(o.collector); err != nil {
		return fmt.Errorf("no collector to measure: %w; build it with `make otelcol-gpu`", err)
	}
	fmt.Printf("%d nodes, %d GPUs, %d processes; %d rounds of messages.\n\n", o.fleet.Nodes, o.fleet.Nodes*o.fleet.GPUs, o.fleet.Nodes*o.fleet.Processes, o.rounds)
	fmt.Println("| gateway | heap after a collection | anonymous memory | resident at most | CPU a message | points in a message |")
	fmt.Println("|---|---|---|---|---|---|")
	withoutView, err := fill(ctx, o, false)
	if err != nil {
		return err
	}
	withoutView.gateway.Kill()
	withoutView.report("without gpu_view")
	withView, err := fill(ctx, o, true)
	if err != nil {
		return err
	}
	defer withView.gateway.Kill()
	withView.report("with gpu_view")
	added := withView.heap - withoutView.heap
	fmt.Printf("\ngpu_view adds %s of heap, %s of anonymous memory, and %.2f ms of CPU for each message.\n\n",
		mib(added), mib(withView.anonymous-withoutView.anonymous), 1e3*(withView.cpu-withoutView.cpu).Seconds()/float64(withView.messages))

	var missed []error
	if added > goalMemory {
		missed = append(missed, fmt.Errorf("gpu_view adds %s of heap, the goal is %s", mib(added), mib(goalMemory)))
	}
	missed = append(missed, withView.gateway.verify(ctx, o)...)
	if err := withView.gateway.reportLatencies(ctx, o, "at rest"); err != nil {
		return err
	}
	if err := withView.gateway.whileSending(ctx, o, func() error { return withView.gateway.reportLatencies(ctx, o, "while messages come") }); err != nil {
		return err
	}
	if o.check {
		return errors.Join(missed...)
	}
	for _, miss := range missed {
		fmt.Fprintln(os.Stderr, "missed:", miss)
	}
	return nil
}

func mib(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }
