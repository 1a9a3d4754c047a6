// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const minimal = `
receivers:
  gpu: SETTINGS
exporters:
  debug:
service:
  pipelines:
    metrics: {receivers: [gpu], exporters: [debug]}
`

// An invalid setting is refused at start, with the whole key and the allowed values.
func TestBadConfigurations(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings string
		key      []string // the parts of the message that name the key, in order
		remedy   string
	}{
		"unknown scraper": {
			"{scrapers: {nvlm: {}}}", []string{"receivers", "gpu", "scrapers::nvlm"}, "allowed are",
		},
		"unknown key": {
			"{colection_interval: 1s}", []string{"receivers", "gpu", "colection_interval"}, "there is no such setting",
		},
		"unknown key of a scraper": {
			"{scrapers: {nvml: {lib_path: /x}}}", []string{"receivers", "gpu", "scrapers::nvml", "lib_path"}, "there is no such setting",
		},
		"unknown key of attribution": {
			"{attribution: {nodename: x}}", []string{"receivers", "gpu", "attribution", "nodename"}, "there is no such setting",
		},
		"unknown metric": {
			"{metrics: {hw.powr: {enabled: true}}}", []string{"receivers", "gpu", "metrics", "hw.powr"}, "there is no such setting",
		},
		"scrapers without settings": {
			"{scrapers: [nvml]}", []string{"receivers", "gpu", "scrapers"}, "must name the scrapers",
		},
		"settings that are none": {
			"{scrapers: {nvml: 3}}", []string{"receivers", "gpu", "scrapers::nvml"}, "must be a section of settings",
		},
		"timeout longer than the interval": {
			"{collection_interval: 1s, timeout: 2s}", []string{"receivers::gpu", "timeout"}, "shorten the timeout or lengthen the interval",
		},
		"no timeout": {
			"{timeout: 0s}", []string{"receivers::gpu", "timeout"}, "must be above 0",
		},
		"relative library": {
			"{scrapers: {nvml: {library_path: libnvidia-ml.so.1}}}",
			[]string{"receivers::gpu", "scrapers::nvml::library_path"},
			"must be an absolute path",
		},
		"negative number": {
			"{max_processes: -1}", []string{"receivers::gpu", "max_processes"}, "must be 0 or more",
		},
		"not a switch": {
			"{scrapers: {nvml: {keep_open: maybe}}}", []string{"receivers", "gpu", "scrapers::nvml::keep_open"}, "must be true or false",
		},
		"half a process": {
			"{max_processes: 1.5}", []string{"receivers", "gpu", "max_processes"}, "must be a whole number",
		},
		"two scrapers of one vendor": {
			"{scrapers: {nvml: {}, nvidia_smi: {}}}",
			[]string{"receivers::gpu", "scrapers::nvidia_smi", "scrapers::nvml"},
			"keep one",
		},
		"two scrapers of the other vendor": {
			"{scrapers: {amdgpu: {}, amd_smi: {}}}",
			[]string{"receivers::gpu", "scrapers::amd_smi", "scrapers::amdgpu"},
			"keep one",
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "bad.yaml")
			require.NoError(t, os.WriteFile(path, []byte(strings.Replace(minimal, "SETTINGS", c.settings, 1)), 0o600))
			for _, args := range [][]string{{"validate", "--config", path}, {"--config", path}} {
				code, output := run(t, args...)
				if scraper, unknown := notWired(output); unknown && !strings.Contains(c.settings, "nvlm") {
					t.Skip("this collector has no scraper " + scraper)
				}
				assert.NotZero(t, code)
				rest := output
				for _, part := range c.key {
					_, after, ok := strings.Cut(rest, part)
					require.True(t, ok, "%q in %q", part, output)
					rest = after
				}
				assert.Contains(t, output, c.remedy)
				assert.NotContains(t, output, "panic")
			}
		})
	}
}

// notWired returns the scraper that the collector reports as missing.
func notWired(output string) (string, bool) {
	before, _, ok := strings.Cut(output, ": there is no such scraper")
	return before[strings.LastIndex(before, ":")+1:], ok
}
