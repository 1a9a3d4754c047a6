// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/client"
	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/collector"
	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/top"
)

const simulatedNotice = "SIMULATED HARDWARE: these GPUs do not exist; the collector reads a simulated libnvidia-ml.so.1"

// runFlags say which collector to start.
type runFlags struct {
	binary, config, log, also string
	simulated                 bool
	duration                  time.Duration
}

// runCollector shows what a collector reads that it starts. The collector ends with it: otherwise it would keep running.
func runCollector(ctx context.Context, args []string, input, out *os.File) error {
	var (
		server serverFlags
		r      runFlags
		o      top.Options
	)
	flags := newFlags("otelgpu run")
	server.register(flags)
	flags.StringVar(&server.server, "server", client.DefaultServer, "`URL` of its gpu_view exporter")
	flags.StringVar(&r.binary, "collector", "", "the `PROGRAM` to start (default dist/otelcol-gpu, otelcol-gpu beside otelgpu, or in PATH)")
	flags.StringVar(&r.config, "config", "", "its configuration `FILE`, with a gpu_view exporter at --server (default config/run.yaml here, beside otelgpu, or as installed)")
	flags.StringVar(&r.log, "log", "collector.log", "the `FILE` of its log")
	flags.StringVar(&r.also, "also", "", "another `TEXT` to show after the page's address, such as what else the collector serves")
	flags.BoolVar(&r.simulated, "simulated", false, "show that the hardware is simulated")
	flags.DurationVar(&r.duration, "for", 0, "stop after this time; 0 runs until q or Ctrl-C")
	flags.DurationVar(&o.Interval, "interval", 2*time.Second, "minimum time between two requests for the same data")
	words, err := parse(flags, args, "Starts a collector, shows its GPUs, and stops it. If the output is not a terminal, it prints the table every 5 s.", out)
	if err != nil {
		return err
	}
	if len(words) > 0 {
		return usageErrorf("run %s: only flags are accepted; -h lists them", strings.Join(words, " "))
	}
	if err := checkInterval(o.Interval); err != nil {
		return err
	}
	r.binary, r.config = cmp.Or(r.binary, collector.FindProgram()), cmp.Or(r.config, collector.FindConfig())
	if r.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.duration)
		defer cancel()
	}
	c, err := server.client()
	if err != nil {
		return err
	}
	defer c.Close()
	if err := checkUnused(ctx, c.Server()); err != nil {
		return err
	}
	running, err := collector.Start(r.binary, r.config, r.log)
	if err != nil {
		return err
	}
	defer running.Stop()
	r.describe(&o, c, running)
	if !isTerminal(input) || !isTerminal(out) {
		return top.Repeat(ctx, c, out, o)
	}
	return onScreen(ctx, c, o)
}

// checkUnused refuses a server that answers before the collector is started: what it shows would not be the collector's.
func checkUnused(ctx context.Context, server string) error {
	u, err := url.Parse(server)
	if err != nil || u.Port() == "" {
		return nil //nolint:nilerr // the client reports it
	}
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return nil //nolint:nilerr // nothing listens there
	}
	_ = conn.Close()
	return fmt.Errorf("%s is in use by another program, such as a collector that already runs, which otelgpu top shows; stop it, or set another "+
		"endpoint of gpu_view in the configuration and give it with --server", u.Host)
}

// describe says what is shown beside the table.
func (r *runFlags) describe(o *top.Options, c *client.Client, running *collector.Collector) {
	o.Server = c.Server()
	if r.simulated {
		o.Notice = simulatedNotice
	}
	o.Places = "Page " + c.Server() + "/"
	if r.also != "" {
		o.Places += ", " + r.also
	}
	o.Places += ", log " + r.log
	o.Why = func() []string { return collector.Reasons(r.log) }
	o.Ended = running.Ended()
}
