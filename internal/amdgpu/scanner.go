// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/device"
	"github.com/otelgpu/gpureceiver/internal/amdgpu/scan"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/workers"
)

// scanShare is how many times longer a read may take than its scan. The rest of the time is for the GPUs.
const scanShare = 3

// scanner finds the GPUs. Each part of the scan is a task of its own: a file that does not answer costs the part that reads it and no
// other.
type scanner struct {
	root     string
	pool     *workers.Pool
	cards    scanPart[*scan.Cards]
	bus      scanPart[*scan.Bus]
	topology scanPart[*scan.Topology]
	version  scanPart[string]       // of the driver
	names    scanPart[device.Names] // of GPUs; read once

	last    *scan.Inventory // of the last scan; nil: no scan has found the cards
	problem error           // what the last scan could not read in time
	stale   bool            // it could not read the DRM devices or the topology in time: they may not fit together
}

func newScanner(root string, pool *workers.Pool) scanner {
	c := scanner{root: root, pool: pool}
	c.cards.task, c.bus.task = pool.NewTask(nil), pool.NewTask(nil)
	c.topology.task, c.version.task, c.names.task = pool.NewTask(nil), pool.NewTask(nil), pool.NewTask(nil)
	return c
}

// scan looks for GPUs. A part that does not end in time stays as the last scan found it. An error means that nothing is known of the GPUs.
func (c *scanner) scan(ctx context.Context) error {
	if deadline, ok := ctx.Deadline(); ok {
		bounded, cancel := context.WithTimeout(ctx, time.Until(deadline)/scanShare)
		defer cancel()
		ctx = bounded
	}
	jobs := []workers.Job{
		c.cards.job(c.root, scan.ReadCards), c.bus.job(c.root, scan.ReadBus), c.topology.job(c.root, scan.ReadTopology),
		c.version.job(c.root, device.ReadDriverVersion),
	}
	if c.names.last == nil {
		jobs = append(jobs, c.names.job(c.root, device.ReadNames))
	}
	c.pool.Run(ctx, jobs...)
	_, _ = c.names.take() // device.GPU reports names that are missing
	var late []string
	for _, part := range []struct {
		name string
		take func() (done bool, err error)
	}{
		{"the DRM devices", c.cards.take}, {"the PCI bus", c.bus.take}, {"the KFD topology", c.topology.take},
	} {
		done, err := part.take()
		if err != nil {
			return err
		}
		if !done {
			late = append(late, part.name)
		}
	}
	if c.cards.last == nil {
		return &gpu.Failure{
			Reason: gpu.FailureTimeout, Err: fmt.Errorf("amdgpu: %s: the DRM devices could not be read in time", filepath.Join(c.root, "sys/class/drm")),
		}
	}
	c.stale = c.cards.task.Outcome() != workers.Done || c.topology.task.Outcome() != workers.Done
	c.problem = nil
	if len(late) > 0 {
		c.problem = fmt.Errorf("amdgpu: the scan of %s did not end in time; the results of the last scan are used", strings.Join(late, " and "))
	}
	c.last = scan.Join(c.cards.last, c.bus.last, c.topology.last)
	return nil
}

// driverVersion returns the version of the driver, or why it is not known.
func (c *scanner) driverVersion() (string, error) {
	done, err := c.version.take()
	if !done && c.version.last == "" {
		return "", errors.New("no answer in time")
	}
	return c.version.last, err
}

// scanPart reads a part of the inventory.
type scanPart[T any] struct {
	task   *workers.Task
	result T     // belongs to the task
	err    error // belongs to the task
	last   T     // of the last scan of this part that ended without an error
}

// job returns the job that reads the part.
func (p *scanPart[T]) job(root string, read func(root string) (T, error)) workers.Job {
	return workers.Job{Task: p.task, Func: func() { p.result, p.err = read(root) }}
}

// take keeps what the task has left. It reports whether the task ended in time, and with which error.
func (p *scanPart[T]) take() (done bool, err error) {
	if p.task.Outcome() != workers.Done {
		return false, nil
	}
	if p.err == nil {
		p.last = p.result
	}
	return true, p.err
}
