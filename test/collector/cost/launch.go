// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

const (
	systemdUnit    = "deploy/systemd/otelcol-gpu.service"
	agentDaemonSet = "deploy/kubernetes/agent/daemonset.yaml"
)

// launch defines how a collector is started, in addition to its configuration.
type launch struct {
	env   []string
	slack time.Duration
}

// shipped reads a file of the repository.
func shipped(name string) (string, error) {
	source, err := nvmlsim.SourceDir()
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join(source, "..", "..", name))
	return string(text), err
}

// bySystemd starts it as the shipped unit does.
func bySystemd() (launch, error) {
	text, err := shipped(systemdUnit)
	if err != nil {
		return launch{}, err
	}
	var l launch
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch key {
		case "Environment":
			l.env = append(l.env, strings.Fields(value)...)
		case "TimerSlackNSec":
			if l.slack, err = time.ParseDuration(value); err != nil {
				return launch{}, fmt.Errorf("%s: %w", systemdUnit, err)
			}
		}
	}
	return l, nil
}

var forGo = regexp.MustCompile(`name: (GO[A-Z]+), value: "(\d+)"`)

// byDaemonSet starts it as the shipped DaemonSet does.
func byDaemonSet() (launch, error) {
	text, err := shipped(agentDaemonSet)
	if err != nil {
		return launch{}, err
	}
	var l launch
	for _, m := range forGo.FindAllStringSubmatch(text, -1) {
		l.env = append(l.env, m[1]+"="+m[2])
	}
	return l, nil
}
