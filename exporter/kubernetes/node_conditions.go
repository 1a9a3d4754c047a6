// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpukubernetesexporter // import "github.com/otelgpu/gpureceiver/exporter/kubernetes"

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
)

const (
	conditionType = "GPUHealthy"
	fieldManager  = "gpureceiver"
)

// nodeConditions reads and applies the one condition of nodes that is ours.
type nodeConditions struct{ client dynamic.Interface }

func (c nodeConditions) nodes() dynamic.NamespaceableResourceInterface {
	return c.client.Resource(corev1.SchemeGroupVersion.WithResource("nodes"))
}

// get returns the condition of a node as the API server has it; the zero condition if the API server does not have it.
func (c nodeConditions) get(ctx context.Context, node string) (corev1.NodeCondition, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	object, err := c.nodes().Get(ctx, node, metav1.GetOptions{}, "status")
	if err != nil {
		return corev1.NodeCondition{}, fmt.Errorf("read the status of node %s: %w", node, err)
	}
	var typed corev1.Node
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &typed); err != nil {
		return corev1.NodeCondition{}, fmt.Errorf("read the status of node %s: %w", node, err)
	}
	for _, condition := range typed.Status.Conditions {
		if condition.Type == conditionType {
			return condition, nil
		}
	}
	return corev1.NodeCondition{}, nil
}

// apply applies the condition alone: server-side apply with a field manager of its own leaves everything else of the node to its owners.
func (c nodeConditions) apply(ctx context.Context, node string, v verdict, since, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	_, err := c.nodes().ApplyStatus(ctx, node, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": node},
		"status": map[string]any{"conditions": []any{map[string]any{
			"type": conditionType, "status": string(v.status), "reason": v.reason, "message": bounded(v.message, maxMessage),
			"lastHeartbeatTime": now.UTC().Format(time.RFC3339), "lastTransitionTime": since.UTC().Format(time.RFC3339),
		}}},
	}}, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	if err != nil {
		return fmt.Errorf("apply the condition %s of node %s: %w", conditionType, node, err)
	}
	return nil
}
