// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"bytes"
	"flag"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "rewrite what is made from config/ and from the chart")

var (
	root      = filepath.Join("..", "..")
	manifests = filepath.Join(root, "deploy", "kubernetes")
)

// object is one object of a manifest.
type object struct {
	metav1.Object
	typed runtime.Object
	file  string
	text  string
}

// decode reads the objects of a manifest, as strictly as an API server that refuses unknown and repeated fields.
func decode(t *testing.T, file string, manifest []byte) []object {
	t.Helper()
	var result []object
	for document := range bytes.SplitSeq(manifest, []byte("\n---\n")) {
		document = append(bytes.Clone(document), '\n') // which the last line of a text counts on
		var kind metav1.TypeMeta
		require.NoError(t, yaml.Unmarshal(document, &kind), file)
		typed, err := scheme.Scheme.New(schema.FromAPIVersionAndKind(kind.APIVersion, kind.Kind))
		require.NoError(t, err, file)
		require.NoError(t, yaml.UnmarshalStrict(document, typed), "%s: %s", file, document)
		meta, ok := typed.(metav1.Object)
		require.True(t, ok, file)
		require.NotEmpty(t, meta.GetName(), file)
		result = append(result, object{Object: meta, typed: typed, file: file, text: string(document)})
	}
	return result
}

// files are the manifests by their names below deploy/kubernetes.
func files(t *testing.T) map[string][]byte {
	t.Helper()
	got := map[string][]byte{}
	require.NoError(t, filepath.WalkDir(manifests, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		name, err := filepath.Rel(manifests, path)
		if err != nil {
			return err
		}
		got[name], err = os.ReadFile(path)
		return err
	}))
	require.NotEmpty(t, got)
	return got
}

// all returns the objects of all manifests, without the changes of components.
func all(t *testing.T) []object {
	t.Helper()
	var result []object
	named := files(t)
	for _, name := range slices.Sorted(maps.Keys(named)) {
		if filepath.Base(name) != "kustomization.yaml" {
			result = append(result, decode(t, name, named[name])...)
		}
	}
	return result
}

// kustomization contains the fields of kustomize's own kinds that are used here.
type kustomization struct {
	metav1.TypeMeta `json:",inline"`
	Resources       []string `json:"resources,omitempty"`
	Components      []string `json:"components,omitempty"`
	Patches         []struct {
		Target struct{ Kind, Name string } `json:"target"` // regular expressions
		Patch  string                      `json:"patch,omitempty"`
		Path   string                      `json:"path,omitempty"`
	} `json:"patches,omitempty"`
}

func kustomizations(t *testing.T) map[string]kustomization {
	t.Helper()
	got := map[string]kustomization{}
	for name, text := range files(t) {
		if filepath.Base(name) == "kustomization.yaml" {
			var k kustomization
			require.NoError(t, yaml.UnmarshalStrict(text, &k), name)
			got[filepath.Dir(name)] = k
		}
	}
	return got
}

