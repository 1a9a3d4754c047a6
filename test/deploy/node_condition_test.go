// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package deploy

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// condition returns the condition GPUHealthy of a node; nil if it is missing.
func (p *posting) condition(t *testing.T, name string) *corev1.NodeCondition {
	t.Helper()
	node, err := p.client.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == "GPUHealthy" {
			return c
		}
	}
	return nil
}

func (p *posting) requireReason(t *testing.T, node, reason string) {
	t.Helper()
	require.Eventually(t, func() bool { c := p.condition(t, node); return c != nil && c.Reason == reason }, soon, 100*time.Millisecond, reason)
}

// kubeletPosts has the status of a node as its kubelet posts it.
func (p *posting) kubeletPosts(t *testing.T, node string) {
	t.Helper()
	_, err := p.client.CoreV1().Nodes().Patch(t.Context(), node, types.StrategicMergePatchType,
		[]byte(`{"status": {"capacity": {"cpu": "8"}, "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]}}`),
		metav1.PatchOptions{FieldManager: "kubelet"}, "status")
	require.NoError(t, err)
}

// With the permissions of its components, and under their policy, an agent posts the condition of its own node. The policy refuses its
// account everything else that the permission allows, and refuses nothing to other accounts.
func TestNodeCondition(t *testing.T) {
	t.Parallel()
	p := newPosting(t, "node-condition", "node-condition-policy")
	p.kubeletPosts(t, "node-a")
	p.kubeletPosts(t, "node-b")
	settings := p.settings(t, "node-a")
	agent := p.agent(t, settings)
	refused := []struct{ name, node, patch, why string }{
		{"a label", "node-a", `{"metadata": {"labels": {"a": "b"}}}`, "labels, annotations and the rest"},
		{"an annotation", "node-a", `{"metadata": {"annotations": {"a": "b"}}}`, "labels, annotations and the rest"},
		{"a finalizer", "node-a", `{"metadata": {"finalizers": ["a.example/b"]}}`, "labels, annotations and the rest"},
		{"another condition", "node-a", `{"status": {"conditions": [{"type": "Ready", "status": "False"}]}}`, "only the condition GPUHealthy"},
		{"a new condition", "node-a", `{"status": {"conditions": [{"type": "Mine", "status": "True"}]}}`, "only the condition GPUHealthy"},
		{"a condition less", "node-a", `{"status": {"conditions": [{"type": "Ready", "$patch": "delete"}]}}`, "only the condition GPUHealthy"},
		{"capacity", "node-a", `{"status": {"capacity": {"nvidia.com/gpu": "8"}}}`, "nothing else of the status"},
		{"less of the status", "node-a", `{"status": {"capacity": null}}`, "nothing else of the status"},
		{"another node", "node-b", `{"status": {"conditions": [{"type": "GPUHealthy", "status": "False"}]}}`, "its own node alone"},
	}
	try := func(node, patch string) error {
		_, err := agent.CoreV1().Nodes().Patch(t.Context(), node, types.StrategicMergePatchType, []byte(patch),
			metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}, "status")
		return err
	}
	for _, c := range refused { // each rule is in force some time after it was applied
		var err error
		require.Eventually(t, func() bool { err = try(c.node, c.patch); return err != nil }, soon, 100*time.Millisecond, c.name)
		require.ErrorContains(t, err, c.why, c.name)
		require.ErrorContains(t, err, "gpureceiver-node-condition", c.name)
	}
	require.NoError(t, try("node-a", `{"status": {"conditions": [{"type": "GPUHealthy", "status": "False"}]}}`))

	// A taint is not part of the status: the API server leaves it out, and the account has no permission on the node itself.
	_, err := agent.CoreV1().Nodes().Patch(t.Context(), "node-a", types.StrategicMergePatchType, []byte(`{"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}`),
		metav1.PatchOptions{}, "status")
	require.NoError(t, err)
	_, err = agent.CoreV1().Nodes().Patch(t.Context(), "node-a", types.MergePatchType, []byte(`{"spec": {"unschedulable": true}}`), metav1.PatchOptions{})
	require.True(t, apierrors.IsForbidden(err), err)
	require.True(t, apierrors.IsForbidden(agent.CoreV1().Nodes().Delete(t.Context(), "node-a", metav1.DeleteOptions{})))

	settings["node_condition"] = map[string]any{}
	poster := startPoster(t, settings)
	p.requireReason(t, "node-a", "CollectorStarted")
	poster.read(t, "node-a", "failed")
	poster.read(t, "node-b", "failed") // not ours
	p.requireReason(t, "node-a", "GPUFailed")
	c := p.condition(t, "node-a")
	assert.Equal(t, corev1.ConditionFalse, c.Status)
	assert.Equal(t, "nvidia0: failed", c.Message)
	assert.Regexp(t, `(?m)^ +GPUHealthy +False .* GPUFailed +nvidia0: failed$`, p.describe(t, "node", "node-a"))
	assert.Nil(t, p.condition(t, "node-b"))
	p.kubeletPosts(t, "node-a")
	assert.NotNil(t, p.condition(t, "node-a"), "the kubelet leaves it")
	poster.stop()
	p.requireReason(t, "node-a", "CollectorStopped")

	node, err := p.client.CoreV1().Nodes().Get(t.Context(), "node-a", metav1.GetOptions{})
	require.NoError(t, err)
	assert.False(t, slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == "a" }))
	assert.Equal(t, "8", node.Status.Capacity.Cpu().String())
	assert.Len(t, node.Status.Conditions, 2)
	assert.Regexp(t, `(?m)^ +GPUHealthy +Unknown .* CollectorStopped +the collector that reads the GPUs was stopped$`, p.describe(t, "node", "node-a"))
}

// agent returns a client with the token of the settings.
func (p *posting) agent(t *testing.T, settings map[string]any) kubernetes.Interface {
	t.Helper()
	token, err := os.ReadFile(settings["token_file"].(string))
	require.NoError(t, err)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: p.config.Host, BearerToken: string(token), QPS: -1, TLSClientConfig: p.config.TLSClientConfig})
	require.NoError(t, err)
	return client
}

// The commands of docs/operate/node-condition.md remove the condition after the agent has stopped posting it.
func TestConditionIsRemoved(t *testing.T) {
	t.Parallel()
	p := newPosting(t, "node-condition")
	settings := p.settings(t, "node-a")
	settings["node_condition"] = map[string]any{}
	poster := startPoster(t, settings)
	p.requireReason(t, "node-a", "CollectorStarted")
	poster.stop()
	p.kubectl(t, "patch", "node", "node-a", "--subresource=status", "-p", `{"status": {"conditions": [{"type": "GPUHealthy", "$patch": "delete"}]}}`)
	assert.Nil(t, p.condition(t, "node-a"))
}
