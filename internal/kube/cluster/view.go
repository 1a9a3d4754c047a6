// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package cluster shows how a cluster's GPUs are requested: by which containers, on which nodes, and by which pods in
// vain. It watches pods and nodes and asks for nothing again.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube"
)

// DefaultResources are the names of the resources that stand for GPUs: also by NVIDIA's plugin where it renames those that are
// shared (renameByDefault), and by AMD's where it names partitions by their modes (resource_naming_strategy mixed).
func DefaultResources() []string {
	return []string{"nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-*", "amd.com/gpu", "amd.com/?px_nps?"}
}

// CheckResources tells whether names of resources are right: each the name of one, or a pattern as of path.Match, in
// which * stands for any characters but a slash, and ? for one.
func CheckResources(patterns []string) error {
	if len(patterns) == 0 {
		return errors.New("at least one name must be given")
	}
	for _, pattern := range patterns {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" || strings.ContainsAny(pattern, " \t\n") {
			return fmt.Errorf("%q is no name of a resource and no pattern of them, as nvidia.com/mig-* is", pattern)
		}
	}
	return nil
}

// View watches the pods and nodes of a cluster.
type View struct {
	pods, nodes *kube.Informer
	cancel      context.CancelFunc
	running     sync.WaitGroup
}

// New prepares a view of the resources whose names match a pattern. It needs list and watch on pods and nodes.
func New(client kubernetes.Interface, patterns []string) (*View, error) {
	if err := CheckResources(patterns); err != nil {
		return nil, fmt.Errorf("cluster: resource_names: %w", err)
	}
	m := &matcher{patterns: patterns, known: make(map[string]bool)}
	pods, err1 := kube.NewInformer(
		kube.Paged(client.CoreV1().Pods(""), &corev1.Pod{}, cache.Indexers{requestIndex: indexRequests}, nil), "pods", m.pod)
	nodes, err2 := kube.NewInformer(kube.Paged(client.CoreV1().Nodes(), &corev1.Node{}, cache.Indexers{}, nil), "nodes", m.node)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	return &View{pods: pods, nodes: nodes}, nil
}

// Start begins to watch. It returns at once.
func (v *View) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	v.cancel = cancel
	v.running.Go(func() { v.pods.RunWithContext(ctx) })
	v.running.Go(func() { v.nodes.RunWithContext(ctx) })
}

// Stop ends the watching and waits until it has ended.
func (v *View) Stop() {
	if v.cancel != nil {
		v.cancel()
		v.running.Wait()
	}
}

// Synced tells whether the first lists have been read. Before, a Snapshot would show a part as if it were the whole.
func (v *View) Synced() bool { return v.pods.HasSynced() && v.nodes.HasSynced() }

// Problems tells what could not be read of late.
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

// matcher tells which resources are meant. Informers ask it from several goroutines.
type matcher struct {
	patterns []string
	mu       sync.Mutex
	known    map[string]bool
}

// maxNames bounds the names that are remembered: a cluster has a few dozen resources.
const maxNames = 1024

func (m *matcher) matches(resource string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	matches, ok := m.known[resource]
	if ok {
		return matches
	}
	for _, pattern := range m.patterns {
		if matches, _ = path.Match(pattern, resource); matches {
			break
		}
	}
	if len(m.known) < maxNames {
		m.known[resource] = matches
	}
	return matches
}
