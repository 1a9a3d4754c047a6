// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package collector starts a collector beside the program that shows its GPUs, and ends it.
package collector // import "github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/collector"

import (
	"fmt"
	"os"
	"os/exec"
	"time"
)

// stopWait is the time that the collector has to end before it is killed, the grace period that Kubernetes gives by default.
const stopWait = 30 * time.Second

// Collector is a running collector.
type Collector struct {
	cmd   *exec.Cmd
	log   *os.File
	ended chan error
}

// Start starts a collector in a process group of its own: Ctrl-C in the terminal then reaches only this program, which passes it on once.
// The collector's log goes into a file.
func Start(binary, config, logFile string) (*Collector, error) {
	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600) //nolint:gosec // a developer's own command line
	if err != nil {
		return nil, fmt.Errorf("create the collector's log: %w; give another file with --log", err)
	}
	c := &Collector{log: log, ended: make(chan error, 1)}
	c.cmd = exec.Command(binary, "--config", config) //nolint:gosec // a developer's own command line
	c.cmd.Stdout, c.cmd.Stderr = log, log
	ownProcessGroup(c.cmd)
	if err := c.cmd.Start(); err != nil {
		_ = log.Close()
		return nil, fmt.Errorf("start the collector: %w; build it with `make otelcol-gpu`, or give its path with --collector", err)
	}
	go func() {
		_ = c.cmd.Wait() // the state says more
		c.ended <- fmt.Errorf("the collector ended (%v); the last lines of %s:\n%s", c.cmd.ProcessState, logFile, lastLines(logFile))
		close(c.ended)
	}()
	return c, nil
}

// Ended receives an error when the collector ends before Stop is called.
func (c *Collector) Ended() <-chan error { return c.ended }

// Stop ends the collector as Ctrl-C does.
func (c *Collector) Stop() {
	defer func() { _ = c.log.Close() }()
	if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
		_ = c.cmd.Process.Kill() // Windows has no interrupt; otherwise it has ended
	}
	select {
	case <-c.ended:
	case <-time.After(stopWait):
		_ = c.cmd.Process.Kill()
		<-c.ended
	}
}
