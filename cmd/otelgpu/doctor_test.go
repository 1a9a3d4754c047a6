// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/doctor"
)

// doctorCommand is otelgpu doctor in a process of its own: a library of a driver is loaded once in each.
func doctorCommand(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", append([]string{"doctor"}, args...)...)
	cmd.Env = append(os.Environ(), asOtelgpu+"=1")
	return cmd
}

// finish runs a command to its end.
func finish(t *testing.T, cmd *exec.Cmd) result {
	t.Helper()
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return result{code: cmd.ProcessState.ExitCode(), out: out.String(), err: errs.String()}
}

// gpuConfig is a collector's configuration with a gpu receiver of these settings. The process table of any container will do, and a read may take long.
func gpuConfig(settings string) string {
	indented := strings.ReplaceAll(strings.TrimSpace(settings), "\n", "\n    ")
	return "yaml:receivers:\n  gpu:\n    collection_interval: 5m\n    timeout: 5m\n    attribution:\n      node_name: node-a\n      processes:\n        any_pid_namespace: true\n    " + indented +
		"\nexporters:\n  debug:\nservice:\n  pipelines:\n    metrics:\n      receivers: [gpu]\n      exporters: [debug]\n"
}

// goldenReport compares the sections with a golden file, without the section about this machine.
func goldenReport(t *testing.T, name, text string, replaced ...string) {
	t.Helper()
	sections := strings.Split(text, "\n\n")
	machine := slices.IndexFunc(sections, func(s string) bool { return strings.HasPrefix(s, "machine\n") })
	require.Positive(t, machine, "the report begins with the GPUs: %s", text)
	sources := strings.NewReplacer(replaced...).Replace(strings.Join(slices.Delete(sections, machine, machine+1), "\n\n"))
	path := filepath.Join("testdata", "doctor", name+".txt")
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
		require.NoError(t, os.WriteFile(path, []byte(sources), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), sources)
}

// report decodes the report of a command.
func report(t *testing.T, r result) *doctor.Report {
	t.Helper()
	var decoded doctor.Report
	require.NoError(t, json.Unmarshal([]byte(r.out), &decoded), "%s%s", r.out, r.err)
	assert.Equal(t, decoded.Readable, r.code == 0)
	assert.Equal(t, decoded.Readable, decoded.Failed == 0)
	return &decoded
}

// check returns the first check of a subject.
func check(t *testing.T, r *doctor.Report, section, subject string) doctor.Check {
	t.Helper()
	for _, s := range r.Sections {
		if !strings.HasPrefix(s.Name, section) {
			continue
		}
		for _, c := range s.Checks {
			if c.Subject == subject {
				return c
			}
		}
	}
	require.Fail(t, "no such check", "%s, %s of %+v", section, subject, r.Sections)
	return doctor.Check{}
}

func TestDoctorCommandLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "none.yaml")
	for args, want := range map[string]result{
		"doctor now":                  {code: 2, err: "otelgpu: doctor now: only flags are accepted; -h lists them\n"},
		"doctor --output xml":         {code: 2, err: "otelgpu: --output xml; give one of text, json\n"},
		"doctor --tool /a/nvidia-smi": {code: 2, err: "otelgpu: --tool /a/nvidia-smi is for --compare; give both\n"},
		"doctor --compare --tool /a/nvtop": {
			code: 2, err: "otelgpu: --tool /a/nvtop; give an absolute path that ends with nvidia-smi, amd-smi or rocm-smi\n",
		},
		"doctor --timeout 0s":                 {code: 2, err: "otelgpu: --timeout is 0s; give a time above 0\n"},
		"doctor --config " + file:             {code: 1},
		"doctor --config yaml:receivers:":     {code: 1},
		"doctor --config yaml:processors::a:": {code: 1},
	} {
		got := otelgpu(t, strings.Fields(args)...)
		assert.Equal(t, want.code, got.code, args)
		assert.Empty(t, got.out)
		if want.err != "" {
			assert.Equal(t, want.err, got.err)
		}
		assert.NotEmpty(t, got.err)
	}
	got := otelgpu(t, "doctor", "--config", "yaml:exporters::debug:")
	assert.Contains(t, got.err, "no gpu receiver in a pipeline")
}

// What the collector would refuse is a check that failed.
func TestDoctorWrongConfiguration(t *testing.T) {
	got := finish(t, doctorCommand(t, "--config", gpuConfig("max_processes: -1"), "--output", "json"))
	c := check(t, report(t, got), "gpu", "configuration")
	assert.Equal(t, doctor.Failed, c.State)
	assert.Contains(t, c.Found, "receivers::gpu: max_processes: must be 0 or more, got -1")
}
