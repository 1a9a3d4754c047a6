// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// The combinations of shipped configurations in deploy/kubernetes are valid too, also outside of a cluster. TestExamplesAreValid tests each
// configuration by itself.
func TestCombinationsAreValid(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ configs, env []string }{
		"components/owners":      {[]string{"agent-kubernetes.yaml", filepath.Join("parts", "owners.yaml")}, nil},
		"components/exec-shards": {[]string{"exec.yaml"}, []string{"GPU_SHARDS=6"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := []string{"validate", harness.FeatureGates}
			for _, config := range c.configs {
				args = append(args, "--config="+filepath.Join(root(t), "config", config))
			}
			process, err := harness.Start(harness.Options{
				Binary: binary(t), Dir: t.TempDir(), Args: args, Env: append([]string{"K8S_NODE_NAME=node-a"}, c.env...),
			})
			require.NoError(t, err)
			code, err := process.Wait(patience)
			require.NoError(t, err)
			assert.Zero(t, code, process.Output())
		})
	}
}
