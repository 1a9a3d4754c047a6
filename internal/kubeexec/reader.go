// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"context"
	"time"

	"github.com/otelgpu/gpureceiver/internal/amdsmi"
	"github.com/otelgpu/gpureceiver/internal/amdsmi/rocmsmi"
	"github.com/otelgpu/gpureceiver/internal/attribution"
	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/exec"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi"
	"github.com/otelgpu/gpureceiver/internal/pipeline"
)

// readerKey distinguishes readers. The pod is not part of it: a reader remembers the node's GPUs when the pod is replaced.
type readerKey struct{ tool, query string }

func (j *job) reader() readerKey { return readerKey{tool: j.target.Tool, query: j.target.Query} }

// reader reads a node's GPUs by one tool. It is the source of its own pipeline.Reader.
type reader struct {
	runner    *exec.Runner
	source    gpu.Source     // the tool's
	instance  string         // the container instance that was read last
	processes *processLookup // nil where processes are not attributed
	pipeline  pipeline.Reader
}

func newReader(executor exec.Executor, tool command.Tool, now func() time.Time) *reader {
	r := &reader{runner: exec.NewRunner(executor, tool, now)}
	r.pipeline.Source = r
	return r
}

// attribute has processes looked up and attributed to containers.
func (r *reader) attribute(users *attribution.Attributor, now func() time.Time) {
	r.processes = newProcessLookup(r.runner, now)
	r.pipeline.Processes, r.pipeline.Attributor = r.processes, users
}

// renew prepares the reader for another container, whose tool and driver may differ. The GPUs are the same.
func (r *reader) renew(j *job, want gpu.Group) {
	if source, ok := r.source.(interface{ Reset() }); ok {
		source.Reset()
		return
	}
	switch j.target.Tool {
	case ToolROCmSMI:
		r.source = rocmsmi.New(&rocmsmi.Config{}, r.runner, want)
	case ToolAMDSMI:
		r.source = amdsmi.New(&amdsmi.Config{}, r.runner, want)
	default:
		r.source = nvidiasmi.New(nvidiasmi.Config{Query: j.target.Query}, r.runner, want)
	}
}

// read reads the GPUs and their users. A panic becomes an error of this node: see fault.
func (r *reader) read(ctx context.Context, host gpu.Host) (read *gpu.Node, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = newFault(cause, host.NodeName, r.runner.Container())
		}
	}()
	return r.pipeline.Read(ctx, host)
}

// Read implements gpu.Source. Without the tool and without known GPUs there is no result, and the node is read less often.
func (r *reader) Read(ctx context.Context) (*gpu.Node, error) {
	read, err := r.source.Read(ctx)
	if err != nil {
		return nil, err
	}
	if len(read.Devices) == 0 && read.Failure != nil && read.Failure.Reason == gpu.FailureToolMissing {
		return nil, read.Failure
	}
	return read, nil
}

// Close implements gpu.Source.
func (r *reader) Close() error { return r.source.Close() }

// throttledExecutor passes the error of every exec to failed. An exec that fails may be a part of a read that succeeds, whose
// error becomes a problem of the node only.
type throttledExecutor struct {
	exec.Executor
	failed func(error)
}

// Exec implements exec.Executor.
func (e throttledExecutor) Exec(ctx context.Context, in exec.Container, argv []string, out *exec.Output) (int, error) {
	code, err := e.Executor.Exec(ctx, in, argv, out)
	if err != nil {
		e.failed(err)
	}
	return code, err
}
