// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package library

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCheckExports(t *testing.T) {
	lacks := func(missing ...string) func(string) error {
		return func(symbol string) error {
			if slices.Contains(missing, symbol) {
				return errors.New("absent")
			}
			return nil
		}
	}
	require.NoError(t, checkExports("lib.so", lacks()))
	require.NoError(t, checkExports("lib.so", lacks("nvmlInit_v2")), "an old library")
	require.EqualError(t, checkExports("lib.so", lacks("nvmlInit_v2", "nvmlInit")),
		"lib.so is not NVIDIA's management library: it does not export nvmlInit_v2 or nvmlInit")
}

// A library that the loader does not find has no function, so that no pointer is called that is not there.
func TestLibraryThatIsNotFound(t *testing.T) {
	l := &Library{symbols: newSymbols("no such library")}
	for _, f := range essential {
		assert.False(t, l.Has(f), f.Symbol())
	}
	_, code := l.symbols.gpu(0)
	assert.Equal(t, FunctionNotFound, code)
	h := listHandle{symbols: l.symbols}
	_, code = h.instance(0)
	assert.Equal(t, FunctionNotFound, code)
	_, code = (&ProcessList{}).Read(Device{list: h}, MIGHandle)
	assert.Equal(t, FunctionNotFound, code)
	_, _, code = (&SampleList{}).Read(Device{list: h}, MIGHandle, SamplesGPU, 0)
	assert.Equal(t, FunctionNotFound, code)
	_, code = (&ProcessSampleList{}).Read(Device{list: h}, MIGHandle, 0)
	assert.Equal(t, FunctionNotFound, code)
}
