// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi"
)

// The values of TargetConfig.Tool.
const (
	ToolNvidiaSMI = "nvidia_smi"
	ToolROCmSMI   = "rocm_smi"
	ToolAMDSMI    = "amd_smi"
)

// What a target is where nothing else is said: the driver pods of the NVIDIA GPU operator. Its classic DaemonSet bears the
// first label, those that an NVIDIADriver resource makes the second, and some pods bear both.
const (
	defaultNamespace = "gpu-operator"
	classicDriver    = "app=nvidia-driver-daemonset"
	resourceDriver   = "app.kubernetes.io/component=nvidia-driver"
	driverContainer  = "nvidia-driver-ctr"
)

const defaultMaxConcurrent = 16

// Config is the configuration of the kubernetes_exec scraper.
type Config struct {
	// Clusters are the clusters whose nodes are read.
	Clusters []ClusterConfig `mapstructure:"clusters"`
	// Targets are the pods in which a tool is run, the same in every cluster. Default: the driver pods of the NVIDIA GPU
	// operator.
	Targets []TargetConfig `mapstructure:"targets"`
	// NodeSelector is a label selector; only nodes that it selects are read. It leaves out the nodes that run an agent.
	NodeSelector string `mapstructure:"node_selector"`
	// MaxConcurrent is how many tools may run at a time, in each cluster.
	MaxConcurrent int `mapstructure:"max_concurrent"`
	// Shards is over how many replicas the nodes are spread. Only 1 is possible.
	Shards int `mapstructure:"shards"`
	// AttributePods has processes joined to pods, by the process table of the driver pod and the cluster's API.
	AttributePods bool `mapstructure:"attribute_pods"`
	// NodeLabels are the labels of a node that become resource attributes, as k8s.node.label.<key>. A key may end with *.
	NodeLabels []string `mapstructure:"node_labels"`
}

// ClusterConfig is one cluster and how its API is reached.
type ClusterConfig struct {
	// Name is k8s.cluster.name of everything that is read.
	Name string `mapstructure:"name"`

	API kube.Config `mapstructure:",squash"`
}

// TargetConfig is a set of pods, and what is run in them.
type TargetConfig struct {
	// Namespace of the pods. Default: gpu-operator.
	Namespace string `mapstructure:"namespace"`
	// LabelSelector selects the pods.
	LabelSelector string `mapstructure:"label_selector"`
	// Container is the pods' container that carries the tool. Default, with nvidia_smi: nvidia-driver-ctr.
	Container string `mapstructure:"container"`
	// Tool is nvidia_smi (default), rocm_smi or amd_smi.
	Tool string `mapstructure:"tool"`
	// Query is, with nvidia_smi, fast (default) or full. A node with MIG enabled is always read in full.
	Query string `mapstructure:"query"`
}

// DefaultConfig returns the configuration of a scraper of which nothing was said. It names no cluster yet.
func DefaultConfig() Config {
	return Config{MaxConcurrent: defaultMaxConcurrent, Shards: 1, AttributePods: true}
}

// targets returns the targets with their defaults filled in.
func (c *Config) targets() []TargetConfig {
	configured := c.Targets
	if len(configured) == 0 {
		configured = []TargetConfig{{LabelSelector: classicDriver}, {LabelSelector: resourceDriver}}
	}
	targets := make([]TargetConfig, len(configured))
	for i := range configured {
		targets[i] = configured[i].withDefaults()
	}
	return targets
}

func (t TargetConfig) withDefaults() TargetConfig {
	if t.Namespace == "" {
		t.Namespace = defaultNamespace
	}
	if t.Tool == "" {
		t.Tool = ToolNvidiaSMI
	}
	if t.Tool == ToolNvidiaSMI {
		if t.Container == "" {
			t.Container = driverContainer
		}
		if t.Query == "" {
			t.Query = nvidiasmi.QueryFast
		}
	}
	return t
}

// tools are the known tools: what they are called in a configuration, as a command, and whose GPUs they read.
var tools = map[string]struct {
	command command.Tool
	vendor  gpu.Vendor
}{
	ToolNvidiaSMI: {command.NvidiaSMI, gpu.NVIDIA},
	ToolROCmSMI:   {command.ROCmSMI, gpu.AMD},
	ToolAMDSMI:    {command.AMDSMI, gpu.AMD},
}

// Warnings tells what is allowed, but ought to be known; for the log, once, at start.
func (c *Config) Warnings() []string {
	var warnings []string
	for i := range c.Clusters {
		for _, warning := range c.Clusters[i].API.Warnings() {
			warnings = append(warnings, "cluster "+c.Clusters[i].Name+": "+warning)
		}
	}
	return warnings
}
