// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"context"

	"github.com/otelgpu/gpureceiver/internal/attribution"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/exec"
	"github.com/otelgpu/gpureceiver/internal/pipeline"
)

// readerKey distinguishes readers. The pod is not part of it: a reader remembers the node's GPUs when the pod is replaced.
type readerKey struct{ tool, query string }

func (j *job) reader() readerKey { return readerKey{tool: j.target.Tool, query: j.target.Query} }

// reader reads a node's GPUs by one tool: it runs the tool in a container, and completes the node that the tool's source makes of the text.
type reader struct {
	runner   *exec.Runner
	source   toolSource
	pipeline pipeline.Reader
}

// newReader returns a reader of the GPUs of one node. users attributes their processes to containers; if it is nil, processes are not looked up.
func newReader(c *cluster, target *TargetConfig, users *attribution.Attributor) *reader {
	tool := tools[target.Tool]
	runner := exec.NewRunner(throttledExecutor{c.executor, c.pauseIfAsked}, tool.command, c.now)
	source := tool.source(target, runner, c.want)
	completed := pipeline.Reader{Source: source}
	if users != nil {
		completed.Processes, completed.Attributor = newProcessLookup(runner, c.now), users
	}
	return &reader{runner: runner, source: source, pipeline: completed}
}

// read reads the GPUs and their users in a container. Without the tool and without known GPUs there is no result, and the node is read less
// often. A panic becomes an error of this node: see fault.
func (r *reader) read(ctx context.Context, containerRef exec.Container, host gpu.Host) (read *gpu.Node, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = newFault(cause, host.NodeName, containerRef)
		}
	}()
	if r.runner.Container().ID != containerRef.ID {
		r.source.Reset()
	}
	r.runner.Use(containerRef)
	defer r.runner.Release()
	read, err = r.pipeline.Read(ctx, host)
	if err == nil && len(read.Devices) == 0 && read.Failure != nil && read.Failure.Reason == gpu.FailureToolMissing {
		return nil, read.Failure
	}
	return read, err
}

// throttledExecutor passes the error of every exec to failed. An exec that fails may be a part of a read that succeeds, whose
// error becomes a problem of the node only.
type throttledExecutor struct {
	exec.Executor
	failed func(error)
}

// Exec implements exec.Executor.
func (e throttledExecutor) Exec(ctx context.Context, containerRef exec.Container, argv []string, out *exec.Output) (int, error) {
	code, err := e.Executor.Exec(ctx, containerRef, argv, out)
	if err != nil {
		e.failed(err)
	}
	return code, err
}
