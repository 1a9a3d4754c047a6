// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Command gpuwatch shows in a terminal what otelcol-gpu sends: it starts the collector, follows the OTLP file that the collector writes,
// and draws one line for each GPU. It reads no GPU itself, so its data has passed through the whole collector.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	var o options
	flag.StringVar(&o.binary, "run", "dist/otelcol-gpu", "the collector to start")
	flag.StringVar(&o.config, "config", "config/demo.yaml", "its configuration")
	flag.StringVar(&o.log, "log", "demo-output/collector.log", "where its log goes")
	flag.StringVar(&o.otlp, "otlp", "demo-output/otlp.jsonl", "the OTLP file that it writes")
	flag.StringVar(&o.endpoint, "endpoint", "http://127.0.0.1:9400/metrics", "the collector's Prometheus endpoint, for the heading")
	flag.BoolVar(&o.simulated, "simulated", false, "say that the hardware is simulated")
	flag.DurationVar(&o.duration, "for", 0, "end after this time; 0: on Ctrl-C")
	flag.Parse()
	if err := watch(o); err != nil {
		fmt.Fprintln(os.Stderr, "gpuwatch:", err)
		os.Exit(1)
	}
}

// watch runs until Ctrl-C or for the given time. It ends the collector too when the terminal is closed (except under nohup) and when the
// output is no longer read; otherwise the collector would keep running.
func watch(o options) error {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGPIPE}
	if !signal.Ignored(syscall.SIGHUP) {
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	defer stop()
	if o.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.duration)
		defer cancel()
	}
	return run(ctx, o)
}

// run shows what the collector sends until the context ends or the collector does.
func run(ctx context.Context, o options) error {
	if err := os.Remove(o.otlp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the last run's output: %w", err)
	}
	c, err := startCollector(o)
	if err != nil {
		return err
	}
	defer c.stop()

	screen := newScreen(os.Stdout, o)
	follower := &follower{path: o.otlp}
	view := newView()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-c.ended:
			return fmt.Errorf("the collector has ended by itself (%w); the end of %s:\n%s", err, o.log, lastLines(o.log))
		case now := <-tick.C:
			news, err := follower.next()
			if err != nil {
				return err
			}
			for _, metrics := range news {
				view.update(metrics)
			}
			screen.draw(view, now)
		}
	}
}
