// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"go.opentelemetry.io/collector/confmap"

	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi"
)

// The default target: the driver pods of the NVIDIA GPU operator. Its classic DaemonSet has the first label, DaemonSets of an
// NVIDIADriver resource have the second, and some pods have both.
const (
	defaultNamespace = "gpu-operator"
	classicDriver    = "app=nvidia-driver-daemonset"
	resourceDriver   = "app.kubernetes.io/component=nvidia-driver"
	driverContainer  = "nvidia-driver-ctr"
)

const (
	defaultMaxConcurrent = 16
	leaderElectionKey    = "leader_election"
	defaultLeaseName     = "gpureceiver"
)

// Config is the configuration of the kubernetes_exec scraper.
type Config struct {
	// Clusters are the clusters whose nodes are read.
	Clusters []ClusterConfig `mapstructure:"clusters"`
	// Targets are the pods in which a tool is run, in every cluster without targets of its own. Default: the driver pods of the NVIDIA GPU
	// operator.
	Targets []TargetConfig `mapstructure:"targets"`
	// NodeSelector is a label selector; only nodes that it selects are read. Use it to leave out the nodes that run an agent.
	NodeSelector string `mapstructure:"node_selector"`
	// MaxConcurrent is the number of tools that may run at a time in each cluster.
	MaxConcurrent int `mapstructure:"max_concurrent"`
	// Shards is the number of parts into which the nodes are divided, for replicas to share. More than 1 needs leader election.
	Shards int `mapstructure:"shards"`
	// LeaderElection lets only one replica read each shard. With one shard, one replica is active and the others wait. Nil: no
	// leader election, unless there are more shards.
	LeaderElection *LeaderElectionConfig `mapstructure:"leader_election,omitempty"`
	// AttributePods joins processes to pods, by the process table of the driver pod and the cluster's API.
	AttributePods bool `mapstructure:"attribute_pods"`
	// Owners configures what is read and sent of the pods that processes are joined to.
	Owners OwnersConfig `mapstructure:"owners"`
	// NodeLabels are the labels of a node that become resource attributes, as k8s.node.label.<key>. A key may end with *.
	NodeLabels []string `mapstructure:"node_labels"`
}

// ClusterConfig is one cluster and the way to its API.
type ClusterConfig struct {
	// Name is k8s.cluster.name of everything that is read.
	Name string `mapstructure:"name"`

	API kube.Config `mapstructure:",squash"`

	// Targets are the cluster's own pods in which a tool is run. They replace the targets of Config.
	Targets []TargetConfig `mapstructure:"targets"`
}

// OwnersConfig configures what is sent of pods, as owners does for the attribution of local scrapers.
type OwnersConfig struct {
	// Kinds are the kinds of objects that are read to find the owners above a pod's immediate one.
	Kinds []string `mapstructure:"kinds"`
	// Labels and Annotations are the keys of the pod's labels and annotations that become resource attributes.
	Labels      []string `mapstructure:"labels"`
	Annotations []string `mapstructure:"annotations"`
}

// LeaderElectionConfig names the Leases. The API of each cluster has those for its own nodes.
type LeaderElectionConfig struct {
	// LeaseName is the beginning of the names of the Leases. Collectors that share the nodes of a cluster have the same one;
	// other collectors that read the same cluster need another one. Default: gpureceiver.
	LeaseName string `mapstructure:"lease_name"`
	// LeaseNamespace is the namespace of the Leases in every cluster. If the service account of the collector's pod reads all clusters, the
	// default is the namespace of that pod.
	LeaseNamespace string `mapstructure:"lease_namespace"`
}

// TargetConfig is a set of pods and the tool that is run in them.
type TargetConfig struct {
	// Namespace of the pods. Default: gpu-operator.
	Namespace string `mapstructure:"namespace"`
	// LabelSelector selects the pods.
	LabelSelector string `mapstructure:"label_selector"`
	// Container is the pods' container that has the tool. Default, with nvidia_smi: nvidia-driver-ctr.
	Container string `mapstructure:"container"`
	// Tool is nvidia_smi (default), rocm_smi or amd_smi.
	Tool string `mapstructure:"tool"`
	// Query is, with nvidia_smi, fast (default) or full. A node with MIG enabled is always read in full.
	Query string `mapstructure:"query"`
}

// DefaultConfig returns the default configuration. It is not valid before clusters are added.
func DefaultConfig() Config {
	return Config{MaxConcurrent: defaultMaxConcurrent, Shards: 1, AttributePods: true, Owners: OwnersConfig{Kinds: kube.DefaultKinds()}}
}

// Unmarshal reads the configuration. leader_election without a value enables leader election with its defaults.
func (c *Config) Unmarshal(conf *confmap.Conf) error {
	if conf.IsSet(leaderElectionKey) {
		c.LeaderElection = &LeaderElectionConfig{}
	}
	initial := c.LeaderElection
	if err := conf.Unmarshal(c); err != nil {
		return err
	}
	if c.LeaderElection == nil {
		c.LeaderElection = initial // confmap sets nil for a key without a value
	}
	return nil
}

// leaderElection returns the settings of leader election with their defaults; nil if it is off.
func (c *Config) leaderElection() *LeaderElectionConfig {
	var e LeaderElectionConfig
	switch {
	case c.LeaderElection != nil:
		e = *c.LeaderElection
	case c.Shards <= 1:
		return nil
	}
	if e.LeaseName == "" {
		e.LeaseName = defaultLeaseName
	}
	return &e
}

// targets returns the targets of all clusters without targets of their own, with their defaults filled in.
func (c *Config) targets() []TargetConfig { return withDefaults(c.Targets) }

// targetsOf returns the targets of a cluster, with their defaults filled in.
func (c *Config) targetsOf(cluster int) []TargetConfig {
	if own := c.Clusters[cluster].Targets; len(own) > 0 {
		return withDefaults(own)
	}
	return c.targets()
}

func withDefaults(configured []TargetConfig) []TargetConfig {
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

// Warnings returns what is allowed but risky. It is logged once at the start.
func (c *Config) Warnings() []string {
	var warnings []string
	for i := range c.Clusters {
		for _, warning := range c.Clusters[i].API.Warnings() {
			warnings = append(warnings, "cluster "+c.Clusters[i].Name+": "+warning)
		}
	}
	return warnings
}
