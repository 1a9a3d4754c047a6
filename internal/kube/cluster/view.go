// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package cluster shows how a cluster's GPUs are requested: by which containers, on which nodes, and by which pods in vain, and has those pods
// followed. It watches pods, nodes and the owners of pods, and makes no other requests.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/internal/kube/lifecycle"
)

// View watches the pods and nodes of a cluster.
type View struct {
	store       store
	pods, nodes *kube.Informer
	owners      *kube.Owners // nil: only the direct owners are known
	claims      claimSource  // nil: claims do not count
	listed      func()       // waits for the first list and reports it; nil if pods are not followed
	ctx         context.Context
	cancel      context.CancelFunc
	running     sync.WaitGroup

	// Only for the goroutine that has pods followed.
	ownersListed, claimsListed bool
	ownersPause, claimsPause   time.Time

	podHandler func(*lifecycle.Pod) // of the followers, as is knows; nil if pods are not followed
	knows      func(uid string) bool
	handing    sync.Mutex // pods with claims are handed on one after the other
	claimed    map[types.UID]*claimed
}

// New returns a View, of the resources whose names match a pattern, that does not watch yet. It needs list and watch on pods and nodes. owners may be
// nil: then only the direct owners of pods are known.
func New(client kubernetes.Interface, patterns []string, owners *kube.Owners) (*View, error) {
	if err := CheckResources(patterns); err != nil {
		return nil, fmt.Errorf("cluster: resource_names: %w", err)
	}
	v := &View{store: store{names: patterns}, owners: owners, claimed: make(map[types.UID]*claimed)}
	pods, err1 := kube.NewInformer(
		kube.Paged(client.CoreV1().Pods(""), &corev1.Pod{}, cache.Indexers{requestIndex: indexRequests, claimIndex: indexClaims}, nil), "pods", v.store.storePod)
	nodes, err2 := kube.NewInformer(kube.Paged(client.CoreV1().Nodes(), &corev1.Node{}, cache.Indexers{}, nil), "nodes", v.store.storeNode)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	v.pods, v.nodes = pods, nodes
	return v, nil
}

// Start starts to watch and returns immediately.
func (v *View) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	v.ctx, v.cancel = ctx, cancel
	v.running.Go(func() { v.pods.RunWithContext(ctx) })
	v.running.Go(func() { v.nodes.RunWithContext(ctx) })
	if v.owners != nil {
		v.running.Go(func() { v.owners.Run(ctx) })
	}
	if v.claims != nil {
		v.running.Go(func() { v.claims.Run(ctx) })
	}
	if v.listed != nil {
		v.running.Go(v.listed)
	}
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

// OwnerProblems returns why owners and claims of pods could not be read lately. Everything else is known without them.
func (v *View) OwnerProblems() []gpu.Problem {
	var problems []gpu.Problem
	if v.claims != nil {
		if err := v.claims.Err(); err != nil {
			problems = append(problems, gpu.Problem{Kind: gpu.ProblemKubernetes, What: "resource claims", Err: err})
		}
	}
	if v.owners == nil {
		return problems
	}
	for _, err := range v.owners.Errs() {
		problems = append(problems, gpu.Problem{Kind: gpu.ProblemKubernetes, What: "owners", Err: err})
	}
	return problems
}
