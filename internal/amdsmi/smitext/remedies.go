// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smitext

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/command"
)

// Reasons why a tool lists no devices, or not everything about them.
var (
	ErrNoDriver = errors.New("the amdgpu driver is not loaded")
	ErrNoDevice = errors.New("the driver lists no GPU")
	ErrAccess   = errors.New("not permitted")
	// ErrNoIdentity is the reason why the listed GPUs cannot be distinguished.
	ErrNoIdentity = errors.New("it shows neither a unique id nor a PCI address of any GPU")
)

// Failure returns why a tool listed no devices and what to do about it, from its output. err is why the output could not be read.
func Failure(r *command.Result, err error) error {
	text := strings.ToLower(string(r.Stderr) + "\n" + string(r.Stdout[:min(len(r.Stdout), 4096)]))
	switch {
	case strings.Contains(text, "driver not initialized"), strings.Contains(text, "driver not loaded"),
		strings.Contains(text, "not found in modules"):
		return fmt.Errorf("%w; load it (modprobe amdgpu), and give a container the host's /sys", ErrNoDriver)
	case strings.Contains(text, "unable to detect any gpu"), strings.Contains(text, "no drm devices"),
		strings.Contains(text, "no amd gpus"), strings.Contains(text, "no json data to report"):
		return NoDevice()
	case strings.Contains(text, "no_perm"), strings.Contains(text, "permission"), strings.Contains(text, "elevation"):
		return fmt.Errorf("%w; run the tool as a member of the groups render and video, and give a container /dev/kfd and /dev/dri: %s",
			ErrAccess, lastLine(r))
	case err != nil:
		return fmt.Errorf("exit code %d: %w: %s", r.ExitCode, err, lastLine(r))
	default:
		return fmt.Errorf("exit code %d: %s", r.ExitCode, lastLine(r))
	}
}

// NoDevice returns ErrNoDevice with what to do about it.
func NoDevice() error { return fmt.Errorf("%w; see lspci -d 1002: and the kernel's log", ErrNoDevice) }

// pythonException matches the last line of an exception. amd-smi prints it without "Traceback".
var pythonException = regexp.MustCompile(`(?m)^[A-Za-z_][\w.]*(Error|Exception)(:|$)`)

// IsException reports whether a tool ended with an exception of Python.
func IsException(stderr []byte) bool { return pythonException.Match(stderr) }

// lastLine returns the last line on stderr, which names an exception, or else the beginning of stdout.
func lastLine(r *command.Result) string {
	lines := strings.Split(strings.TrimSpace(string(r.Stderr)), "\n")
	if last := Excerpt([]byte(lines[len(lines)-1])); last != "" {
		return last
	}
	return Excerpt(r.Stdout)
}
