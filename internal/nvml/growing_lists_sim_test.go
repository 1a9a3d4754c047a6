// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A list that has grown since the last read is read whole.
func TestListThatGrows(t *testing.T) {
	b := start(t, "gpus = 1\n[process p]\ngpu = 0\ncount = 10\npid = 100\nsm = 1\nmemory = 1Mi")
	for range 3 {
		assert.Len(t, b.read().Processes, 10)
	}
	b.set("[process p]\ngpu = 0\ncount = 700\npid = 100\nsm = 1\nmemory = 1Mi")
	n := b.read()
	assert.Len(t, n.Processes, 700)
	assert.Empty(t, n.Problems)
}
