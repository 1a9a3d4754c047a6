// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/gdamore/tcell/v3"
	"golang.org/x/term"

	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/client"
	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/top"
)

func runTop(ctx context.Context, args []string, input, out *os.File) error {
	var (
		server serverFlags
		o      top.Options
	)
	flags := newFlags("otelgpu top")
	server.registerServer(flags)
	server.register(flags)
	flags.StringVar(&o.Cluster, "cluster", "", "start with this `CLUSTER`; - stands for nodes outside clusters")
	flags.StringVar(&o.Node, "node", "", "start with this `NODE`")
	flags.DurationVar(&o.Interval, "interval", 2*time.Second, "minimum time between two requests for the same data")
	words, err := parse(flags, args, "Shows GPUs live; ? lists the keys. If the output is not a terminal, it prints one table and exits.", out)
	if err != nil {
		return err
	}
	if len(words) > 0 {
		return usageErrorf("top %s: only flags are accepted; -h lists them", strings.Join(words, " "))
	}
	if err := checkInterval(o.Interval); err != nil {
		return err
	}
	c, err := server.client()
	if err != nil {
		return err
	}
	defer c.Close()
	o.Server = c.Server()
	if !isTerminal(input) || !isTerminal(out) {
		return top.Print(ctx, c, out, o)
	}
	return onScreen(ctx, c, o)
}

func onScreen(ctx context.Context, c *client.Client, o top.Options) error {
	screen, err := tcell.NewScreen()
	if err != nil {
		return fmt.Errorf("open the terminal: %w; set TERM to the terminal's type", err)
	}
	return top.Run(ctx, c, screen, o)
}

func checkInterval(interval time.Duration) error {
	if least := 100 * time.Millisecond; interval < least {
		return usageErrorf("--interval is %v; give at least %v", interval, least)
	}
	return nil
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
