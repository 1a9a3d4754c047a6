// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

// agentConfig is the configuration whose way of sending is measured.
const agentConfig = "config/agent.yaml"

// shippedCompression is how the OTLP exporter of agentConfig compresses.
func shippedCompression() (string, error) {
	source, err := nvmlsim.SourceDir()
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join(source, "..", "..", agentConfig))
	if err != nil {
		return "", err
	}
	var config struct {
		Exporters map[string]struct {
			Compression string `json:"compression"`
		} `json:"exporters"`
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		return "", fmt.Errorf("%s: %w", agentConfig, err)
	}
	for name, exporter := range config.Exporters {
		if strings.HasPrefix(name, "otlp") {
			return exporter.Compression, nil // empty: the exporter's default, which is gzip
		}
	}
	return "", fmt.Errorf("%s has no OTLP exporter", agentConfig)
}
