// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// What a person read in the recordings, by the end of the name of the file and the place of the GPU in it. A line that is not here is not known.
func TestRecordedHardware(t *testing.T) {
	files := recordings(t, "nvidia-smi-xml")
	for name, want := range recordedHardware {
		t.Run(name, func(t *testing.T) {
			index := slices.IndexFunc(files, func(f string) bool { return strings.HasSuffix(f, name) })
			require.GreaterOrEqual(t, index, 0, "the recording is gone")
			log, err := XML(load(t, files[index]))
			require.NoError(t, err)
			require.GreaterOrEqual(t, len(log.GPUs), len(want), filepath.Base(files[index]))
			for i, lines := range want {
				if lines == nil {
					continue
				}
				d := &description{}
				describeGPU(d, &log.GPUs[i])
				got := map[string]string{}
				for line := range strings.Lines(d.String()) {
					key, value := cutLast(strings.TrimSpace(line))
					if isHardware(key) {
						got[key] = value
					}
				}
				assert.Equal(t, lines, got)
			}
		})
	}
}

func cutLast(line string) (key, value string) {
	for _, key := range []string{"part number", "inforom", "cluster"} {
		if value, ok := strings.CutPrefix(line, key+" "); ok {
			return key, value
		}
	}
	i := strings.LastIndexByte(line, ' ')
	return line[:i], line[i+1:]
}

