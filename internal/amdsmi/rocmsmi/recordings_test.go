// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package rocmsmi

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitest"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// quantityOf is the value of a device for a line of rocm-smi, with the factor to SI.
var quantityOf = []struct {
	key    *regexp.Regexp
	factor float64
	value  func(d *gpu.Device) gpu.Opt[float64]
}{
	{regexp.MustCompile(`^GPU use \(%\)$`), 0.01, func(d *gpu.Device) gpu.Opt[float64] { return d.Utilization[gpu.TaskGeneral] }},
	{regexp.MustCompile(`^GPU memory use \(%\)$`), 0.01, func(d *gpu.Device) gpu.Opt[float64] { return d.MemoryController }},
	{regexp.MustCompile(`^(?i:vram) Total Memory \(B\)$`), 1, func(d *gpu.Device) gpu.Opt[float64] { return real(d.Memory.Limit) }},
	{regexp.MustCompile(`^(?i:vram) Total Used Memory \(B\)$`), 1, func(d *gpu.Device) gpu.Opt[float64] { return real(d.Memory.Usage) }},
	{regexp.MustCompile(`^(?i:vis_vram) Total Memory \(B\)$`), 1, func(d *gpu.Device) gpu.Opt[float64] { return real(d.Memory.VisibleLimit) }},
	{regexp.MustCompile(`^(?i:vis_vram) Total Used Memory \(B\)$`), 1, func(d *gpu.Device) gpu.Opt[float64] { return real(d.Memory.VisibleUsage) }},
	{regexp.MustCompile(`^(?i:gtt) Total Memory \(B\)$`), 1, func(d *gpu.Device) gpu.Opt[float64] { return real(d.Memory.SystemLimit) }},
	{regexp.MustCompile(`^(?i:gtt) Total Used Memory \(B\)$`), 1, func(d *gpu.Device) gpu.Opt[float64] { return real(d.Memory.SystemUsage) }},
	{regexp.MustCompile(`^Temperature \(Sensor edge\)`), 1, func(d *gpu.Device) gpu.Opt[float64] { return d.Temperature[gpu.SensorEdge] }},
	{regexp.MustCompile(`^Temperature \(Sensor junction\)`), 1, func(d *gpu.Device) gpu.Opt[float64] { return d.Temperature[gpu.SensorHotspot] }},
	{regexp.MustCompile(`^Temperature \(Sensor mem`), 1, func(d *gpu.Device) gpu.Opt[float64] { return d.Temperature[gpu.SensorMemory] }},
	{regexp.MustCompile(`^Average Graphics Package Power`), 1, func(d *gpu.Device) gpu.Opt[float64] { return d.Power.Draw }},
	{regexp.MustCompile(`^Max Graphics Package Power`), 1, func(d *gpu.Device) gpu.Opt[float64] { return d.Power.Limit[gpu.LimitEnforced] }},
	{regexp.MustCompile(`^sclk clock speed`), 1e6, func(d *gpu.Device) gpu.Opt[float64] { return d.Clocks[gpu.ClockGraphics].Speed }},
	{regexp.MustCompile(`^mclk clock speed`), 1e6, func(d *gpu.Device) gpu.Opt[float64] { return d.Clocks[gpu.ClockMemory].Speed }},
	{regexp.MustCompile(`^(?i:fan speed) \(%\)$`), 0.01, func(d *gpu.Device) gpu.Opt[float64] {
		if len(d.Fans) == 0 {
			return gpu.Opt[float64]{}
		}
		return d.Fans[0].Ratio
	}},
	{regexp.MustCompile(`^Fan RPM$`), 1, func(d *gpu.Device) gpu.Opt[float64] {
		if len(d.Fans) == 0 {
			return gpu.Opt[float64]{}
		}
		return real(d.Fans[0].Speed)
	}},
	{regexp.MustCompile(`^Voltage \(mV\)$`), 0.001, func(d *gpu.Device) gpu.Opt[float64] {
		if len(d.Voltage) == 0 {
			return gpu.Opt[float64]{}
		}
		return d.Voltage[0].Value
	}},
	{regexp.MustCompile(`^PCIe Replay Count$`), 1, func(d *gpu.Device) gpu.Opt[float64] {
		if n, ok := d.PCIe.Replays.Get(); ok {
			return gpu.Some(float64(n))
		}
		return gpu.Opt[float64]{}
	}},
}

