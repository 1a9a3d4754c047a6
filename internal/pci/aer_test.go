// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pci

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// atPath creates a function at a path below devices, as the kernel has it: the directory is below the directory of the port above, and
// bus/pci/devices has a link to it.
func atPath(t *testing.T, sys, path, vendor string, aer map[string]string) (dir string) {
	t.Helper()
	dir = filepath.Join(sys, "devices", path)
	require.NoError(t, os.MkdirAll(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "vendor"), []byte(vendor+"\n"), 0o600))
	for file, text := range aer {
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
	}
	bus := filepath.Join(sys, "bus/pci/devices")
	require.NoError(t, os.MkdirAll(bus, 0o700))
	require.NoError(t, os.Symlink(filepath.Join("../../../devices", path), filepath.Join(bus, filepath.Base(path))))
	return dir
}

// aer has the files of a function that has counted this many errors, in the kernel's form.
func aer(corrected, nonFatal, fatal int) map[string]string {
	return map[string]string{
		"aer_dev_correctable": fmt.Sprintf("RxErr %d\nBadTLP 0\nBadDLLP 0\nRollover 0\nTimeout 0\nNonFatalErr 0\nCorrIntErr 0\nHeaderOF 0\nTOTAL_ERR_COR %d\n", corrected, corrected),
		"aer_dev_nonfatal":    fmt.Sprintf("Undefined 0\nDLP 0\nSDES 0\nTLP 0\nCmpltTO %d\nUnsupReq 0\nTOTAL_ERR_NONFATAL %d\n", nonFatal, nonFatal),
		"aer_dev_fatal":       fmt.Sprintf("Undefined 0\nDLP %d\nSDES 0\nTOTAL_ERR_FATAL %d\n", fatal, fatal),
	}
}

func describe(r *ErrorReader, devices ...gpu.Device) *gpu.Node {
	node := &gpu.Node{Devices: devices}
	r.Describe(context.Background(), node)
	return node
}

func nvidia(address string) gpu.Device {
	return gpu.Device{ID: "GPU-1", Vendor: gpu.NVIDIA, Info: gpu.Info{PCIAddress: address}}
}

type pcieErrors = [gpu.NumPCIeDevices][gpu.NumPCIeErrorTypes]gpu.Counter[int64]

func counts(corrected, nonFatal, fatal int64) [gpu.NumPCIeErrorTypes]gpu.Counter[int64] {
	return [gpu.NumPCIeErrorTypes]gpu.Counter[int64]{gpu.Total(corrected), gpu.Total(nonFatal), gpu.Total(fatal)}
}

func TestErrorsOfGPUAndPort(t *testing.T) {
	sys := t.TempDir()
	atPath(t, sys, "pci0000:15/0000:15:01.0", "0x8086", aer(90, 91, 92))
	port := atPath(t, sys, "pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:02.0", "0x1000", aer(4, 5, 6)) // of a PCIe switch of the machine
	dir := atPath(t, sys, "pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:02.0/0000:18:00.0", "0x10de", aer(1, 2, 3))
	r := NewErrorReader(sys)

	node := describe(r, nvidia("0000:18:00.0"), gpu.Device{ID: "MIG-1", Parent: "GPU-1", Vendor: gpu.NVIDIA, Info: gpu.Info{PCIAddress: "0000:18:00.0"}})
	assert.Equal(t, pcieErrors{counts(1, 2, 3), counts(4, 5, 6)}, node.Devices[0].PCIe.Errors)
	assert.Zero(t, node.Devices[1].PCIe.Errors, "a partition has no link of its own")
	assert.Empty(t, node.Problems)

	for name, text := range aer(7, 2, 3) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	assert.Equal(t, counts(7, 2, 3), describe(r, nvidia("0000:18:00.0")).Devices[0].PCIe.Errors[gpu.PCIeGPU], "read each time")

	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, os.Remove(filepath.Join(sys, "bus/pci/devices/0000:18:00.0")))
	node = describe(r, nvidia("0000:18:00.0"))
	assert.Equal(t, pcieErrors{gpu.PCIePort: counts(4, 5, 6)}, node.Devices[0].PCIe.Errors, "the GPU is off the bus; its port still counts")
	assert.Empty(t, node.Problems)

	require.NoError(t, os.WriteFile(filepath.Join(port, "aer_dev_nonfatal"), []byte("TOTAL_ERR_NONFATAL many\n"), 0o600))
	node = describe(r, nvidia("0000:18:00.0"))
	require.Len(t, node.Problems, 1)
	assert.Equal(t, "PCI Express errors", node.Problems[0].What)
	assert.Equal(t, "GPU-1", node.Problems[0].Device)
	require.ErrorContains(t, node.Problems[0].Err, "aer_dev_nonfatal: it contains no line TOTAL_ERR_NONFATAL with a number")
	assert.False(t, node.Devices[0].PCIe.Errors[gpu.PCIePort][gpu.PCIeNonFatal].Known())
}

