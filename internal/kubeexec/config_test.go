// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"

	"github.com/otelgpu/gpureceiver/internal/kube"
)

func load(t *testing.T, settings map[string]any) *Config {
	t.Helper()
	config := DefaultConfig()
	require.NoError(t, confmap.NewFromStringMap(settings).Unmarshal(&config))
	return &config
}

func TestConfig(t *testing.T) {
	config := load(t, map[string]any{
		"clusters": []any{
			map[string]any{"name": "prod", "auth_type": "serviceAccount"},
			map[string]any{"name": "far", "endpoint": "https://far:6443", "token_file": "/t", "ca_file": "/c", "insecure_skip_verify": true},
		},
		"targets": []any{
			map[string]any{"label_selector": "app=driver", "query": "full"},
			map[string]any{"namespace": "amd", "label_selector": "app=amd", "container": "tool", "tool": "rocm_smi"},
		},
		"node_selector": "!agent", "max_concurrent": 4, "attribute_pods": false, "node_labels": []any{"zone", "nvidia.com/gpu.*"},
	})
	require.NoError(t, config.Check())
	assert.Equal(t, kube.Config{Endpoint: "https://far:6443", TokenFile: "/t", CAFile: "/c", InsecureSkipVerify: true}, config.Clusters[1].API)
	assert.Equal(t, []TargetConfig{
		{Namespace: "gpu-operator", LabelSelector: "app=driver", Container: "nvidia-driver-ctr", Tool: "nvidia_smi", Query: "full"},
		{Namespace: "amd", LabelSelector: "app=amd", Container: "tool", Tool: "rocm_smi"},
	}, config.targets())
	assert.Equal(t, []string{"cluster far: the API server's certificate is not verified: anyone on the network path can read and change the traffic"},
		config.Warnings())
}

func TestDefaultConfig(t *testing.T) {
	config := load(t, map[string]any{"clusters": []any{map[string]any{"name": "prod"}}})
	require.NoError(t, config.Check())
	assert.Equal(t, []TargetConfig{
		{Namespace: "gpu-operator", LabelSelector: "app=nvidia-driver-daemonset", Container: "nvidia-driver-ctr", Tool: "nvidia_smi", Query: "fast"},
		{Namespace: "gpu-operator", LabelSelector: "app.kubernetes.io/component=nvidia-driver", Container: "nvidia-driver-ctr", Tool: "nvidia_smi", Query: "fast"},
	}, config.targets())
	assert.Equal(t, 16, config.MaxConcurrent)
	assert.True(t, config.AttributePods)
	assert.Equal(t, OwnersConfig{Kinds: []string{"replicasets.apps", "jobs.batch"}}, config.Owners)
	assert.Empty(t, config.Warnings())
}