// notTaken are lines with numbers for which there is no metric.
var notTaken = regexp.MustCompile(`^(\d+|.* firmware version|.* clock level:?|(dcefclk|fclk|socclk) clock speed:?|GPU (Memory )?OverDrive.*|` +
	`Avg\. Memory Bandwidth|\(Topology\) Numa Node|(?i:fan speed) \(level\)|Serial Number|Card .*|` +
	`(GPU|Device) (ID|Rev)|Unique ID|VBIOS version|PCI Bus|Memory Activity|\(Topology\) Numa Affinity)$`)

var firstNumber = regexp.MustCompile(`-?\d+(\.\d+)?`)

func real(v gpu.Opt[int64]) gpu.Opt[float64] {
	n, ok := v.Get()
	if !ok {
		return gpu.Opt[float64]{}
	}
	return gpu.Some(float64(n))
}

// Every number in a recorded output is in the device, in the correct unit. A line without a number is absent.
func TestRecordings(t *testing.T) {
	t.Parallel()
	for _, file := range smitest.Recordings(t, "rocm-smi", "*.json") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile(file)
			require.NoError(t, err)
			node := smitest.Read(t, newTestSource(smitest.ROCmTool(string(raw), "")))
			require.Empty(t, node.Processes)

			var printed map[string]map[string]string
			require.NoError(t, json.Unmarshal(raw, &printed))
			checked, cards := 0, 0
			for name, card := range printed {
				index, err := strconv.Atoi(strings.TrimPrefix(name, "card"))
				if err != nil {
					continue
				}
				cards++
				d := byIndex(t, node, index)
				assert.Equal(t, strings.ToLower(card["PCI Bus"]), d.Info.PCIAddress)
				if id := card["Unique ID"]; id == "N/A" {
					assert.Empty(t, d.ID)
				} else {
					id = strings.TrimPrefix(id, "0x")
					assert.Equal(t, strings.Repeat("0", 16-len(id))+id, d.ID)
				}
				assert.Equal(t, card["VBIOS version"], d.Info.FirmwareVersion)
				assert.Equal(t, printed["system"]["Driver version"], d.Info.DriverVersion)
				for key, value := range card {
					checked += checkLine(t, d, key, value)
				}
				if node, ok := d.Info.NUMANode.Get(); ok {
					assert.Equal(t, card["(Topology) Numa Affinity"], strconv.FormatInt(node, 10))
				}
				if link := card["pcie clock level"]; link != "" {
					require.Equal(t, link[2:], fmt.Sprintf("(%sGT/s x%d)", map[int64]string{3: "8.0", 4: "16.0"}[must(t, d.PCIe.Generation)], must(t, d.PCIe.Width)))
				}
			}
			require.Len(t, node.Devices, cards)
			require.GreaterOrEqual(t, checked, 14*cards)
		})
	}
}

// checkLine compares a printed line with the device and returns the number of values compared.
func checkLine(t *testing.T, d *gpu.Device, key, value string) int {
	t.Helper()
	number, err := strconv.ParseFloat(firstNumber.FindString(value), 64)
	shown := err == nil && !strings.HasPrefix(value, "N/A")
	for _, q := range quantityOf {
		if !q.key.MatchString(key) {
			continue
		}
		got, ok := q.value(d).Get()
		assert.Equal(t, shown, ok, "%s: %s", key, value)
		if shown {
			assert.InDelta(t, number*q.factor, got, 1e-9*math.Max(1, number*q.factor), key)
			return 1
		}
		return 0
	}
	if shown {
		assert.Regexp(t, notTaken, key, "a number that nobody takes: %s", value)
	}
	return 0
}

func byIndex(t *testing.T, node *gpu.Node, index int) *gpu.Device {
	t.Helper()
	for i := range node.Devices {
		if n, ok := node.Devices[i].Index.Get(); ok && n == index {
			return &node.Devices[i]
		}
	}
	require.Fail(t, "no device", "%d", index)
	return nil
}

func must[T any](t *testing.T, v gpu.Opt[T]) T {
	t.Helper()
	got, ok := v.Get()
	require.True(t, ok)
	return got
}

// The text for people does not show reliably which card is which. It is refused with a reason.
func TestRecordedTexts(t *testing.T) {
	t.Parallel()
	for _, file := range smitest.Recordings(t, "rocm-smi", "*.txt") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile(file)
			require.NoError(t, err)
			_, err = newTestSource(smitest.ROCmTool(string(raw), "")).Read(t.Context())
			require.ErrorContains(t, err, `output is not JSON: it begins with "=`)
			tables := parseTables(raw)
			if strings.HasSuffix(file, "all.txt") {
				assert.Equal(t, map[int64][]int{1188185: nil}, tables.processCards, "a process that uses no card")
			} else {
				assert.Empty(t, tables.processCards)
			}
			assert.Empty(t, tables.errors)
		})
	}
}
