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
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

// processes are real processes, so that their /proc entries are read too, and a scenario in which they use the GPUs.
type processes struct {
	all      []*harness.Process
	dir      string
	scenario string
	slow     string // the scenario with a driver that takes the time of a real one
}

func (m *meter) startProcesses() (*processes, error) {
	const gpus, each = 8, 8
	text, err := os.ReadFile(m.scenario)
	if err != nil {
		return nil, err
	}
	device, _, _ := strings.Cut(string(text), "[process")
	costs, err := realCosts()
	if err != nil {
		return nil, err
	}
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
	p.slow = filepath.Join(p.dir, "slow.scenario")
	if err := os.WriteFile(p.scenario, []byte(scenario.String()), 0o600); err != nil {
		return p, err
	}
	return p, os.WriteFile(p.slow, []byte(scenario.String()+costs), 0o600)
}

// realCosts returns what the calls of a real driver cost. A call keeps its thread busy for that time, as most of the recorded calls did.
func realCosts() (string, error) {
	path, err := nvmlsim.ScenarioFile("h200")
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	_, costs, ok := strings.Cut(string(text), "[cost]\n")
	if !ok {
		return "", fmt.Errorf("%s contains no [cost]", path)
	}
	return "[cost]\nwait = busy\n" + costs, nil
}

func (p *processes) stop() {
	for _, sleeper := range p.all {
		sleeper.Kill()
	}
	_ = os.RemoveAll(p.dir)
}
