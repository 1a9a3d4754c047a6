// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smitest

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Start is the start of the clock of EveryHalfMinute.
var Start = time.Date(2025, 11, 21, 8, 0, 0, 0, time.UTC)

// Seconds returns a number of seconds.
func Seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// EveryHalfMinute is a clock that is 30 s later at each read.
func EveryHalfMinute() func() time.Time {
	now := Start
	return func() time.Time { now = now.Add(30 * time.Second); return now }
}

// Read reads a source that must not fail.
func Read(t *testing.T, s gpu.Source) *gpu.Node {
	t.Helper()
	node, err := s.Read(t.Context())
	require.NoError(t, err)
	require.NotNil(t, node)
	return node
}

// Device returns the device with an ID.
func Device(t *testing.T, node *gpu.Node, id string) *gpu.Device {
	t.Helper()
	i := slices.IndexFunc(node.Devices, func(d gpu.Device) bool { return d.ID == id })
	require.GreaterOrEqual(t, i, 0, "no device %q", id)
	return &node.Devices[i]
}

// IDs returns the IDs of all devices.
func IDs(node *gpu.Node) []string {
	result := make([]string, 0, len(node.Devices))
	for i := range node.Devices {
		d := &node.Devices[i]
		id := d.ID
		if n, ok := d.Partition.Get(); ok && id == "" {
			id = "/" + strconv.Itoa(n)
		}
		result = append(result, id)
	}
	return result
}

// Problems returns the problems of a node as text.
func Problems(node *gpu.Node) string {
	var b strings.Builder
	for _, p := range node.Problems {
		b.WriteString(p.What + ": " + p.Err.Error() + "\n")
	}
	return b.String()
}

// Faults returns the types of a device's faults.
func Faults(d *gpu.Device) []gpu.FaultType {
	result := make([]gpu.FaultType, 0, len(d.Faults))
	for _, f := range d.Faults {
		result = append(result, f.Type)
	}
	return result
}

// RequireValue fails the test unless a value is known and equal to want.
func RequireValue[T comparable](t *testing.T, want T, got gpu.Opt[T], name string) {
	t.Helper()
	v, ok := got.Get()
	require.True(t, ok, "%s is absent", name)
	require.Equal(t, want, v, name)
}

// RequireNear fails the test unless a value is known and close to want.
func RequireNear(t *testing.T, want float64, got gpu.Opt[float64], name string) {
	t.Helper()
	v, ok := got.Get()
	require.True(t, ok, "%s is absent", name)
	require.InDelta(t, want, v, 1e-9*max(1, want), name)
}

// ErrorCounts returns a device's error counts by block and type.
func ErrorCounts(d *gpu.Device) map[string]int64 {
	names := map[gpu.ErrorType]string{gpu.ErrorCorrected: "corrected", gpu.ErrorUncorrected: "uncorrected", gpu.ErrorDeferred: "deferred"}
	result := make(map[string]int64, len(d.Errors))
	for _, e := range d.Errors {
		n, ok := e.Count.Get()
		if ok {
			result[strings.Trim(e.Block+" "+names[e.Type], " ")] += n
		}
	}
	return result
}

// Decoded is a value as the parser of amd-smi has it.
func Decoded(t *testing.T, text string) any {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var v any
	require.NoError(t, decoder.Decode(&v))
	return v
}
