// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
	"sigs.k8s.io/yaml"

	"github.com/otelgpu/gpureceiver/internal/attribution/runtimes"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/internal/process"
)

// outer embeds a configuration as the receiver does.
type outer struct {
	Attribution Config `mapstructure:"attribution"`
}

func load(t *testing.T, document string) (Config, error) {
	t.Helper()
	var values map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(document), &values))
	var o outer
	if err := confmap.NewFromStringMap(map[string]any{"attribution": values}).Unmarshal(&o); err != nil {
		return o.Attribution, err
	}
	return o.Attribution, confmap.Validate(&o)
}

func TestConfig(t *testing.T) {
	resources, processes, owners := DefaultPodResources(), DefaultProcesses(), DefaultOwners()
	tests := []struct {
		name, input string
		want        Config
	}{
		{"nothing", "{}", Config{}},
		{"names alone", "node_name: n1\ncluster_name: c1", Config{NodeName: "n1", ClusterName: "c1"}},
		{
			"all, nothing below", "node_name: n1\npod_resources:\nprocesses:\nowners:",
			Config{NodeName: "n1", PodResources: &resources, Processes: &processes, Owners: &owners},
		},
		{
			"all, empty", "node_name: n1\npod_resources: {}\nprocesses: {}\nowners: {}",
			Config{NodeName: "n1", PodResources: &resources, Processes: &processes, Owners: &owners},
		},
		{"one alone", "processes:", Config{Processes: &processes}},
		{"Slurm", "slurm:", Config{Slurm: &SlurmConfig{DevicesPath: "/sys/fs/cgroup/devices"}}},
		{
			"Slurm, a mapping", "slurm: {mapping_dir: /run/slurm-gpu-jobs}",
			Config{Slurm: &SlurmConfig{MappingDir: "/run/slurm-gpu-jobs", DevicesPath: "/sys/fs/cgroup/devices"}},
		},
		{
			"all set", `
node_name: n1
pod_resources: {endpoint: "unix:///k.sock", cdi_dirs: [/cdi], gpu_resources: ["example.com/gpu-*"]}
processes: {proc_path: /host/proc, any_pid_namespace: true, log_path: /host/log}
owners: {auth_type: kubeConfig, context: prod, kinds: [pytorchjobs.kubeflow.org], labels: [team], annotations: [cost],
  reservation_namespaces: [reserved], volcano_memory_factor: 1024}`,
			Config{
				NodeName:     "n1",
				PodResources: &PodResourcesConfig{Endpoint: "unix:///k.sock", CDIDirs: []string{"/cdi"}, GPUResources: []string{"example.com/gpu-*"}},
				Processes:    &ProcessesConfig{ProcPath: "/host/proc", AnyPIDNamespace: true, LogPath: "/host/log"},
				Owners: &OwnersConfig{
					API:   kube.Config{AuthType: kube.AuthKubeConfig, Context: "prod"},
					Kinds: []string{"pytorchjobs.kubeflow.org"}, Labels: []string{"team"}, Annotations: []string{"cost"},
					ReservationNamespaces: []string{"reserved"}, VolcanoMemoryFactor: 1024,
				},
			},
		},
		{
			"containers", "processes:\ncontainers: {docker: , labels: [team]}",
			Config{Processes: &processes, Containers: &runtimes.Config{Docker: &runtimes.DockerConfig{Path: "/var/lib/docker"}, Labels: []string{"team"}}},
		},
		{
			"no kinds", "node_name: n1\nowners: {kinds: []}",
			Config{NodeName: "n1", Owners: &OwnersConfig{
				API: kube.Config{AuthType: kube.AuthServiceAccount}, Kinds: []string{},
				ReservationNamespaces: owners.ReservationNamespaces, VolcanoMemoryFactor: 1,
			}},
		},
		{
			"no reservations", "node_name: n1\nowners: {reservation_namespaces: []}",
			Config{NodeName: "n1", Owners: &OwnersConfig{
				API: owners.API, Kinds: owners.Kinds, ReservationNamespaces: []string{}, VolcanoMemoryFactor: 1,
			}},
		},
		{
			"node labels", "node_name: n1\nnode_labels: {labels: [zone, 'nvidia.com/*']}",
			Config{NodeName: "n1", NodeLabels: &NodeLabelsConfig{API: kube.Config{AuthType: kube.AuthServiceAccount}, Labels: []string{"zone", "nvidia.com/*"}}},
		},
		{
			"node labels by endpoint", "node_name: n1\nnode_labels: {labels: [zone], endpoint: 'https://a:6443', token_file: /t}",
			Config{NodeName: "n1", NodeLabels: &NodeLabelsConfig{API: kube.Config{Endpoint: "https://a:6443", TokenFile: "/t"}, Labels: []string{"zone"}}},
		},
		{
			"endpoint", "node_name: n1\nowners: {endpoint: 'https://a:6443', token_file: /t}",
			Config{NodeName: "n1", Owners: &OwnersConfig{
				API: kube.Config{Endpoint: "https://a:6443", TokenFile: "/t"}, Kinds: owners.Kinds,
				ReservationNamespaces: owners.ReservationNamespaces, VolcanoMemoryFactor: 1,
			}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := load(t, tt.input)
			require.NoError(t, err)
			assert.Equal(t, tt.want, got)
		})
	}
}

