// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap/confmaptest"
)

// Configurations that expose every metric on the network document that at the place that an administrator reads.
func TestWarningOfOpenPages(t *testing.T) {
	security, err := os.ReadFile("../../docs/operate/security.md")
	require.NoError(t, err)
	var row string
	for line := range strings.Lines(string(security)) {
		if strings.HasPrefix(line, "| 9400 ") {
			row = line
		}
	}
	files, err := filepath.Glob("../../config/*.yaml")
	require.NoError(t, err)
	open := 0
	for _, file := range files {
		config, err := os.ReadFile(file)
		require.NoError(t, err)
		if strings.Contains(string(config), "endpoint: 0.0.0.0:${env:EXPORTER_PORT:-9400}") {
			open++
			assert.Contains(t, row, filepath.Base(file))
		}
	}
	assert.Positive(t, open)
}

// Every address of a shipped configuration on which others can connect is in the same table by its port, and the page is on a loopback.
func TestDocumentedListeners(t *testing.T) {
	security, err := os.ReadFile("../../docs/operate/security.md")
	require.NoError(t, err)
	documented := map[string]bool{}
	for line := range strings.Lines(string(security)) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			for _, port := range ports.FindAllString(cells[1], -1) {
				documented[port] = true
			}
		}
	}
	var files []string
	for _, pattern := range []string{"../../config/*.yaml", "../../config/overlays/*.yaml"} {
		got, err := filepath.Glob(pattern)
		require.NoError(t, err)
		files = append(files, got...)
	}
	shown := 0
	for _, file := range files {
		conf, err := confmaptest.LoadConf(file)
		require.NoError(t, err)
		for _, key := range conf.AllKeys() {
			value, ok := conf.Get(key).(string)
			if !ok || !strings.HasSuffix(key, "::endpoint") {
				continue
			}
			if strings.HasPrefix(key, "exporters::gpu_view") {
				shown++
				assert.Equal(t, "127.0.0.1:9410", value, file)
			}
			if port, open := strings.CutPrefix(value, "0.0.0.0:"); open {
				assert.True(t, documented[ports.FindString(port)], "%s: %s: %s is not in docs/operate/security.md", file, key, value)
			}
		}
	}
	assert.Equal(t, 4, shown, "demo, run, gateway and the overlay")
	assert.True(t, documented["9410"])
}

var ports = regexp.MustCompile(`\b[0-9]{4,5}\b`)
