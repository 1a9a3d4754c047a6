// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package cluster shows how a cluster's GPUs are requested: by which containers, on which nodes, and by which pods in vain. It watches
// pods and nodes and makes no other requests.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube"
)

// View watches the pods and nodes of a cluster.
type View struct {
	pods, nodes *kube.Informer
	cancel      context.CancelFunc
	running     sync.WaitGroup
}

// New returns a View, of the resources whose names match a pattern, that does not watch yet. It needs list and watch on pods and nodes.
func New(client kubernetes.Interface, patterns []string) (*View, error) {
	if err := CheckResources(patterns); err != nil {
		return nil, fmt.Errorf("cluster: resource_names: %w", err)
	}
	names := resourceNames(patterns)
	pods, err1 := kube.NewInformer(
		kube.Paged(client.CoreV1().Pods(""), &corev1.Pod{}, cache.Indexers{requestIndex: indexRequests}, nil), "pods", names.storePod)
	nodes, err2 := kube.NewInformer(kube.Paged(client.CoreV1().Nodes(), &corev1.Node{}, cache.Indexers{}, nil), "nodes", names.storeNode)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	return &View{pods: pods, nodes: nodes}, nil
}

// Start starts to watch and returns immediately.
func (v *View) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	v.cancel = cancel
	v.running.Go(func() { v.pods.RunWithContext(ctx) })
	v.running.Go(func() { v.nodes.RunWithContext(ctx) })
}

// Stop stops the watching and waits for its end.
func (v *View) Stop() {
	if v.cancel != nil {
		v.cancel()
		v.running.Wait()
	}
}

// Synced reports whether the first lists have been read. Before that, a Snapshot would show a part as the whole.
func (v *View) Synced() bool { return v.pods.HasSynced() && v.nodes.HasSynced() }

// Problems returns what could not be read lately.
func (v *View) Problems() []gpu.Problem {
	var problems []gpu.Problem
	if err := v.pods.Err(); err != nil {
		problems = append(problems, gpu.Problem{Kind: gpu.ProblemKubernetes, What: "pods", Err: err})
	}
	if err := v.nodes.Err(); err != nil {
		problems = append(problems, gpu.Problem{Kind: gpu.ProblemKubernetes, What: "nodes", Err: err})
	}
	return problems
}
