// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/gdamore/tcell/v3"
	"golang.org/x/term"

	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/client"
	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/collector"
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
	words, err := parse(flags, args, "Shows GPUs live; ? lists the keys. Without a collector it reads the GPUs of this machine itself. If the output is not a terminal, it prints one table and exits.", out)
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
	defer func() { c.Close() }()
	o.Server = c.Server()
	if server.isDefault() && refuses(ctx) {
		local, err := collector.StartLocal(ctx, collector.NewLocalConfig())
		if err != nil {
			return err
		}
		defer local.Stop()
		o.Notice = "No collector answers at " + c.Server() + ": these are the GPUs that otelgpu itself reads on this machine"
		c.Close()
		server.server = local.Server
		if c, err = server.client(); err != nil {
			return err
		}
		o.Server = "this machine"
	}
	if !isTerminal(input) || !isTerminal(out) {
		return top.Print(ctx, c, out, o)
	}
	return onScreen(ctx, c, o)
}

// refuses reports whether nothing listens at the default server.
func refuses(ctx context.Context) bool {
	var dialer net.Dialer
	connection, err := dialer.DialContext(ctx, "tcp", strings.TrimPrefix(client.DefaultServer, "http://"))
	if err == nil {
		_ = connection.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
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
