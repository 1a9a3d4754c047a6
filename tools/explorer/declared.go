// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"

	"sigs.k8s.io/yaml"
)

// declared is what metadata.yaml declares.
type declared struct {
	ResourceAttributes map[string]attribute `json:"resource_attributes"`
	Attributes         map[string]attribute `json:"attributes"`
	Metrics            map[string]metric    `json:"metrics"`
	Events             map[string]event     `json:"events"`
	Telemetry          struct {
		Metrics map[string]metric `json:"metrics"`
	} `json:"telemetry"`
}

type attribute struct {
	Description string   `json:"description"`
	Type        string   `json:"type"`
	Enum        []string `json:"enum"`
	Enabled     bool     `json:"enabled"` // of a resource
}

type event struct {
	Description string   `json:"description"`
	Enabled     bool     `json:"enabled"`
	Attributes  []string `json:"attributes"`
}

type metric struct {
	Description string   `json:"description"`
	Unit        string   `json:"unit"`
	Enabled     bool     `json:"enabled"`
	Attributes  []string `json:"attributes"`
	Gauge       *values  `json:"gauge"`
	Sum         *values  `json:"sum"`
}

type values struct {
	Type      string `json:"value_type"`
	Monotonic bool   `json:"monotonic"`
}

func readDeclared(file string) (*declared, error) {
	content, err := os.ReadFile(file) //nolint:gosec // the repository is what the developer says
	if err != nil {
		return nil, err
	}
	var d declared
	if err := yaml.Unmarshal(content, &d); err != nil {
		return nil, fmt.Errorf("parse %s: %w", file, err)
	}
	return &d, nil
}

// instrument is the kind of a metric: gauge, counter or updowncounter.
func (m *metric) instrument() string {
	switch {
	case m.Gauge != nil:
		return "gauge"
	case m.Sum != nil && m.Sum.Monotonic:
		return "counter"
	default:
		return "updowncounter"
	}
}

// valueType is int or double.
func (m *metric) valueType() string {
	if m.Gauge != nil {
		return m.Gauge.Type
	}
	return m.Sum.Type
}