// Every manifest is read strictly, and every one is part of a kustomization.
func TestManifestsAreAccepted(t *testing.T) {
	if *update {
		t.Skip("the manifests are being written")
	}
	t.Parallel()
	assert.NotEmpty(t, all(t))
	used := map[string]bool{}
	for directory, k := range kustomizations(t) {
		for _, name := range slices.Concat(k.Resources, k.Components) {
			path := filepath.Join(manifests, directory, name)
			require.True(t, exists(path), "%s: %s", directory, name)
			used[filepath.Join(directory, name)] = true
		}
		assert.Contains(t, []string{"Kustomization", "Component"}, k.Kind)
		for _, patch := range k.Patches {
			var operations []struct {
				Op    string `json:"op"`
				Path  string `json:"path"`
				Value any    `json:"value"`
			}
			if patch.Path != "" {
				used[filepath.Join(directory, patch.Path)] = true
			} else {
				require.NoError(t, yaml.UnmarshalStrict([]byte(patch.Patch), &operations), directory)
			}
			kind, name := regexp.MustCompile("^("+patch.Target.Kind+")$"), regexp.MustCompile("^("+patch.Target.Name+")$")
			assert.True(t, slices.ContainsFunc(all(t), func(o object) bool {
				return name.MatchString(o.GetName()) && kind.MatchString(o.typed.GetObjectKind().GroupVersionKind().Kind)
			}), "%s: nothing to patch: %v", directory, patch.Target)
		}
	}
	for name := range files(t) {
		if filepath.Base(name) != "kustomization.yaml" {
			assert.True(t, used[name], "%s is in no kustomization", name)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// The ConfigMaps contain the configurations of config/ unchanged: `go test ./test/deploy -update` writes them.
func TestConfigMapsAreTheShippedConfigurations(t *testing.T) {
	t.Parallel()
	for file, shipped := range map[string]struct{ name, namespace, config string }{
		"agent/configmap.yaml":                     {"gpureceiver-agent", "gpureceiver-agent", "agent-kubernetes.yaml"},
		"components/owners/configmap.yaml":         {"gpureceiver-agent-owners", "gpureceiver-agent", "overlays/owners.yaml"},
		"components/owner-kinds/configmap.yaml":    {"gpureceiver-agent-owner-kinds", "gpureceiver-agent", "overlays/owner-kinds.yaml"},
		"components/node-labels/configmap.yaml":    {"gpureceiver-agent-node-labels", "gpureceiver-agent", "overlays/node-labels.yaml"},
		"components/kernel-log/configmap.yaml":     {"gpureceiver-agent-kernel-log", "gpureceiver-agent", "overlays/kernel-log.yaml"},
		"components/node-condition/configmap.yaml": {"gpureceiver-agent-node-condition", "gpureceiver-agent", "overlays/node-condition.yaml"},
		"components/kubernetes-events/configmap.yaml": {
			"gpureceiver-agent-kubernetes-events", "gpureceiver-agent", "overlays/kubernetes-events.yaml",
		},
		"components/k8s-attributes/configmap.yaml": {"gpureceiver-agent-k8s-attributes", "gpureceiver-agent", "k8s-attributes.yaml"},
		"components/telemetry-otlp/configmap.yaml": {"any", "", "overlays/telemetry-otlp.yaml"}, // a patch
		"components/cluster-events/configmap.yaml": {"gpureceiver-cluster-events", "gpureceiver-cluster", "overlays/cluster-events.yaml"},
		"components/cluster-claims/configmap.yaml": {"gpureceiver-cluster-claims", "gpureceiver-cluster", "overlays/cluster-claims.yaml"},
		"components/cluster-owner-kinds/configmap.yaml": {
			"gpureceiver-cluster-owner-kinds", "gpureceiver-cluster", "overlays/cluster-owner-kinds.yaml",
		},
		"components/exec-owner-kinds/configmap.yaml": {"gpureceiver-exec-owner-kinds", "gpureceiver-exec", "overlays/exec-owner-kinds.yaml"},
		"components/cluster-replicas/configmap.yaml": {"gpureceiver-cluster-replicas", "gpureceiver-cluster", "overlays/cluster-replicas.yaml"},
		"cluster/configmap.yaml":                     {"gpureceiver-cluster", "gpureceiver-cluster", "cluster.yaml"},
		"exec/configmap.yaml":                        {"gpureceiver-exec", "gpureceiver-exec", "exec.yaml"},
	} {
		config, err := os.ReadFile(filepath.Join(root, "config", shipped.config))
		require.NoError(t, err)
		key := filepath.Base(shipped.config)
		if *update {
			var b strings.Builder
			b.WriteString(written + "# config/" + shipped.config + " as it is.\n" +
				"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + shipped.name + "\n")
			if shipped.namespace != "" {
				b.WriteString("  namespace: " + shipped.namespace + "\n")
			}
			b.WriteString("data:\n  " + key + ": |\n")
			for line := range strings.Lines(string(config)) {
				b.WriteString("    " + line)
			}
			require.NoError(t, os.WriteFile(filepath.Join(manifests, file), []byte(b.String()), 0o644))
		}
		text, err := os.ReadFile(filepath.Join(manifests, file))
		require.NoError(t, err)
		objects := decode(t, file, text)
		require.Len(t, objects, 1)
		configMap, ok := objects[0].typed.(*corev1.ConfigMap)
		require.True(t, ok)
		assert.Equal(t, shipped.name, configMap.Name)
		assert.Equal(t, map[string]string{key: string(config)}, configMap.Data, "%s differs: run `go test ./test/deploy -update`", file)
	}
	count := 0
	for _, o := range all(t) {
		if _, ok := o.typed.(*corev1.ConfigMap); ok {
			count++
		}
	}
	assert.Equal(t, 16, count, "a ConfigMap that is not compared above")
}

// Readiness says that a cluster cannot be read. Liveness does not: a restart does not bring back an API server. An agent is restarted for a
// driver that was replaced.
func TestProbes(t *testing.T) {
	t.Parallel()
	probed := 0
	for _, o := range all(t) {
		pod := o.pod()
		if pod == nil {
			continue
		}
		for i := range pod.Containers {
			probed++
			live, ready := pod.Containers[i].LivenessProbe, pod.Containers[i].ReadinessProbe
			require.NotNil(t, live, o.file)
			require.NotNil(t, ready, o.file)
			require.NotNil(t, ready.HTTPGet, o.file)
			assert.Equal(t, "/status", ready.HTTPGet.Path, o.file)
			assert.Equal(t, filepath.Dir(o.file) == "agent", live.HTTPGet != nil, o.file)
		}
	}
	assert.Equal(t, 3, probed)
	for _, name := range []string{"agent-kubernetes.yaml", "exec.yaml", "cluster.yaml", "k8s-attributes.yaml"} {
		text, err := os.ReadFile(filepath.Join(root, "config", name))
		require.NoError(t, err)
		var config struct {
			Extensions struct {
				Health struct {
					Component struct {
						Recoverable bool `json:"include_recoverable_errors"`
					} `json:"component_health"`
				} `json:"health_check"`
			} `json:"extensions"`
		}
		require.NoError(t, yaml.Unmarshal(text, &config))
		assert.True(t, config.Extensions.Health.Component.Recoverable, name)
	}
}

// parts returns the objects of a kustomization without the changes of its patches.
func parts(t *testing.T, directory string) []object {
	t.Helper()
	k, ok := kustomizations(t)[directory]
	require.True(t, ok, directory)
	var result []object
	for _, name := range slices.Concat(k.Resources, k.Components) {
		path := filepath.Join(directory, name)
		if filepath.Ext(name) != ".yaml" {
			result = append(result, parts(t, path)...)
			continue
		}
		text, err := os.ReadFile(filepath.Join(manifests, path))
		require.NoError(t, err)
		result = append(result, decode(t, path, text)...)
	}
	return result
}

// Each kustomization creates the namespaces that its objects are in, and no others: it can be applied to any cluster, and deleted without a
// loss. The exception is the permission on the driver pods, which belong to the GPU operator.
func TestNamespacesAreOurOwn(t *testing.T) {
	t.Parallel()
	for directory, k := range kustomizations(t) {
		if k.Kind != "Kustomization" {
			continue
		}
		makes := map[string]bool{}
		uses := map[string]bool{}
		for _, o := range parts(t, directory) {
			if _, ok := o.typed.(*corev1.Namespace); ok {
				makes[o.GetName()] = true
			} else if o.GetNamespace() != "" {
				uses[o.GetNamespace()] = true
			}
		}
		if directory == "exec-driver-pods" {
			assert.Equal(t, map[string]bool{"gpu-operator": true}, uses)
			assert.Empty(t, makes, "kubectl delete -k would delete the driver pods")
			continue
		}
		assert.Equal(t, makes, uses, directory)
		for name := range makes {
			assert.True(t, strings.HasPrefix(name, "gpureceiver-"), "%s: %s", directory, name)
		}
	}
}
