// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvidiatool

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

// The exit codes of nvidia-smi for a wrong argument and for a GPU that does not exist, by its manual, and for an option that it does not know.
const (
	badArgument   = 2
	notFound      = 6
	unknownOption = 255
)

// The real nvidia-smi understands its commands in the first steps of docs/operate/alerts.md, with a UUID as hw.id has it. The simulated
// library cannot reset a GPU.
func TestToolFirstSteps(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "operate", "alerts.md"))
	require.NoError(t, err)
	_, section, ok := strings.Cut(string(page), "\n## First steps\n")
	require.True(t, ok)
	section, _, _ = strings.Cut(section, "\n## ")
	commands := regexp.MustCompile("`nvidia-smi ([^`]+)`").FindAllStringSubmatch(section, -1)
	require.Len(t, commands, 2)

	library, err := nvmlsim.Build()
	if errors.Is(err, nvmlsim.ErrNoCompiler) {
		t.Skip(err)
	}
	require.NoError(t, err)
	real := newTool(t, library.Dir)
	const uuid = "GPU-11111111-2222-4333-8444-555555555555"
	nvmlsim.Use(t, "gpus = 2\n[gpu *]\nboard = h100\n[gpu 1]\nuuid = "+uuid+"\nbus_id = 00000000:1B:00.0\n")
	run := func(args ...string) (string, int) {
		cmd := exec.CommandContext(t.Context(), real.path, args...)
		cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+real.library)
		printed, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		require.True(t, err == nil || errors.As(err, &exit), err)
		return string(printed), cmd.ProcessState.ExitCode()
	}
	for _, command := range commands {
		args := strings.Fields(strings.ReplaceAll(command[1], "UUID", uuid))
		if args[len(args)-1] == "-i" { // the page names the flag alone
			args = append(args, uuid)
		}
		printed, code := run(args...)
		assert.NotContains(t, []int{badArgument, notFound, unknownOption}, code, "%v: %s", args, printed)
		assert.Contains(t, printed, "00000000:1B:00.0", args)
	}
	_, code := run("-i", "GPU-00000000-0000-4000-8000-000000000000")
	assert.Equal(t, notFound, code)
	_, code = run("--gpu-resets", "-i", uuid)
	assert.Equal(t, unknownOption, code)
}
