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

// idleLibrary is a process that has initialised the simulated library and calls nothing. The collector's memory contains the scenario too,
// which a real library does not need. So the memory of this process is subtracted from the collector's.
type idleLibrary struct {
	process *harness.Process
	dir     string
}

// noControl disables the library's control file. Otherwise a thread of the library polls it 50 times a second, in the collector.
const noControl = nvmlsim.EnvControl + "=none"

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
		Env: []string{nvmlsim.EnvScenario + "=" + m.scenario, noControl},
	})
	if err != nil {
		l.stop()
		return nil, err
	}
	time.Sleep(time.Second) // until it has settled
	return l, nil
}

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
