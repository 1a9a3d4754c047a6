// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

var linkTo = regexp.MustCompile(`\((https://[^)]*)\)`)

// docs/reference/configuration.md has a link to the settings of each component of the Collector in the distribution, and to no other.
func TestOtherComponentsAreDocumented(t *testing.T) {
	root := filepath.Join("..", "..")
	content, err := os.ReadFile(filepath.Join(root, "builder-config.yaml"))
	require.NoError(t, err)
	var distribution map[string]any
	require.NoError(t, yaml.Unmarshal(content, &distribution))
	want := map[string]string{}
	for _, kind := range []string{"receiver", "processor", "exporter", "extension"} {
		components, ok := distribution[kind+"s"].([]any)
		require.True(t, ok, kind)
		for _, component := range components {
			module, _, _ := strings.Cut(component.(map[string]any)["gomod"].(string), " ")
			for begin, address := range map[string]string{
				"go.opentelemetry.io/collector/":                             "https://github.com/open-telemetry/opentelemetry-collector/tree/main/",
				"github.com/open-telemetry/opentelemetry-collector-contrib/": "https://github.com/open-telemetry/opentelemetry-collector-contrib/tree/main/",
			} {
				if path, ok := strings.CutPrefix(module, begin); ok {
					want[address+path] = kind
				}
			}
		}
	}
	documented := map[string]string{}
	for _, row := range Read(t, root).Tables["Kind"] {
		if link := linkTo.FindStringSubmatch(row[1]); link != nil {
			documented[link[1]] = row[0]
		}
	}
	assert.Equal(t, want, documented)
	assert.NotEmpty(t, want)
}
