// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// The kernel's driver may query the GPU for its file: a read does not wait for one that hangs.
func TestDriverFileHangs(t *testing.T) {
	b := start(t, "gpus = 2\n[fault f]\ngpu = 1\nkind = lost\nat_start = true")
	b.pci("0000:0a:00.0", "nvidia", "")
	b.pci("0000:0d:00.0", "nvidia", "")
	b.information("0000:0d:00.0", "GPU UUID: \t GPU-6f1c2a01-5eed-4a11-8c0d-0000c0ffee01\n")
	answer := make(chan struct{})
	var calls atomic.Int64
	b.files.read = func(procRoot, address string) (information, bool) {
		calls.Add(1)
		<-answer
		return readInformation(procRoot, address)
	}
	b.files.patience = time.Millisecond
	for reads := 0; reads < 3 || calls.Load() == 0; reads++ {
		n := b.read()
		healthy(t, n, 2, 1)
		d := failed(t, n, 1, gpu.FaultLost)
		assert.Empty(t, d.ID, "it is not known what it is")
		assert.Equal(t, "0000:0d:00.0", d.Info.PCIAddress)
	}
	assert.EqualValues(t, 1, calls.Load(), "one read is outstanding")
	close(answer)
	b.files.patience = unhurried
	require.Eventually(t, func() bool { return b.files.pool.Outstanding() == 0 }, time.Minute, time.Millisecond)
	d := failed(t, b.read(), 1, gpu.FaultLost)
	assert.Equal(t, "GPU-6f1c2a01-5eed-4a11-8c0d-0000c0ffee01", d.ID)
}

// Slow files are read side by side.
func TestDriverFilesTakeLong(t *testing.T) {
	b := start(t, "gpus = 3\n[fault f]\ngpu = 0-2\nkind = lost\nat_start = true")
	var together sync.WaitGroup
	together.Add(3)
	for i, address := range []string{"0000:0a:00.0", "0000:0d:00.0", "0000:10:00.0"} {
		b.pci(address, "nvidia", "")
		b.information(address, fmt.Sprintf("GPU UUID: GPU-%d\n", i))
	}
	b.files.read = func(procRoot, address string) (information, bool) {
		together.Done()
		together.Wait()
		return readInformation(procRoot, address)
	}
	assert.Equal(t, []string{"GPU-0", "GPU-1", "GPU-2"}, ids(b.read()))
}

// The file of a GPU is forgotten when another GPU is at its address.
func TestDriverFileOfAnotherGPU(t *testing.T) {
	const address = "0000:0a:00.0"
	b := start(t, "gpus = 1\n[fault f]\ngpu = 0\nkind = lost\nat_start = true")
	b.pci(address, "nvidia", "")
	b.information(address, "GPU UUID: "+zero+"\n")
	assert.Contains(t, ids(b.read()), zero)
	require.NoError(t, os.RemoveAll(filepath.Join(b.sys, "bus/pci/devices", address)))
	b.clock = b.clock.Add(time.Minute)
	assert.NotContains(t, ids(b.read()), zero)

	b.pci(address, "nvidia", "")
	b.clock = b.clock.Add(time.Minute)
	answer := make(chan struct{})
	t.Cleanup(func() { close(answer) })
	b.files.read = func(string, string) (information, bool) {
		<-answer
		return information{}, false
	}
	b.files.patience = time.Millisecond
	assert.NotContains(t, ids(b.read()), zero)
}
