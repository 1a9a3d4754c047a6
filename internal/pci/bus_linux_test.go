// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pci

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A GPU is not missing because this process may open no more files.
func TestScanWithoutFileDescriptors(t *testing.T) {
	sys := t.TempDir()
	function(t, sys, "0000:1b:00.0", "0x10de", "0x030000", "nvidia")
	b := NewBus(sys, VendorNVIDIA, display)

	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 64, Max: limit.Max}))
	var descriptors []int
	for {
		fd, err := syscall.Dup(0)
		if err != nil {
			break
		}
		descriptors = append(descriptors, fd)
	}
	_, scanned := b.Scan(true)
	got := b.find([]string{"0000:1b:00.0"}) // the bus was listed, and then another took the last descriptor
	for _, fd := range descriptors {
		_ = syscall.Close(fd)
	}
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit))
	require.ErrorIs(t, scanned, syscall.EMFILE)
	require.ErrorIs(t, got, syscall.EMFILE)
	functions, err := b.Scan(false)
	require.NoError(t, err)
	assert.Len(t, functions, 1)
}
