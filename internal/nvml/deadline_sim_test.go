// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// A read that comes while samples are fetched waits for that, and still has time for the GPUs that answer.
func TestReadWhileSamplesHang(t *testing.T) {
	b := start(t, "gpus = 3")
	healthy(t, b.read(), 3)
	b.set("[fault f]\ngpu = 1\nfunction = nvmlDeviceGetSamples\nhang = true")
	b.fetchUntilHung(1)
	read, fetched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(fetched)
		for {
			select {
			case <-read:
				return
			default:
				b.fetchSamples()
			}
		}
	}()
	n := b.read()
	close(read)
	<-fetched
	healthy(t, n, 3, 1)
	failed(t, n, 1, gpu.FaultHung)
}

// A GPU that hangs leaves little of a read's time. The driver's file about it hangs, too, and does not use up the rest: what was read
// has to be delivered.
func TestDriverFileHangsAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := newDriverFiles(0)
		answer := make(chan struct{})
		defer close(answer)
		files.read = func(string, string) (information, bool) {
			<-answer
			return information{}, false
		}
		ctx, cancel := context.WithTimeout(t.Context(), maxMargin)
		defer cancel()
		files.query(ctx, "", []string{"0000:0d:00.0"})
		require.NoError(t, ctx.Err(), "it is too late")
	})
}

func TestGPUAndDriverFileHang(t *testing.T) {
	b := start(t, "gpus = 2\n[fault f]\ngpu = 1\nfunction = nvmlDeviceGetUUID\nhang = true")
	b.pci("0000:0a:00.0", "nvidia", "")
	b.pci("0000:0d:00.0", "nvidia", "")
	answer := make(chan struct{})
	t.Cleanup(func() { close(answer) })
	b.files.read = func(string, string) (information, bool) {
		<-answer
		return information{}, false
	}
	b.files.patience = time.Millisecond
	for _, n := range []*gpu.Node{b.readUntilHung(1), b.read()} {
		assert.Equal(t, [2]int64{1, 1}, presence(n))
	}
}
