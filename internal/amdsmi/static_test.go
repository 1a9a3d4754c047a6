// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitest"
	"github.com/otelgpu/gpureceiver/internal/command"
)

// A VBIOS version that the tool does not know is absent.
func TestFirmwareVersion(t *testing.T) {
	t.Parallel()
	for printed, want := range map[string]string{
		`{"part_number": "113-D67301-063", "version": "1"}`: "113-D67301-063", `{"part_number": "xxx-xxx-xxx", "version": "022.040.003.043"}`: "022.040.003.043",
		`{"part_number": "xxx-xxx-xxx", "version": "N/A"}`: "",
	} {
		assert.Equal(t, want, staticOf(record{"ifwi": smitest.Decoded(t, printed)}).device.Info.FirmwareVersion)
	}
}

// The driver loses a GPU, and amd-smi hangs. The other GPUs have other numbers and keep their identity.
func TestRenumbered(t *testing.T) {
	t.Parallel()
	const (
		first  = `{"gpu": 0, "bdf": "0000:05:00.0", "hip_uuid": "GPU-000000000000000c"}`
		second = `"bdf": "0000:15:00.0", "hip_uuid": "GPU-000000000000000d"}`
	)
	lost := false
	s := newTestSource(&smitest.Tool{Answer: func(args string) (command.Result, error) {
		switch name, _, _ := strings.Cut(args, " "); {
		case name == "list" && lost:
			return smitest.Prints(`[{"gpu": 0, ` + second + `]`)
		case lost:
			return command.Result{}, command.ErrTimeout
		case name == "list":
			return smitest.Prints(`[` + first + `, {"gpu": 1, ` + second + `]`)
		case name == "static":
			return smitest.Prints(`[{"gpu": 0, "board": {"product_serial": "11"}}, {"gpu": 1, "board": {"product_serial": "22"}}]`)
		}
		return smitest.Prints(`[{"gpu": 0}, {"gpu": 1}]`)
	}})
	require.Equal(t, "22", smitest.Device(t, smitest.Read(t, s), "000000000000000d").Info.Serial)
	lost = true
	for range 2 {
		node := smitest.Read(t, s)
		assert.Equal(t, "22", smitest.Device(t, node, "000000000000000d").Info.Serial)
		assert.Equal(t, "11", smitest.Device(t, node, "000000000000000c").Info.Serial)
	}
	lost = false
	assert.Equal(t, "22", smitest.Device(t, smitest.Read(t, s), "000000000000000d").Info.Serial)
}
