// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package otlptest

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The names in metadata.yaml follow the rules of the conventions, and stay apart in Prometheus.
func TestNames(t *testing.T) {
	declared, err := ReadDeclared(filepath.Join("..", "..", "metadata.yaml"))
	require.NoError(t, err)
	assert.Empty(t, declared.NameViolations(slices.Collect(maps.Keys(readConventions(t).Attributes))))
}

func TestNameViolations(t *testing.T) {
	gauge, sum := &values{}, &values{}
	d := &Declared{
		Attributes: map[string]attribute{"hw.state": {}, "hw.state.previous": {}, "hw.Name": {}, "hw.links.type": {}, "job": {}, "a.b_c": {}},
		Metrics: map[string]metric{
			"hw.power": {Unit: "W", Gauge: gauge}, "hw.power.limit": {Unit: "J", Gauge: gauge}, "hw.power.instant": {Unit: "W", Gauge: gauge},
			"hw.rows": {Unit: "1", Sum: sum}, "hw.wait.time": {Unit: "ms", Gauge: gauge}, "hw.size_bytes": {Unit: "By", Sum: sum},
			"hw.size": {Unit: "By", Sum: sum}, "hw.pods": {Unit: "{pod}", Sum: sum},
		},
		ResourceAttributes: map[string]attribute{"a.b.c": {}},
	}
	assert.Equal(t, []string{
		"a.b.c and a.b_c are the label a_b_c",
		"hw.Name is not in lower case with dots and underscores",
		"hw.links.type: the namespace links is a plural",
		"hw.power is a name, and the namespace of hw.power.instant",
		"hw.power.limit has the unit J, hw.power has W",
		"hw.rows is a plural, but counts nothing",
		"hw.size and hw.size_bytes are hw.size_bytes (NoUTF8EscapingWithSuffixes)",
		"hw.size and hw.size_bytes are hw_size_bytes (UnderscoreEscapingWithSuffixes)",
		"hw.size_bytes is a plural, but counts nothing",
		"hw.size_bytes: bytes is added by Prometheus, and is no part of the name",
		"hw.state is a name, and the namespace of hw.state.previous",
		"hw.wait.time has the unit ms, its name says s",
		"job is not in lower case with dots and underscores",
		"job is the label job, which Prometheus or its exporter sets",
	}, d.NameViolations(nil))
	assert.Contains(t, d.NameViolations([]string{"hw.state.since"}), "hw.state is a name, and the namespace of hw.state.since", "an attribute of the conventions")
}
