// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"

	"go.opentelemetry.io/collector/confmap"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/otelgpu/gpureceiver/internal/attribution/cdi"
	"github.com/otelgpu/gpureceiver/internal/attribution/fractions"
	"github.com/otelgpu/gpureceiver/internal/attribution/podlogs"
	"github.com/otelgpu/gpureceiver/internal/attribution/podresources"
	"github.com/otelgpu/gpureceiver/internal/attribution/runtimes"
	"github.com/otelgpu/gpureceiver/internal/attribution/slurm"
	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/internal/process"
)

// Config selects how devices and processes are attributed. A missing section is off.
type Config struct {
	// NodeName is the name that this node has in Kubernetes.
	NodeName string `mapstructure:"node_name"`
	// ClusterName is k8s.cluster.name.
	ClusterName string `mapstructure:"cluster_name"`

	PodResources *PodResourcesConfig `mapstructure:"pod_resources,omitempty"`
	Processes    *ProcessesConfig    `mapstructure:"processes,omitempty"`
	Slurm        *SlurmConfig        `mapstructure:"slurm,omitempty"`
	Owners       *OwnersConfig       `mapstructure:"owners,omitempty"`
	NodeLabels   *NodeLabelsConfig   `mapstructure:"node_labels,omitempty"`
	// Containers selects the runtimes that are queried for names, images and labels of containers outside of pods.
	Containers *runtimes.Config `mapstructure:"containers,omitempty"`
}

// PodResourcesConfig configures the queries of the kubelet for its allocations.
type PodResourcesConfig struct {
	// Endpoint is the kubelet's socket.
	Endpoint string `mapstructure:"endpoint"`
	// CDIDirs are the directories of CDI specification files, which identify the devices of dynamic resource allocation.
	CDIDirs []string `mapstructure:"cdi_dirs"`
	// GPUResources are patterns (path.Match) of the names of resources and DRA drivers that represent GPUs, in addition to the known ones.
	// A device of theirs that cannot be identified may be any GPU.
	GPUResources []string `mapstructure:"gpu_resources"`
}

// SlurmConfig configures how the GPUs of Slurm's jobs are found.
type SlurmConfig struct {
	// MappingDir is the directory in which Slurm's prolog and epilog keep a file for each GPU that jobs hold. If it is empty, control
	// groups of version 1 are read instead.
	MappingDir string `mapstructure:"mapping_dir"`
	// DevicesPath is the mount point of the hierarchy of the devices controller of version 1.
	DevicesPath string `mapstructure:"devices_path"`
}

// ProcessesConfig configures how the container of a process is found.
type ProcessesConfig struct {
	// ProcPath is the machine's process table.
	ProcPath string `mapstructure:"proc_path"`
	// AnyPIDNamespace accepts a process table that is not the machine's. It is for clusters nested in a PID namespace in which the
	// driver is simulated, too.
	AnyPIDNamespace bool `mapstructure:"any_pid_namespace"`
	// LogPath is the directory of the kubelet's log files. Their names identify the containers if the API may not be read.
	LogPath string `mapstructure:"log_path"`
}

// OwnersConfig configures how pods are looked up in the Kubernetes API.
type OwnersConfig struct {
	API kube.Config `mapstructure:",squash"`
	// Kinds are the kinds of objects that are read to find the owners above a pod's immediate owner.
	Kinds []string `mapstructure:"kinds"`
	// Labels and Annotations are the keys of the labels and annotations that become resource attributes of the pod.
	Labels      []string `mapstructure:"labels"`
	Annotations []string `mapstructure:"annotations"`
	// ReservationNamespaces are the namespaces of the pods with which KAI and Run:ai hold GPUs for others.
	ReservationNamespaces []string `mapstructure:"reservation_namespaces"`
	// VolcanoMemoryFactor is gpu-memory-factor of Volcano's vGPU device plugin: how many MiB its unit of memory has.
	VolcanoMemoryFactor int `mapstructure:"volcano_memory_factor"`
}

// NodeLabelsConfig configures how the labels of this node are looked up in the Kubernetes API.
type NodeLabelsConfig struct {
	API kube.Config `mapstructure:",squash"`
	// Labels are the keys of the labels that become resource attributes, as k8s.node.label.<key>. A key may end with *.
	Labels []string `mapstructure:"labels"`
}

// DefaultPodResources is the configuration of pod_resources without a value.
func DefaultPodResources() PodResourcesConfig {
	return PodResourcesConfig{Endpoint: podresources.DefaultEndpoint, CDIDirs: cdi.DefaultDirs()}
}

// DefaultProcesses is the configuration of processes without a value.
func DefaultProcesses() ProcessesConfig {
	return ProcessesConfig{ProcPath: "/proc", LogPath: podlogs.DefaultPath}
}

// DefaultSlurm is the configuration of slurm without a value.
func DefaultSlurm() SlurmConfig { return SlurmConfig{DevicesPath: slurm.DefaultDevicesPath} }

// DefaultOwners is the configuration of owners without a value.
func DefaultOwners() OwnersConfig {
	return OwnersConfig{
		API:   kube.Config{AuthType: kube.AuthServiceAccount},
		Kinds: kube.DefaultKinds(),

		ReservationNamespaces: fractions.DefaultReservationNamespaces(), VolcanoMemoryFactor: 1,
	}
}

var (
	_ confmap.Unmarshaler = (*Config)(nil)
	_ confmap.Validator   = (*Config)(nil)
)

