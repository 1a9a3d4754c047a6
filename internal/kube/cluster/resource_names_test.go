// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes/fake"
)

func TestResourceNames(t *testing.T) {
	m := resourceNames(DefaultResources())
	for _, name := range []string{nvidia, shared, mig, mig + ".shared", amd, "amd.com/cpx_nps4", "amd.com/spx_nps1"} {
		assert.True(t, m.match(name), name)
	}
	for _, name := range []string{"cpu", "nvidia.com/hostdev", "intel.com/gpu", "amd.com/nic", "amd.com/vnic"} {
		assert.False(t, m.match(name), name)
	}

	require.NoError(t, CheckResources(DefaultResources()))
	for _, patterns := range [][]string{nil, {""}, {"nvidia.com/[", nvidia}} {
		require.Error(t, CheckResources(patterns))
		_, err := New(fake.NewClientset(), patterns, nil)
		require.ErrorContains(t, err, "resource_names: ")
	}
}
