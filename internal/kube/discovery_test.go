// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestResolve(t *testing.T) {
	clients := newClients(t, map[string]string{
		"/apis/kubeflow.org": `{"kind":"APIGroup","name":"kubeflow.org",
			"versions":[{"groupVersion":"kubeflow.org/v2beta1","version":"v2beta1"},{"groupVersion":"kubeflow.org/v1","version":"v1"}],
			"preferredVersion":{"groupVersion":"kubeflow.org/v2beta1","version":"v2beta1"}}`,
		"/apis/kubeflow.org/v2beta1": `{"kind":"APIResourceList","groupVersion":"kubeflow.org/v2beta1","resources":[{"name":"mpijobs","namespaced":true,"kind":"MPIJob"}]}`,
		"/apis/kubeflow.org/v1":      `{"kind":"APIResourceList","groupVersion":"kubeflow.org/v1","resources":[{"name":"pytorchjobs","namespaced":true,"kind":"PyTorchJob"}]}`,
		"/api/v1":                    `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"nodes","kind":"Node"}]}`,
		"/apis/broken.io":            `{`,
	})
	d := &discoverer{client: clients.Kubernetes.Discovery()}
	tests := []struct {
		group, version, kind string
		namespaced           bool
		problem              string
	}{
		{"replicasets.apps", "v1", "ReplicaSet", true, ""},
		{"deployments.apps", "v1", "Deployment", true, ""},
		{"statefulsets.apps", "v1", "StatefulSet", true, ""},
		{"daemonsets.apps", "v1", "DaemonSet", true, ""},
		{"jobs.batch", "v1", "Job", true, ""},
		{"cronjobs.batch", "v1", "CronJob", true, ""},
		{"replicationcontrollers", "v1", "ReplicationController", true, ""},
		{"pods", "v1", "Pod", true, ""},
		{"mpijobs.kubeflow.org", "v2beta1", "MPIJob", true, ""},
		{"pytorchjobs.kubeflow.org", "v1", "PyTorchJob", true, ""},
		{"nodes", "v1", "Node", false, ""},
		{"xgboostjobs.kubeflow.org", "", "", false, "does not serve it"},
		{"rayclusters.ray.io", "", "", false, "does not serve it"},
		{"a.broken.io", "", "", false, "parse /apis/broken.io"},
	}
	for _, tt := range tests {
		t.Run(tt.group, func(t *testing.T) {
			mapping, err := d.resolve(t.Context(), schema.ParseGroupResource(tt.group))
			if tt.problem != "" {
				require.ErrorContains(t, err, tt.problem)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, schema.ParseGroupResource(tt.group).WithVersion(tt.version), mapping.Resource)
			assert.Equal(t, schema.GroupVersionKind{Group: mapping.Resource.Group, Version: tt.version, Kind: tt.kind}, mapping.GroupVersionKind)
			assert.Equal(t, tt.namespaced, mapping.Scope.Name() == meta.RESTScopeNameNamespace)
		})
	}
}

func TestNotServed(t *testing.T) {
	clients := newClients(t, map[string]string{
		"/apis/ray.io": `{"kind":"APIGroup","name":"ray.io","versions":[{"groupVersion":"ray.io/v1","version":"v1"}],
			"preferredVersion":{"groupVersion":"ray.io/v1","version":"v1"}}`,
		"/apis/ray.io/v1": `{"kind":"APIResourceList","groupVersion":"ray.io/v1","resources":[{"name":"rayclusters","namespaced":true,"kind":"RayCluster"}]}`,
		"/apis/broken.io": `{`,
	})
	unserved, err := NotServed(t.Context(), clients, []string{"replicasets.apps", "rayclusters.ray.io", "raycluster.ray.io", "jobsets.jobset.x-k8s.io"})
	require.NoError(t, err)
	assert.Equal(t, []string{"raycluster.ray.io", "jobsets.jobset.x-k8s.io"}, unserved)
	unserved, err = NotServed(t.Context(), clients, []string{"raycluster.ray.io", "a.broken.io", "b.missing.io"})
	require.ErrorContains(t, err, "kube: check whether the API server serves a.broken.io: ")
	assert.Equal(t, []string{"raycluster.ray.io"}, unserved)
}
