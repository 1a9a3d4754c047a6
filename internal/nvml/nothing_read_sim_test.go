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

// A read in which no call returns is a failure of the source, for every call that hangs. If one GPU answers, or all are lost, the source
// was read.
func TestNothingComesBack(t *testing.T) {
	hangs := func(function string) string { return "[fault f]\nfunction = " + function + "\nhang = true" }
	for name, c := range map[string]struct {
		begin, then string
		hung        int  // calls
		unread      bool // no call has returned
	}{
		"init, at first":                {begin: hangs("nvmlInit"), hung: 1, unread: true},
		"the count, at first":           {begin: hangs("nvmlDeviceGetCount"), hung: 1, unread: true},
		"the version, at first":         {begin: hangs("nvmlSystemGetDriverVersion"), hung: 1, unread: true},
		"each handle":                   {begin: hangs("nvmlDeviceGetHandleByIndex"), hung: 2, unread: true},
		"each GPU's identity":           {begin: hangs("nvmlDeviceGetUUID"), hung: 2, unread: true},
		"every call, later":             {then: "[fault f]\ngpu = *\nfunction = nvmlDevice*\nhang = true", hung: 2, unread: true},
		"one GPU, the other is lost":    {then: "[fault f]\ngpu = 0\nfunction = nvmlDevice*\nhang = true\n[fault g]\ngpu = 1\nkind = lost", hung: 1, unread: true},
		"one GPU, the other does not":   {then: "[fault f]\ngpu = 0\nfunction = nvmlDevice*\nhang = true", hung: 1},
		"what concerns all GPUs, later": {then: hangs("nvmlEventSetWait"), hung: 1},
		"all are lost":                  {then: "[fault f]\ngpu = *\nkind = lost"},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, "gpus = 2\n"+c.begin)
			if c.begin == "" {
				assert.Nil(t, b.read().Failure)
				b.set(c.then)
			}
			for i := range 3 {
				read := b.read
				if i == 0 && c.hung > 0 {
					read = func() *gpu.Node { return b.readUntilHung(c.hung) }
				}
				failure := read().Failure
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
