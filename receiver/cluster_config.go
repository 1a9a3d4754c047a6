// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/internal/kube/cluster"
)

// ClusterConfig is the configuration of kubernetes_cluster.
type ClusterConfig struct {
	API kube.Config `mapstructure:",squash"`
	// ResourceNames are the extended resources that count as GPUs; * matches any characters except a slash.
	ResourceNames []string `mapstructure:"resource_names"`
	// DeviceClasses are the DeviceClasses of dynamic resource allocation that stand for GPUs; * as above. Without any, ResourceClaims are not read.
	DeviceClasses []string `mapstructure:"device_classes"`
	// Owners selects what is read of the owners of pods. Without it only their direct owners are known.
	Owners *ClusterOwners `mapstructure:"owners,omitempty"`
	// Snapshots has an event sent with a pod's spec and status at each change, without what may be secret.
	Snapshots bool `mapstructure:"snapshots"`
	// LeaderElection has one of several replicas read the cluster. Without it each of them does.
	LeaderElection *ClusterLeaderElection `mapstructure:"leader_election,omitempty"`
	// Labels are the keys of the labels of pods that events have.
	Labels []string `mapstructure:"labels"`
}

// ClusterOwners selects the kinds of objects that are read to find what is above a pod's direct owner.
type ClusterOwners struct {
	// Kinds are each resource.group as in replicasets.apps. The metadata of all their objects is listed and watched.
	Kinds []string `mapstructure:"kinds"`
}

func defaultClusterConfig() component.Config {
	return &ClusterConfig{ResourceNames: cluster.DefaultResources()}
}

// Unmarshal reads the configuration. leader_election without a value stands for leader election, as every section does.
func (c *ClusterConfig) Unmarshal(conf *confmap.Conf) error {
	if err := conf.Unmarshal(c); err != nil {
		return err
	}
	if conf.IsSet("leader_election") && c.LeaderElection == nil {
		c.LeaderElection = &ClusterLeaderElection{}
	}
	return nil
}

// ownerKinds returns the kinds of owners that are read.
func (c *ClusterConfig) ownerKinds() []string {
	if c.Owners == nil {
		return nil
	}
	return c.Owners.Kinds
}

// Check returns what is wrong, by key.
func (c *ClusterConfig) Check() error {
	if err := c.API.Check(); err != nil {
		return err
	}
	if err := cluster.CheckResources(c.ResourceNames); err != nil {
		return fmt.Errorf("resource_names: %w", err)
	}
	if len(c.DeviceClasses) > 0 {
		if err := cluster.CheckResources(c.DeviceClasses); err != nil {
			return fmt.Errorf("device_classes: %w", err)
		}
	}
	if err := c.LeaderElection.check(); err != nil {
		return fmt.Errorf("leader_election::%w", err)
	}
	if err := kube.CheckNames(nil, c.Labels, nil); err != nil {
		return err
	}
	if err := kube.CheckNames(c.ownerKinds(), nil, nil); err != nil {
		return fmt.Errorf("owners::%w", err)
	}
	return nil
}

// ClusterLeaderElection has one of several replicas read the cluster: the holder of a Lease.
type ClusterLeaderElection struct {
	// LeaseName is the name of the Lease. Default: gpureceiver-cluster.
	LeaseName string `mapstructure:"lease_name"`
	// LeaseNamespace is the namespace of the Lease.
	LeaseNamespace string `mapstructure:"lease_namespace"`
}

const defaultLease = "gpureceiver-cluster"

// check returns what is wrong, by key. A nil ClusterLeaderElection is valid.
func (e *ClusterLeaderElection) check() error {
	if e == nil {
		return nil
	}
	if problems := utilvalidation.IsDNS1123Subdomain(e.name()); len(problems) > 0 {
		return fmt.Errorf("lease_name: %q is not the name of a Lease: %s", e.LeaseName, problems[0])
	}
	if e.LeaseNamespace == "" {
		return errors.New("lease_namespace: must be set; it is the namespace of the Lease")
	}
	if problems := validation.ValidateNamespaceName(e.LeaseNamespace, false); len(problems) > 0 {
		return fmt.Errorf("lease_namespace: %q is not the name of a namespace: %s", e.LeaseNamespace, problems[0])
	}
	return nil
}

func (e *ClusterLeaderElection) name() string {
	if e.LeaseName == "" {
		return defaultLease
	}
	return e.LeaseName
}

// permissions are the permissions that the election needs.
func (e *ClusterLeaderElection) permissions() []kube.Permission {
	if e == nil {
		return nil
	}
	lease := kube.Permission{Group: "coordination.k8s.io", Resource: "leases", Namespace: e.LeaseNamespace}
	permissions := kube.PermissionsTo(lease, "create")
	lease.Name = e.name()
	return append(permissions, kube.PermissionsTo(lease, "get", "update")...)
}
