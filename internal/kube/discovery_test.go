// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestResolve(t *testing.T) {
	clients := newClients(t, map[string]string{
		"/apis/kubeflow.org": `{"kind":"APIGroup","name":"kubeflow.org",
			"versions":[{"groupVersion":"kubeflow.org/v2beta1","version":"v2beta1"},{"groupVersion":"kubeflow.org/v1","version":"v1"}],
			"preferredVersion":{"groupVersion":"kubeflow.org/v2beta1","version":"v2beta1"}}`,
		"/apis/kubeflow.org/v2beta1": `{"kind":"APIResourceList","groupVersion":"kubeflow.org/v2beta1","resources":[{"name":"mpijobs","kind":"MPIJob"}]}`,
		"/apis/kubeflow.org/v1":      `{"kind":"APIResourceList","groupVersion":"kubeflow.org/v1","resources":[{"name":"pytorchjobs","kind":"PyTorchJob"}]}`,
		"/api/v1":                    `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"nodes","kind":"Node"}]}`,
		"/apis/broken.io":            `{`,
	})
	d := &discoverer{client: clients.Kubernetes.Discovery()}
	tests := []struct {
		in, version, kind, problem string
	}{
		{"replicasets.apps", "v1", "ReplicaSet", ""},
		{"deployments.apps", "v1", "Deployment", ""},
		{"statefulsets.apps", "v1", "StatefulSet", ""},
		{"daemonsets.apps", "v1", "DaemonSet", ""},
		{"jobs.batch", "v1", "Job", ""},
		{"cronjobs.batch", "v1", "CronJob", ""},
		{"replicationcontrollers", "v1", "ReplicationController", ""},
		{"mpijobs.kubeflow.org", "v2beta1", "MPIJob", ""},
		{"pytorchjobs.kubeflow.org", "v1", "PyTorchJob", ""},
		{"nodes", "v1", "Node", ""},
		{"xgboostjobs.kubeflow.org", "", "", "does not serve xgboostjobs.kubeflow.org"},
		{"rayclusters.ray.io", "", "", "could not find"},
		{"a.broken.io", "", "", "read /apis/broken.io"},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			gvr, gvk, err := d.resolve(t.Context(), schema.ParseGroupResource(tt.in))
			if tt.problem != "" {
				require.ErrorContains(t, err, tt.problem)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, schema.ParseGroupResource(tt.in).WithVersion(tt.version), gvr)
			assert.Equal(t, tt.kind, gvk.Kind)
		})
	}
}
