// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	c := DefaultConfig()
	require.NoError(t, c.Check())
	c.Path = "/opt/rocm/bin/amd-smi"
	require.NoError(t, c.Check())
	c.Path = "/bin/sh"
	require.ErrorContains(t, c.Check(), "path: ")
}
