// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package otlptest

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/semconv/v1.43.0/hwconv"
	"sigs.k8s.io/yaml"
)

// conventions is testdata/semantic_conventions.yaml.
type conventions struct {
	Attributes map[string]struct {
		Type   string   `json:"type"`
		Values []string `json:"values"`
	} `json:"attributes"`
	Metrics map[string]conventional `json:"metrics"`
	Next    map[string]conventional `json:"metrics_1_44"`
}

type conventional struct {
	Instrument  string   `json:"instrument"`
	Unit        string   `json:"unit"`
	Value       string   `json:"value"`
	Required    []string `json:"required"`
	Recommended []string `json:"recommended"`
}

func readConventions(t *testing.T) *conventions {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", "semantic_conventions.yaml"))
	require.NoError(t, err)
	var c conventions
	require.NoError(t, yaml.UnmarshalStrict(content, &c))
	return &c
}

// deviations returns how metadata.yaml deviates from the conventions, in the words of docs/reference/metrics.md.
func (d *Declared) deviations(c *conventions) []string {
	var result violations
	for name, m := range d.Metrics {
		for _, version := range []map[string]conventional{c.Metrics, c.Next} {
			if conventional, ok := version[name]; ok {
				m.deviations(&result, name, &conventional, d.Attributes)
			}
		}
		if _, ok := c.Metrics[name]; ok != (m.Convention != nil) {
			result.add("%s: in the conventions: %v", name, ok)
		}
	}
	for _, attributes := range []map[string]attribute{d.Attributes, d.ResourceAttributes} {
		for name, a := range attributes {
			conventional, ok := c.Attributes[name]
			if ok != (a.Convention != nil) {
				result.add("%s: in the conventions: %v", name, ok)
			}
			if ok && a.Type != conventional.Type {
				result.add("%s is %s", name, a.Type)
			}
			for _, value := range a.Enum {
				if len(conventional.Values) > 0 && !slices.Contains(conventional.Values, value) {
					result.add("%s has %s", name, value)
				}
			}
		}
	}
	slices.Sort(result)
	return result
}

// deviations adds how a metric deviates.
func (m *metric) deviations(result *violations, name string, c *conventional, attributes map[string]attribute) {
	if m.kind() != c.Instrument || m.Unit != c.Unit || m.valueType() != c.Value {
		result.add("%s is a %s of %s %s", name, m.kind(), m.valueType(), m.Unit)
	}
	for _, a := range m.Attributes {
		if !slices.Contains(c.Required, a) && !slices.Contains(c.Recommended, a) {
			result.add("%s has %s", name, a)
		}
	}
	for _, a := range slices.Concat(c.Required, c.Recommended) {
		if !slices.Contains(m.Attributes, a) {
			result.add("%s lacks %s", name, a)
		}
	}
	for _, a := range c.Required {
		if attributes[a].Required != "required" {
			result.add("%s has %s not always", name, a)
		}
	}
}

// documented returns the deviations in the table of docs/reference/metrics.md: names, "has" or "lacks", names, the reason.
func documented(t *testing.T) []string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "metrics.md"))
	require.NoError(t, err)
	_, section, ok := strings.Cut(string(page), "\n## Beside the semantic conventions\n")
	require.True(t, ok)
	names := regexp.MustCompile("`([^`]+)`")
	var result []string
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]+) \\| (has|lacks) ([^|]+) \\| [^|]+ \\|$").FindAllStringSubmatch(section, -1) {
		for _, match := range names.FindAllStringSubmatch(row[1], -1) {
			for _, groups := range names.FindAllStringSubmatch(row[3], -1) {
				result = append(result, fmt.Sprintf("%s %s %s", match[1], row[2], groups[1]))
			}
		}
	}
	slices.Sort(result)
	return result
}

// Every deviation of metadata.yaml from the semantic conventions 1.43.0 and 1.44.0 is in docs/reference/metrics.md, and nothing else is.
func TestDeviationsAreDocumented(t *testing.T) {
	declared, err := ReadDeclared(filepath.Join("..", "..", "metadata.yaml"))
	require.NoError(t, err)
	assert.Equal(t, documented(t), declared.deviations(readConventions(t)), "docs/reference/metrics.md, \"Beside the semantic conventions\"")
}