func TestWarnings(t *testing.T) {
	owners := DefaultOwners()
	assert.Empty(t, (&Config{}).Warnings())
	assert.Empty(t, (&Config{Owners: &owners}).Warnings())
	owners.API = kube.Config{AuthType: kube.AuthNone}
	assert.Len(t, (&Config{Owners: &owners}).Warnings(), 1)
}

// An error has the full key.
func TestConfigRefused(t *testing.T) {
	for input, want := range map[string]string{
		"owners:":  "attribution: node_name: must be set",
		"owner:":   "invalid keys: owner",
		"node: n1": "invalid keys: node",
		"pod_resources: {endpoint: /var/lib/kubelet.sock}":         "attribution::pod_resources: endpoint: ",
		"pod_resources: {cdi_dirs: [cdi]}":                         "attribution::pod_resources: cdi_dirs: ",
		"pod_resources: {gpu_resources: [ok, '[']}":                `attribution::pod_resources: gpu_resources: "[" is not a pattern`,
		"pod_resources: {gpu_resources: ['']}":                     `attribution::pod_resources: gpu_resources: "" is not a pattern`,
		"slurm: {mapping_dir: jobs}":                               "attribution::slurm: mapping_dir: ",
		"slurm: {devices_path: ''}":                                "attribution::slurm: devices_path: ",
		"containers: {docker: {}}":                                 "attribution: processes: must be set together with containers",
		"processes:\ncontainers:":                                  "attribution::containers: must contain docker, podman or containerd",
		"processes:\ncontainers: {docker: {path: x}}":              "attribution::containers::docker: path: ",
		"processes: {proc_path: proc}":                             "attribution::processes: proc_path: ",
		"processes: {log_path: ''}":                                "attribution::processes: log_path: ",
		"node_name: n1\nowners: {auth_type: tls}":                  `auth_type: "tls" is unknown`,
		"node_name: n1\nowners: {kinds: ['*']}":                    `attribution::owners: kinds::0: "*" is not a kind of objects`,
		"node_name: n1\nowners: {kinds: ['*.kubeflow.org']}":       `attribution::owners: kinds::0: "*.kubeflow.org" is not a kind`,
		"node_name: n1\nowners: {labels: [ok, '*']}":               `attribution::owners: labels::1: "*" is not the full key of a label or an annotation`,
		"node_name: n1\nowners: {annotations: ['example.com/*']}":  `attribution::owners: annotations::0: "example.com/*" is not the full key`,
		"node_name: n1\nowners: {labels: ['']}":                    `attribution::owners: labels::0: "" is not the full key`,
		"node_name: n1\nowners: {annotations: ['']}":               `attribution::owners: annotations::0: "" is not the full key`,
		"node_name: n1\nowners: {reservation_namespaces: [a, B_]}": `attribution::owners: reservation_namespaces::1: "B_" is not the name of a namespace`,
		"node_name: n1\nowners: {volcano_memory_factor: 0}":        "attribution::owners: volcano_memory_factor: 0 is not in [1, 1024]",
		"node_name: n1\nowners: {volcano_memory_factor: 1025}":     "attribution::owners: volcano_memory_factor: 1025 is not in [1, 1024]",
		"node_name: n1\nowners: {context: prod}":                   "attribution::owners: context: ",
		"node_name: n1\nowners: {endpoint: 'https://a:6443'}":      "attribution::owners: token_file: must be set",
		"node_labels: {labels: [zone]}":                            "attribution: node_name: must be set together with node_labels",
		"node_name: n1\nnode_labels:":                              "attribution::node_labels: labels: must name",
		"node_name: n1\nnode_labels: {labels: [a, '*b']}":          `attribution::node_labels: labels::1: "*b" is not the key of a label`,
		"node_name: n1\nnode_labels: {labels: [a], x: 1}":          "invalid keys: x",
		"node_name: n1\nnode_labels: {labels: [a], context: prod}": "attribution::node_labels: context: ",
		"node_name: n1\nowners: {kinds: replicasets.apps, x: 1}":   "invalid keys: x",
	} {
		t.Run(input, func(t *testing.T) {
			_, err := load(t, input)
			require.ErrorContains(t, err, want)
		})
	}
}

// The process table is read with what attribution needs.
func TestReader(t *testing.T) {
	if _, err := os.Stat("/proc/self/cgroup"); err != nil {
		t.Skip("this machine has no /proc: ", err)
	}
	processes := DefaultProcesses()
	processes.AnyPIDNamespace = true
	node := &gpu.Node{Processes: []gpu.Process{{PID: int64(os.Getpid())}}}
	processes.Reader(process.WithCommandLine()).Describe(node)
	require.Empty(t, node.Problems)
	assert.NotEmpty(t, node.Processes[0].Cgroup)
	assert.NotEmpty(t, node.Processes[0].CommandLine)
}
