// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The permissions equal the permissions in deploy/kubernetes/exec, exec-driver-pods and components/exec-shards, in the namespaces of the
// targets.
func TestPermissions(t *testing.T) {
	config := DefaultConfig()
	config.Clusters = []ClusterConfig{{Name: "a"}, {Name: "b", Targets: []TargetConfig{{Namespace: "amd", LabelSelector: "a=b", Tool: ToolAMDSMI, Container: "c"}}}}
	config.LeaderElection = &LeaderElectionConfig{LeaseNamespace: "collectors"}
	texts := func(cluster int) []string {
		var all []string
		for _, permission := range config.Permissions(cluster) {
			assert.False(t, permission.Optional)
			all = append(all, permission.String())
		}
		return all
	}
	inNamespace := func(namespace string) []string {
		return []string{
			"list nodes", "watch nodes", "list pods in namespace " + namespace, "watch pods in namespace " + namespace,
			"get pods/exec in namespace " + namespace, "create pods/exec in namespace " + namespace,
		}
	}
	leases := []string{
		"list leases.coordination.k8s.io in namespace collectors", "create leases.coordination.k8s.io in namespace collectors",
		"update leases.coordination.k8s.io in namespace collectors", "delete leases.coordination.k8s.io in namespace collectors",
	}
	names := []string{
		"list pods", "watch pods", "list replicasets.apps", "watch replicasets.apps", "list jobs.batch", "watch jobs.batch",
	}
	assert.ElementsMatch(t, append(append(inNamespace("gpu-operator"), names...), leases...), texts(0))
	config.AttributePods = false
	assert.ElementsMatch(t, append(inNamespace("amd"), leases...), texts(1))
	config.LeaderElection = nil
	assert.ElementsMatch(t, inNamespace("amd"), texts(1))
}
