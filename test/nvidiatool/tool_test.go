// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiatool

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

// toolPath is the variable that names the real nvidia-smi.
const toolPath = "NVIDIA_SMI"

// tool runs the real nvidia-smi on the simulated library. It is a command.Runner.
type tool struct{ path, library string }

func newTool(t testing.TB, library string) tool {
	t.Helper()
	path := os.Getenv(toolPath)
	if path == "" {
		t.Skip(toolPath + " is not set; test/nvidiatool/run.sh gets the tool and sets it")
	}
	return tool{path: path, library: library}
}

// Run implements command.Runner.
func (r tool) Run(ctx context.Context, commands ...command.Command) ([]command.Result, error) {
	var results []command.Result
	for _, c := range commands {
		cmd := exec.CommandContext(ctx, r.path, c.Args...)
		cmd.Env = append(c.Tool.Environment(), "LD_LIBRARY_PATH="+r.library,
			nvmlsim.EnvScenario+"="+os.Getenv(nvmlsim.EnvScenario), nvmlsim.EnvControl+"="+os.Getenv(nvmlsim.EnvControl))
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			return results, err
		}
		results = append(results, command.Result{
			Stdout: stdout.Bytes(), Stderr: stderr.Bytes(), ExitCode: cmd.ProcessState.ExitCode(),
		})
	}
	return results, nil
}
