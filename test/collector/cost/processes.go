// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// processes are real processes, so that their /proc entries are read too, and a scenario in which they use the GPUs.
type processes struct {
	all      []*harness.Process
	dir      string
	scenario string
}

func (m *meter) startProcesses() (*processes, error) {
	const gpus, each = 8, 8
	text, err := os.ReadFile(m.scenario)
	if err != nil {
		return nil, err
	}
	device, _, _ := strings.Cut(string(text), "[process")
	p := &processes{}
	if p.dir, err = os.MkdirTemp("", "cost-"); err != nil {
		return nil, err
	}
	var scenario strings.Builder
	scenario.WriteString(device)
	for i := range gpus * each {
		sleeper, err := harness.Start(harness.Options{Binary: "/bin/sleep", Args: []string{"86400"}})
		if err != nil {
			p.stop()
			return nil, err
		}
		p.all = append(p.all, sleeper)
		fmt.Fprintf(&scenario, "[process p%d]\ngpu = %d\npid = %d\nmemory = 9Gi\nsm = 11\nmem = 5\nenc = 1\n", i, i%gpus, sleeper.PID())
	}
	p.scenario = filepath.Join(p.dir, "processes.scenario")
	return p, os.WriteFile(p.scenario, []byte(scenario.String()), 0o600)
}

func (p *processes) stop() {
	for _, sleeper := range p.all {
		sleeper.Kill()
	}
	_ = os.RemoveAll(p.dir)
}