func TestConfigErrors(t *testing.T) {
	cluster := []any{map[string]any{"name": "prod"}}
	target := func(settings map[string]any) map[string]any {
		if settings["label_selector"] == nil {
			settings["label_selector"] = "app=a"
		}
		return map[string]any{"clusters": cluster, "targets": []any{settings}}
	}
	for name, tt := range map[string]struct {
		settings map[string]any
		want     []string
	}{
		"no cluster": {nil, []string{"clusters: must name the clusters to read, such as [{name: prod, auth_type: serviceAccount}]"}},
		"no name": {
			map[string]any{"clusters": []any{map[string]any{"auth_type": "serviceAccount"}}},
			[]string{"clusters::0::name: must be set; it becomes k8s.cluster.name"},
		},
		"a name twice": {
			map[string]any{"clusters": []any{map[string]any{"name": "a"}, map[string]any{"name": "a", "auth_type": "kubeConfig"}}},
			[]string{`clusters::1::name: "a" is the name of clusters::0 too`},
		},
		"two faults of one cluster": {
			map[string]any{"clusters": []any{map[string]any{"name": "a", "auth_type": "magic", "token_file": "/t"}}},
			[]string{`clusters::0::auth_type: "magic" is unknown`, "clusters::0::token_file: is only allowed with endpoint"},
		},
		"no selector": {
			map[string]any{"clusters": cluster, "targets": []any{map[string]any{"namespace": "a"}}},
			[]string{"targets::0::label_selector: must be set"},
		},
		"bad selector":   {target(map[string]any{"label_selector": "a b"}), []string{`targets::0::label_selector: "a b" is not a label selector`}},
		"bad namespace":  {target(map[string]any{"namespace": "A/b"}), []string{`targets::0::namespace: "A/b" is not the name of a namespace`}},
		"bad container":  {target(map[string]any{"container": "a&b"}), []string{`targets::0::container: "a&b" is not the name of a container`}},
		"unknown tool":   {target(map[string]any{"tool": "rm", "container": "a"}), []string{`targets::0::tool: "rm" is unknown; allowed are nvidia_smi, rocm_smi and amd_smi`}},
		"no container":   {target(map[string]any{"tool": "amd_smi"}), []string{"targets::0::container: must be set with tool: amd_smi"}},
		"unknown query":  {target(map[string]any{"query": "all"}), []string{`targets::0::query: "all" is unknown; allowed are fast and full`}},
		"query of AMD":   {target(map[string]any{"tool": "amd_smi", "container": "a", "query": "full"}), []string{"targets::0::query: is only allowed with tool: nvidia_smi"}},
		"node selector":  {map[string]any{"clusters": cluster, "node_selector": "a=b=c"}, []string{`node_selector: "a=b=c" is not a label selector`}},
		"max_concurrent": {map[string]any{"clusters": cluster, "max_concurrent": 0}, []string{"max_concurrent: must be from 1 to 1024, got 0"}},
		"shards":         {map[string]any{"clusters": cluster, "shards": 65}, []string{"shards: must be from 1 to 64, got 65"}},
		"lease": {
			map[string]any{"clusters": cluster, "leader_election": map[string]any{"lease_name": "A.b", "lease_namespace": "x/y"}},
			[]string{`leader_election::lease_name: "A.b" must contain only lower-case letters`, `leader_election::lease_namespace: "x/y" is not the name of a namespace`},
		},
		"no namespace for the Leases": {
			map[string]any{"clusters": []any{map[string]any{"name": "a"}, map[string]any{"name": "b", "auth_type": "kubeConfig"}}, "shards": 2},
			[]string{"leader_election::lease_namespace: must be set, because clusters::1 is not read with the service account"},
		},
		"owners": {
			map[string]any{"clusters": cluster, "owners": map[string]any{
				"kinds": []any{"jobs.batch", "*"}, "labels": []any{"*"}, "annotations": []any{"a/b", "example.com/*"},
			}},
			[]string{`owners::kinds::1: "*" is not a kind of objects`, `owners::labels::0: "*" is not the full key`, `owners::annotations::1: "example.com/*" is not the full key`},
		},
		"owners of nobody": {
			map[string]any{"clusters": cluster, "attribute_pods": false, "owners": map[string]any{"labels": []any{"team"}}},
			[]string{"owners: labels and annotations come from the pods that processes are attributed to"},
		},
		"node labels": {
			map[string]any{"clusters": cluster, "node_labels": []any{"ok", "a*b", ""}},
			[]string{`node_labels::1: "a*b" is not the key of a label`, `node_labels::2: "" is not the key`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := load(t, tt.settings).Check()
			require.Error(t, err)
			lines := err.(interface{ Unwrap() []error }).Unwrap()
			require.Len(t, lines, len(tt.want))
			for i, want := range tt.want {
				require.ErrorContains(t, lines[i], want)
			}
		})
	}
}

func TestOwnersConfig(t *testing.T) {
	config := load(t, map[string]any{"clusters": []any{map[string]any{"name": "prod"}}, "owners": map[string]any{
		"kinds": []any{"pytorchjobs.kubeflow.org"}, "labels": []any{"team"}, "annotations": []any{"example.com/contact"},
	}})
	require.NoError(t, config.Check())
	assert.Equal(t, OwnersConfig{
		Kinds: []string{"pytorchjobs.kubeflow.org"}, Labels: []string{"team"}, Annotations: []string{"example.com/contact"},
	}, config.Owners, "in exec.Container of the defaults")
}

// A cluster may have targets of its own.
func TestTargetsOfCluster(t *testing.T) {
	config := load(t, map[string]any{
		"clusters": []any{
			map[string]any{"name": "a"},
			map[string]any{"name": "b", "targets": []any{map[string]any{"namespace": "amd", "label_selector": "x=y", "container": "c", "tool": "amd_smi"}}},
		},
	})
	require.NoError(t, config.Check())
	assert.Equal(t, config.targets(), config.targetsOf(0))
	assert.Equal(t, []TargetConfig{{Namespace: "amd", LabelSelector: "x=y", Container: "c", Tool: "amd_smi"}}, config.targetsOf(1))
}
