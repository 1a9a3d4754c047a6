// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"

	"github.com/otelgpu/gpureceiver/internal/attribution/podresources"
	"github.com/otelgpu/gpureceiver/internal/attribution/runtimes"
)

// KubeletRead is what the kubelet of this node answers.
type KubeletRead struct {
	Endpoint string
	Pods     int // all that the kubelet knows
	Devices  int // allocations of devices, of whatever kind
	Err      error
}

// ReadKubelet asks the kubelet for its allocations, whether or not there are GPUs. It returns nil where the configuration has no
// pod_resources.
func (e *Examination) ReadKubelet(ctx context.Context) *KubeletRead {
	cfg := e.sources.cfg.Attribution.PodResources
	if cfg == nil {
		return nil
	}
	read := &KubeletRead{Endpoint: cfg.Endpoint}
	client, err := podresources.New(cfg.Endpoint)
	if err != nil {
		read.Err = err
		return read
	}
	defer func() { _ = client.Close() }()
	answer, err := client.List(ctx)
	read.Pods, read.Devices, read.Err = answer.Pods, len(answer.Allocations), err
	return read
}

// RuntimeCheck is whether a runtime of attribution::containers can be asked for containers.
type RuntimeCheck = runtimes.Check

// CheckRuntimes asks each runtime of attribution::containers.
func (e *Examination) CheckRuntimes(ctx context.Context) []RuntimeCheck {
	cfg := e.sources.cfg.Attribution.Containers
	if cfg == nil {
		return nil
	}
	return runtimes.New(cfg).Check(ctx)
}

// CheckProcessTable reports whether a process table is read, and why the one that the configuration names does not have every process of the
// machine, as in another PID namespace.
func (e *Examination) CheckProcessTable() (bool, error) {
	if len(e.sources.local) == 0 {
		return false, nil
	}
	return true, e.sources.local[0].processes.Check()
}

// AcceptsAnyProcessTable reports whether CheckProcessTable does not look for processes that are missing: any_pid_namespace.
func (e *Examination) AcceptsAnyProcessTable() bool {
	processes := e.sources.cfg.Attribution.Processes
	return processes != nil && processes.AnyPIDNamespace
}
