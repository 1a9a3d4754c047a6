// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// The words of the column "where", in the order in which a cell has them.
const (
	onResource   = "resource"
	onPoints     = "points"
	onEvents     = "events"
	onOwnMetrics = "own metrics"
)

// docs/reference/attributes.md has one row for each attribute that a component declares, and no other row. The row gives the place of the
// attribute, the origin of its value and when it is missing.
func TestAttributesAreDocumented(t *testing.T) {
	root := filepath.Join("..", "..")
	content, err := os.ReadFile(filepath.Join(root, "docs", "reference", "attributes.md"))
	require.NoError(t, err)
	page := Pages{Tables: map[string][]Row{}}
	page.addTables(string(content))

	want := declaredAttributes(t, root)
	require.NotEmpty(t, want)
	documented := map[string]string{}
	for _, row := range page.Tables["attribute"] {
		if !assert.Len(t, row, 4, "cells of %v", row) {
			continue
		}
		name, place, source := strings.Trim(row[0], "`"), row[1], row[2]
		assert.NotContains(t, documented, name, "two rows")
		documented[name] = place
		assert.NotEmpty(t, source, "%s: source", name)
	}
	assert.Equal(t, want, documented)
}

// declaredAttributes returns the attributes of all components, with the place of each, as the page writes it.
func declaredAttributes(t *testing.T, root string) map[string]string {
	t.Helper()
	places := map[string]map[string]bool{}
	add := func(place string, names []string) {
		for _, name := range names {
			if places[name] == nil {
				places[name] = map[string]bool{}
			}
			places[name][place] = true
		}
	}
	for _, component := range []string{"", "exporter", "exporter/kubernetes"} {
		type user struct {
			Attributes []string `json:"attributes"`
		}
		var declared struct {
			ResourceAttributes map[string]any  `json:"resource_attributes"`
			Attributes         map[string]any  `json:"attributes"`
			Metrics            map[string]user `json:"metrics"`
			Events             map[string]user `json:"events"`
			Telemetry          struct {
				Metrics map[string]user `json:"metrics"`
			} `json:"telemetry"`
		}
		content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(component), "metadata.yaml"))
		require.NoError(t, err)
		require.NoError(t, yaml.Unmarshal(content, &declared))
		add(onResource, slices.Collect(maps.Keys(declared.ResourceAttributes)))
		for place, users := range map[string]map[string]user{onPoints: declared.Metrics, onEvents: declared.Events, onOwnMetrics: declared.Telemetry.Metrics} {
			for _, user := range users {
				add(place, user.Attributes)
			}
		}
		for name := range declared.Attributes {
			assert.NotEmpty(t, places[name], "%s: nothing has this attribute", name)
		}
	}
	location := map[string]string{}
	for name, pages := range places {
		var words []string
		for _, place := range []string{onResource, onPoints, onEvents, onOwnMetrics} {
			if pages[place] {
				words = append(words, place)
			}
		}
		location[name] = strings.Join(words, ", ")
	}
	return location
}