// isHardware reports whether a line of a description is one that these tests read by hand.
func isHardware(key string) bool {
	for _, prefix := range []string{
		"part number", "brand", "architecture", "inforom", "cuda", "c2c", "clique", "cluster", "memory bar1", "temperature margin", "power limit", "power memory",
		"power module", "voltage", "pcie rollovers", "errors[0] memory", "errors[1] memory", "errors[0] location", "errors[1] location", "sram", "banks", "fabric",
		"encoder", "capture", "mode[", "licensed",
	} {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}

// noErrors are the counts of a GPU of Ampere and later that has had no error.
var noErrors = map[string]string{
	"errors[0] memory=0": "0", "errors[1] memory=0": "0", "errors[0] memory=1": "0", "errors[1] memory=1": "0",
	"errors[0] location=0": "0", "errors[1] location=0": "0", "errors[1] location=2": "0", "errors[1] location=7": "0", "errors[1] location=8": "0",
	"errors[1] location=9": "0", "errors[1] location=10": "0", "sram threshold exceeded": "false",
}

// asDelivered are what the recorded GPUs have in common: modes 0 to 5 are persistence, compute, ECC, MIG, virtualization and GSP.
var asDelivered = map[string]string{
	"mode[0]": "enabled", "mode[1]": "default", "mode[2]": "enabled", "mode[2] pending": "false", "mode[4]": "pass_through", "mode[5]": "enabled",
	"encoder sessions": "0", "capture sessions": "0", "pcie rollovers": "0",
}

var noMIG = map[string]string{"mode[3]": "disabled", "mode[3] pending": "false"}

func joined(all ...map[string]string) map[string]string {
	m := map[string]string{}
	for _, part := range all {
		maps.Copy(m, part)
	}
	return m
}

func bankLines(most string) map[string]string {
	return map[string]string{"banks[0]": most, "banks[1]": "0", "banks[2]": "0", "banks[3]": "0", "banks[4]": "0"}
}

// Limits of power: 2 is the highest, 3 the one in force, 4 the lowest, 5 the one after a start. Margins: 0 until the GPU slows down, 1 until it
// shuts down, 2 until its max operating temperature. Bytes: 131072 MiB are 137438953472.
var recordedHardware = map[string][]map[string]string{
	"qx-h100.xml": {joined(noErrors, asDelivered, noMIG, bankLines("2560"), map[string]string{
		"part number": "692-2G520-0200-000", "brand": "nvidia", "architecture": "hopper", "inforom": "G520.0200.00.05", "cuda": "13.0", "c2c": "disabled",
		"clique": "0", "fabric": "2", "memory bar1 limit": "137438953472", "memory bar1 usage": "1048576",
		"temperature margin[0]": "60", "temperature margin[1]": "66", "temperature margin[2]": "58", "power memory": "32.98",
		"power limit[2]": "700", "power limit[3]": "700", "power limit[4]": "200", "power limit[5]": "700",
	})},
	"qx-gb200.xml": {joined(noErrors, asDelivered, noMIG, bankLines("3968"), map[string]string{
		"part number": "900-2G548-A801-000", "brand": "nvidia", "architecture": "blackwell", "inforom": "G548.0201.00.06", "cuda": "13.0", "c2c": "enabled",
		"clique": "2", "cluster": "00000001-0000-0000-0000-000000000001", "fabric": "2", "fabric condition[0]": "false", "fabric condition[1]": "false",
		"fabric condition[2]": "false", "fabric condition[3]": "false", "fabric condition[5]": "false", "fabric condition[6]": "false",
		"memory bar1 limit": "274877906944", "memory bar1 usage": "0", "temperature margin[0]": "62", "temperature margin[1]": "65", "temperature margin[2]": "60",
		"power memory": "30.26", "power module": "467.17",
		"power limit[2]": "1200", "power limit[3]": "1200", "power limit[4]": "200", "power limit[5]": "1200",
	})},
	"qx-a100.xml": {joined(noErrors, asDelivered, noMIG, bankLines("640"), map[string]string{
		"part number": "692-2G506-0200-003", "brand": "nvidia", "architecture": "ampere", "inforom": "G506.0200.00.04", "cuda": "12.8",
		"memory bar1 limit": "68719476736", "memory bar1 usage": "1048576",
		"power limit[2]": "400", "power limit[3]": "400", "power limit[4]": "100", "power limit[5]": "400",
	})},
	"qx-t4.xml": {joined(asDelivered, map[string]string{
		"part number": "900-2G183-A800-001", "brand": "nvidia", "architecture": "turing", "inforom": "G183.0200.00.02", "cuda": "13.2",
		"memory bar1 limit": "268435456", "memory bar1 usage": "2097152",
		"errors[0] memory=0": "0", "errors[1] memory=0": "0", "errors[0] memory=1": "0", "errors[1] memory=1": "0",
		"errors[0] location=0": "1", "errors[1] location=0": "0",
		"power limit[2]": "70", "power limit[3]": "70", "power limit[4]": "60", "power limit[5]": "70",
	})},
	"qx-l40s.xml": {joined(noErrors, asDelivered, bankLines("192"), map[string]string{
		"part number": "900-2G133-A880-000", "brand": "nvidia", "architecture": "ada", "inforom": "G133.0242.00.03", "cuda": "13.2",
		"memory bar1 limit": "68719476736", "memory bar1 usage": "0", "temperature margin[0]": "61", "temperature margin[1]": "64", "temperature margin[2]": "59",
		"power limit[2]": "350", "power limit[3]": "350", "power limit[4]": "100", "power limit[5]": "350",
	})},
	"pro-6000-maxq-blackwell-v13.xml": {joined(asDelivered, bankLines("512"), map[string]string{
		"part number": "900-5G153-2200-000", "brand": "nvidia_rtx", "architecture": "blackwell", "inforom": "G153.0520.00.02", "cuda": "13.1", "c2c": "disabled",
		"mode[2]": "disabled", "mode[4]": "none", "memory bar1 limit": "137438953472", "memory bar1 usage": "68913463296",
		"temperature margin[0]": "70", "temperature margin[1]": "73", "temperature margin[2]": "68",
		"power limit[2]": "325", "power limit[3]": "300", "power limit[4]": "250", "power limit[5]": "300",
	})},
	"qx-gb200-fabric-degraded.xml": {nil, joined(asDelivered, noMIG, map[string]string{
		"part number": "699-2G530-0200-000", "brand": "nvidia", "architecture": "blackwell", "inforom": "G530.0200.00.01", "cuda": "13.0", "c2c": "enabled",
		"clique": "0", "cluster": "00000000-0000-0000-0000-000000000001", "fabric": "2", "fabric condition[0]": "false", "fabric condition[1]": "false",
		"fabric condition[2]": "true", "fabric condition[3]": "false", "fabric condition[4]": "false", "fabric condition[5]": "true", "fabric condition[6]": "false",
		"mode[4]": "none", "memory bar1 limit": "549755813888", "memory bar1 usage": "0", "temperature margin[0]": "54", "temperature margin[1]": "59", "temperature margin[2]": "49",
		"errors[0] memory=1": "0", "errors[1] memory=1": "0", "errors[0] location=0": "0", "errors[1] location=0": "0",
		"power limit[2]": "1200", "power limit[3]": "1000", "power limit[4]": "400", "power limit[5]": "1000",
	})},
}

func TestRecordedVoltages(t *testing.T) {
	want := map[string]float64{"rtx-3080-v12.xml": 0.75, "a10g.xml": 0.69375, "query2.xml": 0.885, "rtx-3090-v12.xml": 0}
	for _, file := range recordings(t, "nvidia-smi-xml") {
		for name, volts := range want {
			if !strings.HasSuffix(file, name) {
				continue
			}
			log, err := XML(load(t, file))
			require.NoError(t, err)
			got, ok := voltageOf(&log.GPUs[0]).Get()
			assert.Equal(t, volts > 0, ok, name)
			assert.InDelta(t, volts, got, 1e-9, name)
			delete(want, name)
		}
	}
	assert.Empty(t, want, "a recording is gone")
}

// Old boards count each memory: 7 corrected and 7 uncorrected errors of device memory on the first GPU of the file.
func TestRecordedErrorsByMemory(t *testing.T) {
	for _, file := range recordings(t, "nvidia-smi-xml") {
		if !strings.HasSuffix(file, "out_of_order.xml") {
			continue
		}
		log, err := XML(load(t, file))
		require.NoError(t, err)
		g := &log.GPUs[0]
		assert.Equal(t, gpu.Some(7.0), locationOf(g, gpu.LocationDRAM, gpu.ErrorCorrected))
		assert.Equal(t, gpu.Some(7.0), locationOf(g, gpu.LocationDRAM, gpu.ErrorUncorrected))
		assert.Equal(t, gpu.Some(0.0), locationOf(g, gpu.LocationRegisterFile, gpu.ErrorCorrected))
		assert.Equal(t, gpu.Some(0.0), totalOf(g.Device.ECC.Memory[gpu.MemorySRAM][gpu.ErrorCorrected]))
		assert.Empty(t, g.Device.Info.CUDAVersion, "Not Found")
		return
	}
	t.Error("the recording is gone")
}

// Two sessions of the encoder, as a person read them in the tables of three boards.
func TestRecordedSessions(t *testing.T) {
	want := map[string]gpu.Sessions{
		"rtx-4080-super__595.71.05__load__query-gpu.csv": {Count: gpu.Some(int64(2)), FrameRate: gpu.Some(184.0), Latency: gpu.Some(0.062844)},
		"rtx-4080-super__595.71.05__idle__query-gpu.csv": {Count: gpu.Some(int64(0))},
		"nvidia-l40s__595.80__load__query-gpu.csv":       {Count: gpu.Some(int64(2)), FrameRate: gpu.Some(237.0), Latency: gpu.Some(4.271133)},
	}
	for _, file := range recordings(t, "nvidia-smi-csv") {
		for name, sessions := range want {
			if strings.HasSuffix(file, name) {
				log, ok := QueryGPU(load(t, file), nil)
				require.True(t, ok)
				assert.Equal(t, sessions, log.GPUs[0].Device.Encoder, name)
				if strings.HasPrefix(name, "rtx-4080") {
					assert.Equal(t, gpu.ECC{}, log.GPUs[0].Device.ECC, "it has no ECC, and prints 0 in 8 columns")
				}
				delete(want, name)
			}
		}
	}
	assert.Empty(t, want, "a recording is gone")
}
