// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// build runs kustomize, which is part of kubectl, on a directory.
func build(t *testing.T, directory string) []object {
	t.Helper()
	command := []string{"kubectl", "kustomize"}
	if _, err := exec.LookPath("kubectl"); err != nil {
		command = []string{"kustomize", "build"}
		if _, err := exec.LookPath("kustomize"); err != nil {
			t.Skip("neither kubectl nor kustomize is in PATH: what components change was not checked")
		}
	}
	out, err := exec.CommandContext(t.Context(), command[0], command[1], directory).Output()
	var failed *exec.ExitError
	if err != nil && assert.ErrorAs(t, err, &failed) {
		t.Log(string(failed.Stderr))
	}
	require.NoError(t, err, directory)
	return decode(t, directory, out)
}

// withComponents is a kustomization of the agent and components.
func withComponents(t *testing.T, base string, components ...string) string {
	t.Helper()
	directory, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	target, err := filepath.Abs(manifests)
	require.NoError(t, err)
	target, err = filepath.EvalSymlinks(target)
	require.NoError(t, err)
	target, err = filepath.Rel(directory, target)
	require.NoError(t, err)
	var text strings.Builder
	text.WriteString("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [" + filepath.Join(target, base) + "]\ncomponents:\n")
	for _, c := range components {
		text.WriteString("- " + filepath.Join(target, "components", c) + "\n")
	}
	require.NoError(t, os.WriteFile(filepath.Join(directory, "kustomization.yaml"), []byte(text.String()), 0o600))
	return directory
}

func only(t *testing.T, objects []object) *corev1.PodSpec {
	t.Helper()
	for i := range objects {
		if pod := objects[i].pod(); pod != nil {
			return pod
		}
	}
	t.Fatal("no pod")
	return nil
}

// The combinations are accepted too, and grant no more than their parts.
func TestKustomizations(t *testing.T) {
	t.Parallel()
	for directory, k := range kustomizations(t) {
		if k.Kind != "Kustomization" {
			continue
		}
		t.Run(directory, func(t *testing.T) {
			t.Parallel()
			pods := 1
			if directory == "exec-driver-pods" { // permissions alone
				pods = 0
			}
			assert.Equal(t, pods, checkPods(t, build(t, filepath.Join(manifests, directory))))
		})
	}
}

