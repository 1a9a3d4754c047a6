// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Command node starts a single-node Kubernetes for tests: etcd, the control plane, a kubelet and a container runtime, as processes in
// separate namespaces, without a daemon of the machine. Only the process table is the machine's. It needs root. E2E_CACHE and E2E_INDEX
// define its path and name; see the package cluster.
//
//	node up      bring it up, and print what to set to use it
//	node down    end it, and remove what it leaves
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/otelgpu/gpureceiver/test/kubernetes/cluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "node:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("up or down?")
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	control := flags.Bool("control-plane", false, "up: no kubelet and no container runtime")
	keep := flags.Bool("keep", false, "down: leave the node's files, for a look at its logs")
	if args[0] == "init" {
		// The remaining arguments are only for process listings.
		return initialise(os.Getenv(envControlPlane) != "")
	}
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	layout, err := cluster.LayoutFromEnv()
	if err != nil {
		return err
	}
	n := &node{Layout: layout, controlPlane: *control}
	switch args[0] {
	case "up":
		return n.up(ctx)
	case "down":
		return n.down(*keep)
	}
	return fmt.Errorf("up or down, not %s", args[0])
}

// node is the node to bring up.
type node struct {
	cluster.Layout

	controlPlane bool // … and no more
}
