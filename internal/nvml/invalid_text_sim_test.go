// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Driver 555.85 under WSL returned garbage from its memory as the name of a GPU. OTLP accepts only valid UTF-8: for one invalid byte a
// backend refuses the whole message, and with it all other GPUs.
func TestDriverOutputInvalidText(t *testing.T) {
	const garbage = "NVIDIA \xf8\x95\xa0 H200"
	s := start(t, "driver.version = 555.85\xff\ngpus = 2\n[gpu *]\nboard = h100\n[gpu 0]\nmig = 1\nname = "+garbage+
		"\nserial = \xff\xfe1\nvbios = \xc3(\nuuid = GPU-\xf8\x95\xa0-1\n[mig 0 0]\nprofile = 3g.40gb\ngi = 2\nci = 0\nuuid = MIG-\xff\n")
	for range 2 { // at the second read the GPUs are recognized
		n := s.read()
		assert.Len(t, n.Devices, 3)
		for i := range n.Devices {
			d := &n.Devices[i]
			for _, text := range []string{d.ID, d.Model, d.Parent, d.Info.Serial, d.Info.FirmwareVersion, d.Info.DriverVersion, d.Info.Profile} {
				assert.True(t, utf8.ValidString(text), "%q", text)
			}
		}
		assert.Equal(t, "NVIDIA \uFFFD H200", gpuAt(t, n, 0).Model)
		assert.Equal(t, gpu.Some[int64](2), n.Presence[gpu.Visible])
	}
}

func TestDriverFilesInvalidText(t *testing.T) {
	info := parseInformation("Model: \t\t H\xff100\nGPU UUID: \t GPU-\xfe\nVideo BIOS: \t 96\xff\nBus Location: \t 0000:1b:00.0\n")
	for _, text := range []string{info.model, info.uuid, info.vbios} {
		assert.True(t, utf8.ValidString(text), "%q", text)
		assert.NotEmpty(t, text)
	}
}
