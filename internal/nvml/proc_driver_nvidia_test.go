// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const goodInformation = "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 301\nGPU UUID: \t GPU-6f1c2a03-5eed-4a11-8c0d-0000c0ffee03\n" +
	"Video BIOS: \t 96.00.61.00.01\nBus Type: \t PCIe\nDMA Size: \t 52 bits\nBus Location: \t 0000:9B:00.0\n" +
	"Device Minor: \t 3\nGPU Firmware: \t 580.95.05\nGPU Excluded:\t No\n"

func TestParseInformation(t *testing.T) {
	assert.Equal(t, information{
		model: "NVIDIA H100 80GB HBM3", uuid: "GPU-6f1c2a03-5eed-4a11-8c0d-0000c0ffee03", vbios: "96.00.61.00.01",
		address: "0000:9b:00.0", minor: gpu.Some(3),
	}, parseInformation(goodInformation))
	assert.Equal(t, information{model: "Unknown"}, parseInformation("Model: \t\t Unknown\nIRQ:   \t\t 0\n"+
		"GPU UUID: \t GPU-????????-????-????-????-????????????\nVideo BIOS: \t ??.??.??.??.??\nBus Location: \t nowhere\nDevice Minor: \t -1\n"))
	assert.True(t, parseInformation("GPU Excluded:\t Yes").excluded)
	assert.Equal(t, information{}, parseInformation(""))
	assert.Equal(t, information{}, parseInformation("GPU UUID: 12\nModel"))
	assert.Equal(t, information{model: "A"}, parseInformation(goodInformation[:9]+"A"))
}

func FuzzParseInformation(f *testing.F) {
	f.Add(goodInformation)
	f.Add("Model:\nGPU UUID: GPU-????\x00\nDevice Minor: 99999999999999999999\nBus Location: 0:0:0.0")
	f.Fuzz(func(t *testing.T, text string) {
		info := parseInformation(text)
		if info.uuid != "" && !strings.HasPrefix(info.uuid, "GPU-") {
			t.Errorf("UUID %q", info.uuid)
		}
		if n, ok := info.minor.Get(); ok && n < 0 {
			t.Errorf("minor number %d", n)
		}
	})
}

func TestNormalAddress(t *testing.T) {
	for input, want := range map[string]string{
		"0000:1b:00.0":         "0000:1b:00.0",
		"00000000:1B:00.0":     "0000:1b:00.0",
		"00010000:01:1F.7":     "10000:01:1f.7",
		"1:2:3.4":              "0001:02:03.4",
		"":                     "",
		"1b:00.0":              "",
		"0000:1b:00":           "",
		"0000:zz:00.0":         "",
		"0000:100:00.0":        "",
		"0000:1b:00.0.0":       "",
		"100000000:1b:00.0":    "",
		"0000:1b:00.0 garbage": "",
	} {
		assert.Equal(t, want, normalAddress(input), input)
	}
}

func FuzzNormalAddress(f *testing.F) {
	f.Add("00000000:1B:00.0")
	f.Add("0000:1b:00.0")
	f.Add(":::.")
	form := regexp.MustCompile(`^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]$`)
	f.Fuzz(func(t *testing.T, text string) {
		a := normalAddress(text)
		if a != "" && (!form.MatchString(a) || normalAddress(a) != a) {
			t.Errorf("%q became %q", text, a)
		}
	})
}