func TestComponents(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		base       string
		components []string
		add        []corev1.Capability
		check      func(t *testing.T, pod *corev1.PodSpec, objects []object)
	}{
		"nvidia-runtime": {"agent", []string{"nvidia-runtime"}, nil, func(t *testing.T, pod *corev1.PodSpec, _ []object) {
			t.Helper()
			require.NotNil(t, pod.RuntimeClassName)
			assert.Equal(t, "nvidia", *pod.RuntimeClassName)
			assert.Contains(t, pod.Containers[0].Env, corev1.EnvVar{Name: "NVIDIA_VISIBLE_DEVICES", Value: "all"})
			assert.Contains(t, pod.Containers[0].Env, corev1.EnvVar{Name: "NVIDIA_DRIVER_CAPABILITIES", Value: "utility"})
			assert.False(t, *pod.AutomountServiceAccountToken)
		}},
		"amd-fdinfo": {"agent", []string{"amd-fdinfo"}, []corev1.Capability{"SYS_PTRACE"}, func(t *testing.T, pod *corev1.PodSpec, _ []object) {
			t.Helper()
			assert.Equal(t, []corev1.Capability{"SYS_PTRACE"}, pod.Containers[0].SecurityContext.Capabilities.Add)
			assert.Equal(t, &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeUnconfined}, pod.Containers[0].SecurityContext.AppArmorProfile)
		}},
		"kernel-log": {"agent", []string{"kernel-log"}, []corev1.Capability{"SYSLOG"}, func(t *testing.T, pod *corev1.PodSpec, objects []object) {
			t.Helper()
			assert.Equal(t, []corev1.Capability{"SYSLOG"}, pod.Containers[0].SecurityContext.Capabilities.Add)
			assert.False(t, *pod.AutomountServiceAccountToken)
			configsAreMounted(t, objects, "agent-kubernetes.yaml", "kernel-log.yaml")
		}},
		"owners": {"agent", []string{"owners"}, nil, func(t *testing.T, pod *corev1.PodSpec, objects []object) {
			t.Helper()
			assert.True(t, *pod.AutomountServiceAccountToken)
			configsAreMounted(t, objects, "agent-kubernetes.yaml", "owners.yaml")
		}},
		"owner-kinds": {"agent", []string{"owners", "owner-kinds"}, nil, func(t *testing.T, pod *corev1.PodSpec, objects []object) {
			t.Helper()
			assert.True(t, *pod.AutomountServiceAccountToken)
			configsAreMounted(t, objects, "agent-kubernetes.yaml", "owners.yaml", "owner-kinds.yaml")
		}},
		"exec-owner-kinds": {"exec-sharded", []string{"exec-owner-kinds"}, nil, func(t *testing.T, _ *corev1.PodSpec, objects []object) {
			t.Helper()
			configsAreMounted(t, objects, "exec.yaml", "exec-owner-kinds.yaml")
		}},
		"cluster-owner-kinds": {"cluster", []string{"cluster-events", "cluster-owner-kinds"}, nil, func(t *testing.T, _ *corev1.PodSpec, objects []object) {
			t.Helper()
			configsAreMounted(t, objects, "cluster.yaml", "cluster-events.yaml", "cluster-owner-kinds.yaml")
		}},
		"node-labels": {"agent", []string{"node-labels"}, nil, func(t *testing.T, pod *corev1.PodSpec, objects []object) {
			t.Helper()
			assert.True(t, *pod.AutomountServiceAccountToken)
			configsAreMounted(t, objects, "agent-kubernetes.yaml", "node-labels.yaml")
		}},
		"kubernetes-events": {"agent", []string{"kubernetes-events"}, nil, func(t *testing.T, pod *corev1.PodSpec, objects []object) {
			t.Helper()
			assert.True(t, *pod.AutomountServiceAccountToken)
			configsAreMounted(t, objects, "agent-kubernetes.yaml", "kubernetes-events.yaml")
		}},
		"node-condition": {"agent", []string{"node-condition", "node-condition-policy"}, nil, func(t *testing.T, pod *corev1.PodSpec, objects []object) {
			t.Helper()
			assert.True(t, *pod.AutomountServiceAccountToken)
			configsAreMounted(t, objects, "agent-kubernetes.yaml", "node-condition.yaml")
		}},
		"kubernetes-events of k8s-attributes": {"agent", []string{"k8s-attributes", "kubernetes-events"}, nil, func(t *testing.T, _ *corev1.PodSpec, objects []object) {
			t.Helper()
			configsAreMounted(t, objects, "k8s-attributes.yaml", "kubernetes-events.yaml")
		}},
		"k8s-attributes": {"agent", []string{"k8s-attributes"}, nil, func(t *testing.T, pod *corev1.PodSpec, objects []object) {
			t.Helper()
			assert.True(t, *pod.AutomountServiceAccountToken)
			configsAreMounted(t, objects, "k8s-attributes.yaml")
		}},
		"all that go together": {
			"agent",
			[]string{
				"nvidia-runtime", "amd-fdinfo", "kernel-log", "owners", "owner-kinds", "node-labels", "dra",
				"kubernetes-events", "node-condition", "node-condition-policy", "telemetry-otlp",
			},
			[]corev1.Capability{"SYS_PTRACE", "SYSLOG"},
			func(t *testing.T, pod *corev1.PodSpec, objects []object) {
				t.Helper()
				configsAreMounted(t, objects, "agent-kubernetes.yaml", "kernel-log.yaml", "owners.yaml", "owner-kinds.yaml", "node-labels.yaml", "kubernetes-events.yaml",
					"node-condition.yaml", "telemetry-otlp.yaml")
				assert.ElementsMatch(t, []corev1.Capability{"SYS_PTRACE", "SYSLOG"}, pod.Containers[0].SecurityContext.Capabilities.Add, "neither replaces the other")
				assert.Len(t, pod.Volumes, 11)
			},
		},
		"exec-shards": {"exec", []string{"exec-shards"}, nil, func(t *testing.T, pod *corev1.PodSpec, objects []object) {
			t.Helper()
			configsAreMounted(t, objects, "exec.yaml")
			assert.Contains(t, pod.Containers[0].Env, corev1.EnvVar{Name: "GPU_SHARDS", Value: "6"})
			assert.Contains(t, pod.Containers[0].Env, corev1.EnvVar{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{
				FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"},
			}}, "replicas differ")
			for _, o := range objects {
				if d, ok := o.typed.(*appsv1.Deployment); ok {
					assert.EqualValues(t, 3, *d.Spec.Replicas)
					assert.Equal(t, appsv1.RollingUpdateDeploymentStrategyType, d.Spec.Strategy.Type)
				}
			}
		}},
		"telemetry-otlp": {"agent", []string{"telemetry-otlp"}, nil, func(t *testing.T, pod *corev1.PodSpec, objects []object) {
			t.Helper()
			assert.False(t, *pod.AutomountServiceAccountToken)
			configsAreMounted(t, objects, "agent-kubernetes.yaml", "telemetry-otlp.yaml")
		}},
		"telemetry-otlp of k8s-attributes": {"agent", []string{"k8s-attributes", "telemetry-otlp"}, nil, func(t *testing.T, _ *corev1.PodSpec, objects []object) {
			t.Helper()
			configsAreMounted(t, objects, "k8s-attributes.yaml", "telemetry-otlp.yaml")
		}},
		"cluster-events": {"cluster", []string{"cluster-events"}, nil, func(t *testing.T, _ *corev1.PodSpec, objects []object) {
			t.Helper()
			configsAreMounted(t, objects, "cluster.yaml", "cluster-events.yaml")
		}},
		"cluster-claims": {"cluster", []string{"cluster-events", "cluster-claims"}, nil, func(t *testing.T, _ *corev1.PodSpec, objects []object) {
			t.Helper()
			configsAreMounted(t, objects, "cluster.yaml", "cluster-events.yaml", "cluster-claims.yaml")
		}},
		"cluster-replicas": {"cluster", []string{"cluster-replicas"}, nil, func(t *testing.T, _ *corev1.PodSpec, objects []object) {
			t.Helper()
			configsAreMounted(t, objects, "cluster.yaml", "cluster-replicas.yaml")
			for _, o := range objects {
				if d, ok := o.typed.(*appsv1.Deployment); ok {
					assert.EqualValues(t, 2, *d.Spec.Replicas)
				}
			}
		}},
		"telemetry-otlp of cluster": {"cluster", []string{"telemetry-otlp"}, nil, func(t *testing.T, _ *corev1.PodSpec, objects []object) {
			t.Helper()
			configsAreMounted(t, objects, "cluster.yaml", "telemetry-otlp.yaml")
		}},
		"telemetry-otlp of exec": {"exec", []string{"exec-shards", "telemetry-otlp"}, nil, func(t *testing.T, _ *corev1.PodSpec, objects []object) {
			t.Helper()
			configsAreMounted(t, objects, "exec.yaml", "telemetry-otlp.yaml")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects := build(t, withComponents(t, c.base, c.components...))
			assert.Equal(t, 1, checkPods(t, objects, c.add...))
			c.check(t, only(t, objects), objects)
		})
	}
}

