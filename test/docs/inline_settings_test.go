// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/otelgpu/gpureceiver/test/reference"
)

func settingClasses(t *testing.T) []class {
	t.Helper()
	keys := configurationKeys(t)
	values := readYAML(t, filepath.Join(repository(t), "deploy", "helm", "gpureceiver", "values.yaml"))
	variables := variableUse(t)
	return []class{
		{
			name: "configuration key",
			is:   func(s span) bool { return configurationKey.MatchString(s.text) && !strings.Contains(s.text, "yaml:") },
			check: func(s span) error {
				key, _, _ := strings.Cut(s.text, ": ")
				if !slices.ContainsFunc(keys, func(known string) bool { return isPart(known, key) }) {
					return fmt.Errorf("no component and no configuration here has %s", key)
				}
				return nil
			},
			good: "scrapers::nvml::keep_open: false", bad: "scrapers::nvml::kept_open",
		},
		{
			name:  "value of the chart",
			is:    func(s span) bool { return chartValue(values, s.text) != nil },
			check: func(s span) error { return lookUp(values, chartValue(values, s.text)) },
			good:  "agent.amd.enabled=true", bad: "agent.amd.on",
		},
		{
			name: "environment variable",
			is:   func(s span) bool { return environmentName.MatchString(s.text) },
			check: func(s span) error {
				if !variables[environmentName.FindStringSubmatch(s.text)[1]] {
					return errors.New("no source, configuration or script reads it")
				}
				return nil
			},
			good: "OTELGPU_SERVER", bad: "OTELGPU_SERVERS",
		},
	}
}

var (
	configurationKey = regexp.MustCompile(`^[a-z_]\w*(::\w+)+(: .*)?$|^[a-z]+(_[a-z]+)+: .+$`)
	environmentName  = regexp.MustCompile(`^\$?((?:OTELGPU|OTELCOL_GPU|OTELCOL|OTLP|K8S|NVMLSIM|GPURECEIVER|E2E|REMOTE_WRITE)_[A-Z_]+)(=.*)?$`)
	fileEnd          = regexp.MustCompile(`\.(html|json|log|txt|yaml)$`)
	componentName    = regexp.MustCompile(`/\w+`) // of otlp/name
	chartKey         = regexp.MustCompile(`^([a-z]\w*(?:\.[a-zA-Z]\w*)+)(?:(?:=|: ).*)?$`)
)

// configurationKeys returns the keys of our components and those that the shipped configurations have of others'. The tables of
// docs/reference have all keys of our components: tests beside the components compare them.
func configurationKeys(t *testing.T) []string {
	t.Helper()
	pages := reference.Read(t, repository(t))
	documented := pages.Documented(map[string]string{
		"receivers::gpu": "receivers::gpu", "scrapers": "receivers::gpu::scrapers", "attribution": "receivers::gpu::attribution",
		"kernel_log": "receivers::gpu::kernel_log", "exporters": "exporters", "Key for the Kubernetes API": "",
	})
	require.Greater(t, len(documented), 50)
	settings := map[string]bool{}
	for _, row := range documented {
		settings[row.Key] = true
	}
	files, err := filepath.Glob(filepath.Join(repository(t), "config", "*.yaml"))
	require.NoError(t, err)
	overlays, err := filepath.Glob(filepath.Join(repository(t), "config", "overlays", "*.yaml"))
	require.NoError(t, err)
	for _, file := range append(files, overlays...) {
		reference.Given("", readYAML(t, file), settings)
	}
	var keys []string
	for key := range settings {
		keys = append(keys, componentName.ReplaceAllString(key, ""))
	}
	return keys
}

// isPart reports whether a key is a whole key, its end or its middle.
func isPart(known, key string) bool {
	return strings.Contains("::"+known+"::", "::"+key+"::")
}

func readYAML(t *testing.T, file string) map[string]any {
	t.Helper()
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	var values map[string]any
	require.NoError(t, yaml.Unmarshal(content, &values), file)
	return values
}

// chartValue returns the parts of a key of the chart's values, or nil.
func chartValue(values map[string]any, text string) []string {
	m := chartKey.FindStringSubmatch(text)
	if m == nil || fileEnd.MatchString(text) {
		return nil
	}
	parts := strings.Split(m[1], ".")
	if _, ok := values[parts[0]].(map[string]any); !ok {
		return nil
	}
	return parts
}

// lookUp follows a key. A map without keys takes any.
func lookUp(values map[string]any, key []string) error {
	for i, part := range key {
		value, ok := values[part]
		if !ok && len(values) > 0 {
			return fmt.Errorf("no %s in %s", part, strings.Join(key[:i], "."))
		}
		values, _ = value.(map[string]any)
	}
	return nil
}

// variableUse returns the names of the environment variables that something reads.
func variableUse(t *testing.T) map[string]bool {
	t.Helper()
	read := regexp.MustCompile(`(?:env:|[Gg]etenv\(\s*"|LookupEnv\("|Setenv\("|\$\{?|(?:const|var)?\s+\w+\s+= "|^\s*)([A-Z][A-Z0-9_]+)\b`)
	got := map[string]bool{}
	for _, file := range files(t, "*.go", "*.c", "*.sh", "*.yaml", "Makefile", "*.service", "deploy/package") {
		for _, m := range read.FindAllStringSubmatch(textOf(t, []string{file}), -1) {
			got[m[1]] = true
		}
	}
	return got
}