// A deviation of each kind is found.
func TestDeviations(t *testing.T) {
	c := readConventions(t)
	declared, err := ReadDeclared(filepath.Join("..", "..", "metadata.yaml"))
	require.NoError(t, err)
	known := declared.deviations(c)
	power := declared.Metrics["hw.power"]
	power.Unit = "kW"
	power.Attributes = []string{"hw.id", "hw.colour"}
	declared.Metrics["hw.power"] = power
	declared.Metrics["hw.watts"] = power
	declared.Attributes["process.pid"] = attribute{Type: "string", Convention: &struct{}{}}
	declared.Attributes["hw.id"] = attribute{Type: "string"}
	declared.Attributes["hw.state"] = attribute{Type: "string", Convention: &struct{}{}, Required: "required", Enum: []string{"ok", "gone"}}
	got := slices.DeleteFunc(declared.deviations(c), func(d string) bool { return slices.Contains(known, d) })
	for _, want := range []string{
		"hw.power is a gauge of double kW", "hw.power has hw.colour", "hw.power lacks hw.type", "hw.power lacks hw.name",
		"hw.watts: in the conventions: false", "process.pid is string", "hw.id: in the conventions: true", "hw.power has hw.id not always", "hw.state has gone",
	} {
		assert.Contains(t, got, want)
	}
}

// The table has the names, units, instruments and values of enums of the package that is generated from the conventions' model. (The
// package has int64 for every value.)
func TestConventionsTable(t *testing.T) {
	c := readConventions(t)
	generated := map[string]string{}
	for _, m := range []interface {
		Name() string
		Unit() string
	}{
		hwconv.Energy{},
		hwconv.Errors{},
		hwconv.FanSpeedRatio{},
		hwconv.GpuIO{},
		hwconv.GpuMemoryLimit{},
		hwconv.GpuMemoryUsage{},
		hwconv.GpuMemoryUtilization{},
		hwconv.GpuUtilization{},
		hwconv.Power{},
		hwconv.Status{},
		hwconv.Temperature{},
		hwconv.TemperatureLimit{},
		hwconv.Voltage{},
	} {
		instrument := strings.TrimPrefix(reflect.TypeOf(m).Field(0).Name, "Int64")
		generated[m.Name()] = strings.ToLower(instrument) + " of " + m.Unit()
	}
	table := map[string]string{}
	for name, m := range c.Metrics {
		table[name] = m.Instrument + " of " + m.Unit
	}
	assert.Equal(t, generated, table)
	for name, next := range c.Next {
		assert.Equal(t, table[name], next.Instrument+" of "+next.Unit)
	}
	for name, values := range map[string][]string{
		"hw.gpu.task": {string(hwconv.GpuTaskDecoder), string(hwconv.GpuTaskEncoder), string(hwconv.GpuTaskGeneral)},
		"hw.limit_type": {
			string(hwconv.LimitTypeCritical), string(hwconv.LimitTypeDegraded), string(hwconv.LimitTypeHighCritical), string(hwconv.LimitTypeHighDegraded),
			string(hwconv.LimitTypeLowCritical), string(hwconv.LimitTypeLowDegraded), string(hwconv.LimitTypeMax), string(hwconv.LimitTypeThrottled), string(hwconv.LimitTypeTurbo),
		},
		"hw.state": {
			string(hwconv.StateDegraded), string(hwconv.StateFailed), string(hwconv.StateNeedsCleaning), string(hwconv.StateOk), string(hwconv.StatePredictedFailure),
		},
		"network.io.direction": {string(hwconv.NetworkIODirectionReceive), string(hwconv.NetworkIODirectionTransmit)},
	} {
		assert.Equal(t, values, c.Attributes[name].Values, name)
	}
	assert.Contains(t, c.Attributes["hw.type"].Values, string(hwconv.TypeGpu))
}
