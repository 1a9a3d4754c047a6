// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

// agentConfig is the configuration whose exporter is measured.
const agentConfig = "config/agent.yaml"

// shippedCompression is the compression of the OTLP exporter of agentConfig.
func shippedCompression() (string, error) {
	text, err := shipped(agentConfig)
	if err != nil {
		return "", err
	}
	var config struct {
		Exporters map[string]struct {
			Compression string `json:"compression"`
		} `json:"exporters"`
	}
	if err := yaml.Unmarshal([]byte(text), &config); err != nil {
		return "", fmt.Errorf("%s: %w", agentConfig, err)
	}
	for name, exporter := range config.Exporters {
		if strings.HasPrefix(name, "otlp") {
			return exporter.Compression, nil // empty: the exporter's default, which is gzip
		}
	}
	return "", fmt.Errorf("%s contains no OTLP exporter", agentConfig)
}
