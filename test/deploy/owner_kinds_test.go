// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
	"sigs.k8s.io/yaml"

	"github.com/otelgpu/gpureceiver/internal/kube"
)

// usualOwners are the owners that the shipped overlays have read, as a reference names each.
var usualOwners = []struct{ kind, version, Kind string }{
	{"replicasets.apps", "apps/v1", "ReplicaSet"},
	{"jobs.batch", "batch/v1", "Job"},
	{"deployments.apps", "apps/v1", "Deployment"},
	{"statefulsets.apps", "apps/v1", "StatefulSet"},
	{"pods", "v1", "Pod"},
	{"leaderworkersets.leaderworkerset.x-k8s.io", "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"},
	{"jobsets.jobset.x-k8s.io", "jobset.x-k8s.io/v1alpha2", "JobSet"},
	{"rayclusters.ray.io", "ray.io/v1", "RayCluster"},
	{"revisions.serving.knative.dev", "serving.knative.dev/v1", "Revision"},
	{"configurations.serving.knative.dev", "serving.knative.dev/v1", "Configuration"},
	{"services.serving.knative.dev", "serving.knative.dev/v1", "Service"},
	{"workflows.argoproj.io", "argoproj.io/v1alpha1", "Workflow"},
	{"taskruns.tekton.dev", "tekton.dev/v1", "TaskRun"},
	{"sparkapplications.sparkoperator.k8s.io", "sparkoperator.k8s.io/v1beta2", "SparkApplication"},
	{"jobs.batch.volcano.sh", "batch.volcano.sh/v1alpha1", "Job"},
	{"broadcastjobs.apps.kruise.io", "apps.kruise.io/v1alpha1", "BroadcastJob"},
}

// kindsOf returns the kinds of owners that an overlay of config/overlays configures below a key of the receiver.
func kindsOf(t *testing.T, overlay string, key ...string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "config", "overlays", overlay))
	require.NoError(t, err)
	var config map[string]any
	require.NoError(t, yaml.Unmarshal(text, &config))
	path := append([]string{"receivers", "gpu"}, key...)
	owners, err := confmap.NewFromStringMap(config).Sub(strings.Join(path, "::"))
	require.NoError(t, err)
	var result struct {
		Kinds []string `mapstructure:"kinds"`
	}
	require.NoError(t, owners.Unmarshal(&result))
	require.NoError(t, kube.CheckNames(result.Kinds, nil, nil))
	return result.Kinds
}

// The overlays of all modes have the same kinds, and those that are the default.
func TestOwnerKindsAreTheSame(t *testing.T) {
	t.Parallel()
	var want []string
	for _, owner := range usualOwners {
		want = append(want, owner.kind)
	}
	assert.Subset(t, want, kube.DefaultKinds())
	assert.Equal(t, want, kindsOf(t, "owner-kinds.yaml", "attribution", "owners"))
	assert.Equal(t, want, kindsOf(t, "exec-owner-kinds.yaml", "scrapers", "kubernetes_exec", "owners"))
	assert.Equal(t, want, kindsOf(t, "cluster-owner-kinds.yaml", "scrapers", "kubernetes_cluster", "owners"))
}
