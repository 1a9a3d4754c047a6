// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

// idleLibrary is a process that has initialised the simulated library and calls nothing. The library looks at its control
// file 50 times a second in a thread of its own, in the collector too; no driver does. So what this process uses, at the
// same time on the same machine, is taken off what the collector uses.
type idleLibrary struct {
	process *harness.Process
	dir     string
}

func (m *meter) startIdleLibrary() (*idleLibrary, error) {
	source, err := nvmlsim.SourceDir()
	if err != nil {
		return nil, err
	}
	l := &idleLibrary{}
	if l.dir, err = os.MkdirTemp("", "cost-"); err != nil {
		return nil, err
	}
	program := filepath.Join(l.dir, "idle")
	text := filepath.Join(filepath.Dir(source), "collector", "cost", "testdata", "idle.c")
	output, err := exec.Command("cc", "-O2", "-o", program, text, "-ldl").CombinedOutput()
	if err != nil {
		l.stop()
		return nil, fmt.Errorf("compile %s: %w\n%s", text, err, output)
	}
	l.process, err = harness.Start(harness.Options{
		Binary: program, Args: []string{m.library.Full},
		Env: []string{nvmlsim.EnvScenario + "=" + m.scenario, nvmlsim.EnvControl + "=" + filepath.Join(l.dir, "control")},
	})
	if err != nil {
		l.stop()
		return nil, err
	}
	time.Sleep(time.Second) // until it has settled
	return l, nil
}

// cpu is the CPU time that the library has used by itself.
func (l *idleLibrary) cpu() (time.Duration, error) { return harness.CPUTime(l.process.PID()) }

// memory is the library's own anonymous memory.
func (l *idleLibrary) memory() (int64, error) {
	anonymous, _, err := harness.Memory(l.process.PID())
	return anonymous, err
}

func (l *idleLibrary) stop() {
	if l.process != nil {
		l.process.Kill()
	}
	_ = os.RemoveAll(l.dir)
}