// A board of AMD with a switch of its own is one end of the link to the host, with all its functions.
func TestErrorsOfBoardWithSwitch(t *testing.T) {
	sys := t.TempDir()
	const slot = "pci0000:00/0000:00:03.1"
	atPath(t, sys, slot, "0x1022", aer(1000, 2000, 3000))
	atPath(t, sys, slot+"/0000:01:00.0", "0x1002", aer(100, 0, 0))
	atPath(t, sys, slot+"/0000:01:00.0/0000:02:00.0", "0x1002", aer(10, 0, 0))
	atPath(t, sys, slot+"/0000:01:00.0/0000:02:00.0/0000:03:00.0", "0x1002", aer(1, 2, 3))
	node := describe(NewErrorReader(sys), gpu.Device{ID: "card0", Vendor: gpu.AMD, Info: gpu.Info{PCIAddress: "0000:03:00.0"}})
	assert.Equal(t, pcieErrors{counts(111, 2, 3), counts(1000, 2000, 3000)}, node.Devices[0].PCIe.Errors)
}

func TestErrorsThatAreNotThere(t *testing.T) {
	sys := t.TempDir()
	atPath(t, sys, "pci0000:00/0000:00:05.0", "0x10de", nil)          // a virtual machine: no port above, no AER
	atPath(t, sys, "pci0000:00/0000:00:06.0", "0x1af4", aer(1, 1, 1)) // another device than the driver says
	atPath(t, sys, "pci0000:00/0000:00:07.0", "0x10de", aer(1, 1, 1)) // no port above
	for name, device := range map[string]gpu.Device{
		"no AER": nvidia("0000:00:05.0"), "another machine's bus": nvidia("0000:00:06.0"), "not on the bus": nvidia("0000:00:08.0"),
		"no address": nvidia(""), "no PCI address": nvidia("../../../../etc"),
	} {
		node := describe(NewErrorReader(sys), device)
		assert.Zero(t, node.Devices[0].PCIe.Errors, name)
		assert.Empty(t, node.Problems, name)
	}
	assert.Equal(t, pcieErrors{counts(1, 1, 1)}, describe(NewErrorReader(sys), nvidia("0000:00:07.0")).Devices[0].PCIe.Errors)
	assert.Zero(t, describe(NewErrorReader(t.TempDir()), nvidia("0000:00:07.0")).Devices[0].PCIe.Errors, "no sysfs")
}

// Memory stays bounded with a driver that names other addresses at each read, although all of them exist.
func TestPlacesAreBounded(t *testing.T) {
	sys := t.TempDir()
	atPath(t, sys, "pci0000:00/0000:00:05.0", "0x10de", aer(1, 1, 1))
	bus := filepath.Join(sys, "bus/pci/devices")
	r := NewErrorReader(sys)
	for i := range maxPlaces + 10 {
		address := fmt.Sprintf("%04x:00:00.0", i+1)
		require.NoError(t, os.Symlink("0000:00:05.0", filepath.Join(bus, address)))
		describe(r, nvidia(address))
	}
	assert.Len(t, r.places, maxPlaces)
}

// A file that never ends is not read further than a page.
func TestErrorsFileIsBounded(t *testing.T) {
	sys := t.TempDir()
	files := aer(1, 2, 3)
	files["aer_dev_fatal"] = strings.Repeat("Undefined 0\n", 10_000) + files["aer_dev_fatal"]
	atPath(t, sys, "pci0000:00/0000:00:05.0", "0x10de", files)
	node := describe(NewErrorReader(sys), nvidia("0000:00:05.0"))
	require.Len(t, node.Problems, 1)
	assert.False(t, node.Devices[0].PCIe.Errors[gpu.PCIeGPU][gpu.PCIeFatal].Known())
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]int64{
		"RxErr 1\nTOTAL_ERR_COR 12\n": 12, "TOTAL_ERR_COR 0": 0, "  TOTAL_ERR_COR\t7  \r\n": 7, "TOTAL_ERR_COR 18446744073709551615": -1,
		"": -1, "TOTAL_ERR_COR": -1, "TOTAL_ERR_COR -1": -1, "TOTAL_ERR_COR 1 2": -1, "TOTAL_ERR_CORR 1": -1, "TOTAL_ERR_COR 0x1": -1,
	} {
		n, ok := parseErrors([]byte(text), "TOTAL_ERR_COR")
		assert.Equal(t, want >= 0, ok, "%q", text)
		if ok {
			assert.Equal(t, want, n, "%q", text)
		}
	}
}

func FuzzParseErrors(f *testing.F) {
	for _, text := range aer(1, 2, 3) {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, file := range aerFiles {
			if n, ok := parseErrors(text, file.sum); ok && n < 0 {
				t.Errorf("%d errors", n)
			}
		}
	})
}
