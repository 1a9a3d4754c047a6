// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/otelgpu/gpureceiver/internal/attribution/deviceid"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube"
)

// knownNode is the part of a node that is kept. It is immutable once it is stored.
type knownNode struct {
	metav1.ObjectMeta                     // name, UID and resource version
	labels            map[string]string   // those that are sent, by the names of their resource attributes
	vendors           map[gpu.Vendor]bool // whose GPUs it has, by its capacity
}

// newNodes prepares the informer of the nodes to read.
func newNodes(client kubernetes.Interface, config *Config) (*kube.Informer, error) {
	shared := kube.Paged(client.CoreV1().Nodes(), &corev1.Node{}, cache.Indexers{}, func(list *metav1.ListOptions) {
		list.LabelSelector = config.NodeSelector
	})
	return kube.NewInformer(shared, "nodes", func(object any) (any, error) {
		if node, ok := object.(*corev1.Node); ok {
			return storeNode(node, config.NodeLabels), nil
		}
		return object, nil
	})
}

func storeNode(node *corev1.Node, allowed []string) *knownNode {
	stored := &knownNode{
		ObjectMeta: metav1.ObjectMeta{Name: node.Name, UID: node.UID, ResourceVersion: node.ResourceVersion},
		labels:     kube.SelectNodeLabels(node.Labels, allowed),
	}
	for name, quantity := range node.Status.Capacity {
		if quantity.IsZero() || !deviceid.IsPhysical(string(name)) {
			continue
		}
		if stored.vendors == nil {
			stored.vendors = make(map[gpu.Vendor]bool)
		}
		stored.vendors[deviceid.VendorOf(string(name))] = true
	}
	return stored
}