// configsAreMounted checks that the collector gets these configurations, each from a ConfigMap that is mounted at the path of the argument.
func configsAreMounted(t *testing.T, objects []object, names ...string) {
	t.Helper()
	var result []string
	pod := only(t, objects)
	for _, arg := range pod.Containers[0].Args {
		path, ok := strings.CutPrefix(arg, "--config=")
		if !ok {
			continue
		}
		result = append(result, filepath.Base(path))
		assert.Contains(t, mounted(objects, pod, filepath.Dir(path)), filepath.Base(path))
	}
	assert.Equal(t, names, result)
}

// mounted returns the content of the ConfigMap that is mounted on a directory; nil if there is no such ConfigMap.
func mounted(objects []object, pod *corev1.PodSpec, directory string) map[string]string {
	mounts := pod.Containers[0].VolumeMounts
	mount := slices.IndexFunc(mounts, func(m corev1.VolumeMount) bool { return m.MountPath == directory })
	if mount < 0 {
		return nil
	}
	volume := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == mounts[mount].Name && v.ConfigMap != nil })
	if volume < 0 {
		return nil
	}
	for i := range objects {
		if c, ok := objects[i].typed.(*corev1.ConfigMap); ok && c.Name == pod.Volumes[volume].ConfigMap.Name {
			return c.Data
		}
	}
	return nil
}
