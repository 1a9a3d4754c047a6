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
	view := filepath.Join("overlays", "view.yaml")
	for name, c := range map[string]struct{ configs, env []string }{
		"components/owners": {[]string{"agent-kubernetes.yaml", filepath.Join("overlays", "owners.yaml")}, nil},
		"components/owner-kinds": {
			[]string{"agent-kubernetes.yaml", filepath.Join("overlays", "owners.yaml"), filepath.Join("overlays", "owner-kinds.yaml")}, nil,
		},
		"components/exec-owner-kinds":    {[]string{"exec.yaml", filepath.Join("overlays", "exec-owner-kinds.yaml")}, nil},
		"components/cluster-owner-kinds": {[]string{"cluster.yaml", filepath.Join("overlays", "cluster-owner-kinds.yaml")}, nil},
		"components/node-labels":         {[]string{"agent-kubernetes.yaml", filepath.Join("overlays", "node-labels.yaml")}, nil},
		"components/kernel-log":          {[]string{"agent-kubernetes.yaml", filepath.Join("overlays", "kernel-log.yaml")}, nil},
		"components/cluster-events":      {[]string{"cluster.yaml", filepath.Join("overlays", "cluster-events.yaml")}, nil},
		"components/cluster-events and cluster-claims": {
			[]string{"cluster.yaml", filepath.Join("overlays", "cluster-events.yaml"), filepath.Join("overlays", "cluster-claims.yaml")}, nil,
		},
		"components/cluster-replicas":  {[]string{"cluster.yaml", filepath.Join("overlays", "cluster-replicas.yaml")}, nil},
		"components/exec-shards":       {[]string{"exec.yaml"}, []string{"GPU_SHARDS=6"}},
		"components/kubernetes-events": {[]string{"agent-kubernetes.yaml", filepath.Join("overlays", "kubernetes-events.yaml")}, nil},
		"components/node-condition":    {[]string{"agent-kubernetes.yaml", filepath.Join("overlays", "node-condition.yaml")}, nil},
		"components/kubernetes-events and node-condition": {
			[]string{"agent-kubernetes.yaml", filepath.Join("overlays", "kubernetes-events.yaml"), filepath.Join("overlays", "node-condition.yaml")}, nil,
		},
		"components/k8s-attributes and kubernetes-events": {
			[]string{"k8s-attributes.yaml", filepath.Join("overlays", "kubernetes-events.yaml")}, nil,
		},
		"components/owners and telemetry-otlp": {
			[]string{"agent-kubernetes.yaml", filepath.Join("overlays", "owners.yaml"), filepath.Join("overlays", "telemetry-otlp.yaml")}, nil,
		},
		"components/exec-shards and telemetry-otlp": {[]string{"exec.yaml", filepath.Join("overlays", "telemetry-otlp.yaml")}, []string{"GPU_SHARDS=6"}},
		"the page of an agent":                      {[]string{"agent.yaml", view}, nil},
		"the page of a node":                        {[]string{"agent-kubernetes.yaml", view}, nil},
		"the page of AMD GPUs":                      {[]string{"amd.yaml", view}, nil},
		"the page of exec":                          {[]string{"exec.yaml", view}, nil},
		"the page of a processor":                   {[]string{"k8s-attributes.yaml", view}, nil},
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
