// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// stopWait is the time that the collector has to end before it is killed.
const stopWait = 5 * time.Second

// collector is the running otelcol-gpu.
type collector struct {
	cmd   *exec.Cmd
	log   *os.File
	ended chan error
}

// startCollector starts the collector in a process group of its own: Ctrl-C in the terminal then reaches only gpuwatch, which
// passes it on once.
func startCollector(o options) (*collector, error) {
	log, err := os.Create(o.log)
	if err != nil {
		return nil, fmt.Errorf("create the collector's log: %w", err)
	}
	c := &collector{log: log, ended: make(chan error, 1)}
	c.cmd = exec.Command(o.binary, "--config", o.config) //nolint:gosec // a developer's own command line
	c.cmd.Stdout, c.cmd.Stderr = log, log
	ownProcessGroup(c.cmd)
	if err := c.cmd.Start(); err != nil {
		_ = log.Close()
		return nil, fmt.Errorf("start the collector: %w; build it with `make otelcol-gpu`", err)
	}
	go func() { c.ended <- c.cmd.Wait() }()
	return c, nil
}

// stop ends the collector as Ctrl-C does.
func (c *collector) stop() {
	defer c.log.Close()
	if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
		return // it has ended
	}
	select {
	case <-c.ended:
	case <-time.After(stopWait):
		_ = c.cmd.Process.Kill()
	}
}

// lastLines returns the end of a file for an error message.
func lastLines(path string) string {
	const most = 5
	data, err := os.ReadFile(path) //nolint:gosec // a developer's own command line
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
	if len(lines) > most {
		lines = lines[len(lines)-most:]
	}
	return string(bytes.Join(lines, []byte("\n")))
}
