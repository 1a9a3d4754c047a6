// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

// TestProcessIsOneSeries: a process keeps the identity of the first read that had it. The identity changes when the process executes
// another program, or when another process has the PID.
func TestProcessIsOneSeries(t *testing.T) {
	begun := readAt.Add(-time.Hour)
	python := gpu.Process{Created: begun, Program: "/usr/bin/python3", Executable: "python3", Command: "python3", CommandLine: "python3 train.py", Owner: "ada", UserID: gpu.Some[int64](7)}
	unreadable := gpu.Process{Created: begun, Executable: "pt_main"} // another user's, so only the command name is known
	inUnit := python
	inUnit.Container = &gpu.Container{SystemdUnit: "x.service"}
	modified := func(p gpu.Process, change func(*gpu.Process)) gpu.Process { change(&p); return p }
	for _, tt := range []struct {
		name         string
		first, later gpu.Process
		changed      bool
		executable   string
	}{
		{"nothing changes", python, python, false, "python3"},
		{"another title", python, modified(python, func(p *gpu.Process) { p.Command, p.CommandLine = "python3: epoch 7", "python3: epoch 7" }), false, "python3"},
		{"another owner", python, modified(python, func(p *gpu.Process) { p.Owner, p.UserID = "bob", gpu.Some[int64](8) }), false, "python3"},
		{"the file cannot be read any more", python, modified(python, func(p *gpu.Process) { p.Program, p.Executable = "", "pt_main" }), false, "python3"},
		{"another command name", unreadable, modified(unreadable, func(p *gpu.Process) { p.Executable = "pt_data" }), false, "pt_main"},
		{"nothing can be read, as the process ends", python, gpu.Process{}, false, "python3"},
		{"its unit cannot be read any more", inUnit, python, false, "python3"},
		{"nothing can be read of a process in a unit", inUnit, gpu.Process{}, false, "python3"},
		{"its unit is known now", python, inUnit, true, "python3"},
		{"exec", python, modified(python, func(p *gpu.Process) { p.Program, p.Executable = "/usr/bin/trtserver", "trtserver" }), true, "trtserver"},
		{"another process has the PID", python, modified(python, func(p *gpu.Process) { p.Created = begun.Add(time.Minute) }), true, "python3"},
		{"the file can be read now", unreadable, modified(python, func(*gpu.Process) {}), true, "python3"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRecorder(everything())
			resource := func(p gpu.Process) map[string]any {
				p.PID, p.DeviceID = 41, gpuID
				points := otlptest.Of(otlptest.Points(r.Record(&gpu.Node{Time: readAt, Processes: []gpu.Process{p}})), "process.gpu.info")
				require.Len(t, points, 1)
				return points[0].Resource
			}
			first, later := resource(tt.first), resource(tt.later)
			assert.Equal(t, tt.executable, later["process.executable.name"])
			if tt.changed {
				assert.NotEqual(t, first, later)
			} else {
				assert.Equal(t, first, later)
			}
		})
	}
}

// TestEndedProcessIsForgotten: a PID that no device had in between is another process.
func TestEndedProcessIsForgotten(t *testing.T) {
	r := newRecorder(everything())
	for _, name := range []string{"a", "", "b"} {
		node := &gpu.Node{Time: readAt}
		if name != "" {
			node.Processes = []gpu.Process{{PID: 41, DeviceID: gpuID, Executable: name}}
		}
		for _, p := range otlptest.Of(otlptest.Points(r.Record(node)), "process.gpu.info") {
			assert.Equal(t, name, p.Resource["process.executable.name"])
		}
	}
}
