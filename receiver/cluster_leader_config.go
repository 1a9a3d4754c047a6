// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/otelgpu/gpureceiver/internal/kube"
)

// ClusterLeaderElection has one of several replicas read the cluster: the holder of a Lease.
type ClusterLeaderElection struct {
	// LeaseName is the name of the Lease. Default: gpureceiver-cluster.
	LeaseName string `mapstructure:"lease_name"`
	// LeaseNamespace is the namespace of the Lease.
	LeaseNamespace string `mapstructure:"lease_namespace"`
}

const defaultLease = "gpureceiver-cluster"

// check returns what is wrong, by key. A nil ClusterLeaderElection is right.
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

// rights are what the election needs.
func (e *ClusterLeaderElection) rights() []kube.Right {
	if e == nil {
		return nil
	}
	lease := kube.Right{Group: "coordination.k8s.io", Resource: "leases", Namespace: e.LeaseNamespace}
	rights := kube.RightsTo(lease, "create")
	lease.Name = e.name()
	return append(rights, kube.RightsTo(lease, "get", "update")...)
}
