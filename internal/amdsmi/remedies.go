// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/command"
)

// Why there are no devices, or not all that could be told of them.
var (
	errNoDriver = errors.New("the amdgpu driver is not loaded")
	errNoDevice = errors.New("the driver has no GPU")
	errAccess   = errors.New("not permitted")
)

// failure words why a tool gave no devices, from what it printed.
func failure(r *command.Result, err error) error {
	text := strings.ToLower(string(r.Stderr) + "\n" + string(r.Stdout[:min(len(r.Stdout), 4096)]))
	switch {
	case strings.Contains(text, "driver not initialized"), strings.Contains(text, "driver not loaded"),
		strings.Contains(text, "not found in modules"):
		return fmt.Errorf("%w; load it (modprobe amdgpu), and give a container the host's /sys", errNoDriver)
	case strings.Contains(text, "unable to detect any gpu"), strings.Contains(text, "no drm devices"),
		strings.Contains(text, "no amd gpus"), strings.Contains(text, "no json data to report"):
		return noDevice()
	case strings.Contains(text, "no_perm"), strings.Contains(text, "permission"), strings.Contains(text, "elevation"):
		return fmt.Errorf("%w; run as a member of the groups render and video, with /dev/kfd and /dev/dri: %s",
			errAccess, lastLine(r))
	case err != nil:
		return fmt.Errorf("exit code %d: %w: %s", r.ExitCode, err, lastLine(r))
	default:
		return fmt.Errorf("exit code %d: %s", r.ExitCode, lastLine(r))
	}
}

func noDevice() error { return fmt.Errorf("%w; see lspci -d 1002: and the kernel's log", errNoDevice) }

// pythonException matches the line with which an exception ends. amd-smi prints it without "Traceback".
var pythonException = regexp.MustCompile(`(?m)^[A-Za-z_][\w.]*(Error|Exception)(:|$)`)

// exception tells whether a tool ended with an exception of Python's.
func exception(stderr []byte) bool { return pythonException.Match(stderr) }

// lastLine returns what a tool said last on stderr, where an exception names itself, else what it printed.
func lastLine(r *command.Result) string {
	lines := strings.Split(strings.TrimSpace(string(r.Stderr)), "\n")
	if last := excerpt([]byte(lines[len(lines)-1])); last != "" {
		return last
	}
	return excerpt(r.Stdout)
}
