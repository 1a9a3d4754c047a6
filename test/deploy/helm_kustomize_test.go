// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each directory and each component is a value of the chart that creates the same objects.
func TestChartMakesTheSameObjects(t *testing.T) {
	t.Parallel()
	compared := map[string]bool{"exec-driver-pods": true} // the first has no values of its own: TestDirectoriesMatchTheChart
	cases := map[string]struct {
		base       string
		components []string
		values     string
	}{
		"agent":  {"agent", nil, ""},
		"nvidia": {"nvidia", nil, "agent: {nvidia: {enabled: true}, owners: {enabled: true}}"},
		"amd":    {"amd", nil, "agent: {amd: {enabled: true}, owners: {enabled: true}}"},

		"nvidia-runtime":    {"agent", []string{"nvidia-runtime"}, "agent: {nvidia: {enabled: true}}"},
		"owners":            {"agent", []string{"owners"}, "agent: {owners: {enabled: true}}"},
		"owner-kinds":       {"agent", []string{"owners", "owner-kinds"}, "agent: {owners: {enabled: true}, ownerKinds: {enabled: true}}"},
		"node-labels":       {"agent", []string{"node-labels"}, "agent: {nodeLabels: {enabled: true}}"},
		"dra":               {"agent", []string{"dra"}, "agent: {dra: {enabled: true}}"},
		"k8s-attributes":    {"agent", []string{"k8s-attributes"}, "agent: {k8sAttributes: {enabled: true}}"},
		"amd-fdinfo":        {"agent", []string{"amd-fdinfo"}, "agent: {amdFdinfo: {enabled: true}}"},
		"kernel-log":        {"agent", []string{"kernel-log"}, "agent: {kernelLog: {enabled: true}}"},
		"kubernetes-events": {"agent", []string{"kubernetes-events"}, "agent: {kubernetesEvents: {enabled: true}}"},
		"node-condition":    {"agent", []string{"node-condition"}, "agent: {nodeCondition: {enabled: true}}"},
		"node-condition-policy": {
			"agent", []string{"node-condition", "node-condition-policy"}, "agent: {nodeCondition: {enabled: true, policy: {enabled: true}}}",
		},
		"telemetry-otlp": {"agent", []string{"telemetry-otlp"}, "telemetryOTLP: true"},
		"cluster":        {"cluster", nil, "agent: {enabled: false}\ncluster: {enabled: true}"},
		"cluster-events": {"cluster", []string{"cluster-events"}, "agent: {enabled: false}\ncluster: {enabled: true, events: {enabled: true}}"},
		"cluster-claims": {"cluster", []string{"cluster-claims"}, "agent: {enabled: false}\ncluster: {enabled: true, claims: {enabled: true}}"},
		"cluster-owner-kinds": {
			"cluster",
			[]string{"cluster-events", "cluster-claims", "cluster-owner-kinds"},
			"agent: {enabled: false}\ncluster: {enabled: true, events: {enabled: true}, claims: {enabled: true}, ownerKinds: {enabled: true}}",
		},
		"exec-owner-kinds":          {"exec", []string{"exec-owner-kinds"}, "agent: {enabled: false}\nexec: {enabled: true, ownerKinds: {enabled: true}}"},
		"cluster-replicas":          {"cluster", []string{"cluster-replicas"}, "agent: {enabled: false}\ncluster: {enabled: true, replicas: 2}"},
		"telemetry-otlp of cluster": {"cluster", []string{"telemetry-otlp"}, "telemetryOTLP: true\nagent: {enabled: false}\ncluster: {enabled: true}"},
		"exec":                      {"exec", nil, "agent: {enabled: false}\nexec: {enabled: true}"},
		"exec-sharded":              {"exec-sharded", nil, "agent: {enabled: false}\nexec: {enabled: true, replicas: 3}"},
		"telemetry-otlp of exec": {
			"exec", []string{"exec-shards", "telemetry-otlp"}, "telemetryOTLP: true\nagent: {enabled: false}\nexec: {enabled: true, replicas: 3}",
		},
		"all of the agent": {
			"agent",
			[]string{
				"nvidia-runtime", "amd-fdinfo", "kernel-log", "owners", "owner-kinds", "node-labels", "kubernetes-events", "node-condition", "node-condition-policy",
				"dra", "telemetry-otlp",
			},
			`
telemetryOTLP: true
agent:
  nvidia: {enabled: true}
  amdFdinfo: {enabled: true}
  kernelLog: {enabled: true}
  owners: {enabled: true}
  ownerKinds: {enabled: true}
  nodeLabels: {enabled: true}
  kubernetesEvents: {enabled: true}
  nodeCondition: {enabled: true, policy: {enabled: true}}
  dra: {enabled: true}
`,
		},
	}
	for _, c := range cases {
		compared[c.base] = true
		for _, component := range c.components {
			compared["components/"+component] = true
		}
	}
	for directory := range kustomizations(t) {
		assert.True(t, compared[filepath.ToSlash(directory)], "%s: which value of the chart makes the same objects?", directory)
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory := filepath.Join(manifests, c.base)
			if c.components != nil {
				directory = withComponents(t, c.base, c.components...)
			}
			want, got := asRead(t, build(t, directory)), asRead(t, rendered(t, unchecked+c.values))
			assert.Equal(t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)))
			for key := range want {
				assert.Equal(t, want[key], got[key], key)
			}
		})
	}
}

// asRead returns objects by kind and name, each as the API server would read it.
func asRead(t *testing.T, objects []object) map[string]string {
	t.Helper()
	got := map[string]string{}
	for _, o := range objects {
		text, err := json.MarshalIndent(o.typed, "", " ")
		require.NoError(t, err)
		key := o.typed.GetObjectKind().GroupVersionKind().String() + " " + o.GetNamespace() + "/" + o.GetName()
		assert.NotContains(t, got, key)
		got[key] = string(text)
	}
	return got
}