// Unmarshal implements confmap.Unmarshaler. A key without a value selects its part with the defaults.
func (c *Config) Unmarshal(conf *confmap.Conf) error {
	for key, begin := range map[string]func(){
		"pod_resources": func() { d := DefaultPodResources(); c.PodResources = &d },
		"processes":     func() { d := DefaultProcesses(); c.Processes = &d },
		"slurm":         func() { d := DefaultSlurm(); c.Slurm = &d },
		"owners":        func() { d := c.defaultOwners(conf); c.Owners = &d },
		"node_labels":   func() { d := defaultNodeLabels(conf); c.NodeLabels = &d },
		"containers":    func() { c.Containers = &runtimes.Config{} },
	} {
		if conf.IsSet(key) {
			begin()
		}
	}
	return conf.Unmarshal(c)
}

// defaultOwners leaves auth_type empty if an endpoint replaces it.
func (c *Config) defaultOwners(conf *confmap.Conf) OwnersConfig {
	d := DefaultOwners()
	if conf.IsSet("owners::endpoint") {
		d.API.AuthType = ""
	}
	return d
}

func defaultNodeLabels(conf *confmap.Conf) NodeLabelsConfig {
	d := NodeLabelsConfig{API: kube.Config{AuthType: kube.AuthServiceAccount}}
	if conf.IsSet("node_labels::endpoint") {
		d.API.AuthType = ""
	}
	return d
}

// Warnings returns what is allowed but risky, for the log at start.
func (c *Config) Warnings() []string {
	var found []string
	if c.Owners != nil {
		found = append(found, under("owners", c.Owners.API.Warnings())...)
	}
	if c.NodeLabels != nil {
		found = append(found, under("node_labels", c.NodeLabels.API.Warnings())...)
	}
	return found
}

func under(key string, warnings []string) []string {
	keyed := make([]string, 0, len(warnings))
	for _, warning := range warnings {
		keyed = append(keyed, "attribution::"+key+": "+warning)
	}
	return keyed
}

// Validate checks the parts together. Each part has a Validate of its own.
func (c *Config) Validate() error {
	const remedy = "in a pod, set it to ${env:K8S_NODE_NAME}, and that variable to the field spec.nodeName"
	if c.Owners != nil && c.NodeName == "" {
		return errors.New("node_name: must be set together with owners, because only the pods of this node are read; " + remedy)
	}
	if c.NodeLabels != nil && c.NodeName == "" {
		return errors.New("node_name: must be set together with node_labels, because it names the node whose labels are read; " + remedy)
	}
	if c.Containers != nil && c.Processes == nil {
		return errors.New("processes: must be set together with containers, because the receiver finds a container by the ID in the control group of its processes")
	}
	return nil
}

// Validate implements confmap.Validator.
func (c *PodResourcesConfig) Validate() error {
	var errs []error
	if _, err := podresources.SocketPath(c.Endpoint); err != nil {
		errs = append(errs, fmt.Errorf("endpoint: %w", err))
	}
	for _, dir := range c.CDIDirs {
		errs = append(errs, absolute("cdi_dirs", dir))
	}
	for _, pattern := range c.GPUResources {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			errs = append(errs, fmt.Errorf("gpu_resources: %q is not a pattern such as example.com/vgpu-*", pattern))
		}
	}
	return errors.Join(errs...)
}

// Validate implements confmap.Validator.
func (c *ProcessesConfig) Validate() error {
	return errors.Join(absolute("proc_path", c.ProcPath), absolute("log_path", c.LogPath))
}

// Validate implements confmap.Validator.
func (c *SlurmConfig) Validate() error {
	if c.MappingDir == "" {
		return absolute("devices_path", c.DevicesPath)
	}
	return absolute("mapping_dir", c.MappingDir)
}

// Reader returns a reader of the process table that reads what attribution needs.
func (c *ProcessesConfig) Reader(options ...process.Option) *process.Reader {
	options = append(options, process.WithCgroup())
	if c.AnyPIDNamespace {
		options = append(options, process.WithAnyNamespace())
	}
	return process.New(c.ProcPath, options...)
}

// Validate implements confmap.Validator.
func (c *OwnersConfig) Validate() error {
	return errors.Join(c.API.Check(), kube.CheckNames(c.Kinds, c.Labels, c.Annotations), c.checkParts())
}

func (c *OwnersConfig) checkParts() error {
	var errs []error
	for i, namespace := range c.ReservationNamespaces {
		if problems := validation.IsDNS1123Label(namespace); len(problems) > 0 {
			errs = append(errs, fmt.Errorf("reservation_namespaces::%d: %q is not the name of a namespace: %s", i, namespace, problems[0]))
		}
	}
	if c.VolcanoMemoryFactor < 1 || c.VolcanoMemoryFactor > maxMemoryFactor {
		errs = append(errs, fmt.Errorf("volcano_memory_factor: %d is not in [1, %d]; it is gpu-memory-factor of Volcano's vGPU device plugin",
			c.VolcanoMemoryFactor, maxMemoryFactor))
	}
	return errors.Join(errs...)
}

// Validate implements confmap.Validator.
func (c *NodeLabelsConfig) Validate() error {
	errs := []error{c.API.Check()}
	if len(c.Labels) == 0 {
		errs = append(errs, errors.New("labels: must name the labels to send, such as topology.kubernetes.io/zone"))
	}
	if err := kube.CheckNodeLabels(c.Labels); err != nil {
		errs = append(errs, fmt.Errorf("labels::%w", err))
	}
	return errors.Join(errs...)
}

func absolute(key, path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("%s: %q is not an absolute path", key, path)
	}
	return nil
}
