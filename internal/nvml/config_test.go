// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestConfig(t *testing.T) {
	c := DefaultConfig()
	assert.Equal(t, Config{KeepOpen: true}, c)
	require.NoError(t, c.Check())
	absolute := "/usr/lib/libnvidia-ml.so.1"
	if runtime.GOOS == "windows" {
		absolute = `C:\nvml.dll`
	}
	c.LibraryPath = absolute
	require.NoError(t, c.Check())
	c.LibraryPath = "lib/libnvidia-ml.so.1"
	require.EqualError(t, c.Check(),
		`library_path: must be an absolute path, or empty for the dynamic loader's search; got "lib/libnvidia-ml.so.1"`)
}
