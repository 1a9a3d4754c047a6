// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// A read in which no call returns is a failure of the source, whichever call hangs. Where one GPU answers, or all are lost, the source was read.
func TestNothingComesBack(t *testing.T) {
	hangs := func(function string) string { return "[fault f]\nfunction = " + function + "\nhang = true" }
	for name, c := range map[string]struct {
		begin, then string
		unread      bool // no call has returned
	}{
		"init, at first":                {begin: hangs("nvmlInit"), unread: true},
		"the count, at first":           {begin: hangs("nvmlDeviceGetCount"), unread: true},
		"the version, at first":         {begin: hangs("nvmlSystemGetDriverVersion"), unread: true},
		"each handle":                   {begin: hangs("nvmlDeviceGetHandleByIndex"), unread: true},
		"each GPU's identity":           {begin: hangs("nvmlDeviceGetUUID"), unread: true},
		"every call, later":             {then: "[fault f]\ngpu = *\nfunction = nvmlDevice*\nhang = true", unread: true},
		"one GPU, the other is lost":    {then: "[fault f]\ngpu = 0\nfunction = nvmlDevice*\nhang = true\n[fault g]\ngpu = 1\nkind = lost", unread: true},
		"one GPU, the other does not":   {then: "[fault f]\ngpu = 0\nfunction = nvmlDevice*\nhang = true"},
		"what concerns all GPUs, later": {then: hangs("nvmlEventSetWait")},
		"all are lost":                  {then: "[fault f]\ngpu = *\nkind = lost"},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, "gpus = 2\n"+c.begin)
			if c.begin == "" {
				assert.Nil(t, b.read().Failure)
				b.set(c.then)
			}
			wait := heldUp
			if c.unread { // no GPU answers within it
				wait = time.Second
			}
			for range 3 {
				failure := b.readWithin(wait).Failure
				require.Equal(t, c.unread, failure != nil)
				if c.unread {
					assert.Equal(t, gpu.FailureTimeout, failure.Reason)
					require.ErrorContains(t, failure, "has not returned")
				}
			}
			b.unhang("[fault f]\npresent = false")
			assert.Eventually(t, func() bool { return b.read().Failure == nil }, time.Minute, time.Millisecond)
		})
	}
}
