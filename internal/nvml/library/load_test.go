// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package library

import (
	"errors"
	"os"
	"path/filepath"
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

// Without a library in any of the usual places, the error does not list the places; what is wrong with a file is said.
func TestMissingLibrary(t *testing.T) {
	path := filepath.Join(t.TempDir(), libraryName)
	_, err := new(Loader).load(path)
	assert.True(t, isMissing(path, err), err)
	require.NoError(t, os.WriteFile(path, []byte("this is no library"), 0o600))
	_, err = new(Loader).load(path)
	assert.False(t, isMissing(path, err), err)
	if _, err = new(Loader).Load(""); err != nil { // this machine has none
		assert.NotContains(t, err.Error(), "cannot open shared object file")
	}
}

// A library that others could replace is not loaded, as a tool is not run.
func TestUnsafeLibrary(t *testing.T) {
	path := filepath.Join(t.TempDir(), libraryName)
	require.NoError(t, os.WriteFile(path, []byte("this is no library"), 0o600))
	for name, unsafe := range map[string]string{"the library": path, "its folder": filepath.Dir(path)} {
		t.Run(name, func(t *testing.T) {
			before, err := os.Stat(unsafe)
			require.NoError(t, err)
			require.NoError(t, os.Chmod(unsafe, before.Mode().Perm()|0o022))
			_, err = new(Loader).Load(path)
			require.ErrorContains(t, err, unsafe+" is writable by others")
			require.ErrorContains(t, err, "run chmod go-w on it")
			require.NoError(t, os.Chmod(unsafe, before.Mode().Perm()))
			_, err = new(Loader).Load(path)
			require.Error(t, err)
			require.NotContains(t, err.Error(), "is writable by others")
		})
	}
}
