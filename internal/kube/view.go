// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// ViewOptions selects what a View reads.
type ViewOptions struct {
	Pods  PodsOptions
	Kinds []string // the kinds of owners that are read, as WatchOwners and AskOwners take them
	// Devices adds what drivers publish about the devices of Pods.Node, and claims; both are read when first wanted.
	Devices bool
}

// View has a cluster's pods, their owners and the devices of a node.
type View struct {
	Pods   *Pods
	Owners *Owners
	Slices *Slices // nil without ViewOptions.Devices
	Claims *Claims // nil without ViewOptions.Devices; not safe for concurrent use, also with Problems

	ahead   bool // the owners of pods that request devices are requested before they are looked up
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// NewView returns a View that makes no request before Start.
func NewView(clients *Clients, options ViewOptions) (*View, error) {
	pods, err := NewPods(clients.Kubernetes, options.Pods)
	if err != nil {
		return nil, err
	}
	v := &View{Pods: pods, Owners: WatchOwners(clients, options.Kinds)}
	if options.Pods.Node != "" { // requesting the owners of a few pods costs less than watching the owners of the whole cluster
		v.Owners = AskOwners(clients, options.Kinds)
		v.ahead = true
		if err := pods.onDevices(func(pod *Pod) { v.Owners.Of(pod) }); err != nil {
			return nil, fmt.Errorf("kube: watch pods: %w", err)
		}
	}
	if options.Devices {
		v.Slices = NewSlices(clients, options.Pods.Node)
		v.Claims = NewClaims(clients)
	}
	return v, nil
}

// Start starts to watch and returns immediately.
func (v *View) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	v.cancel = cancel
	v.running.Go(func() { v.Pods.Run(ctx) })
	v.running.Go(func() { v.Owners.Run(ctx) })
	if v.Slices != nil {
		v.running.Go(func() { v.Slices.Run(ctx) })
	}
}

// Stop stops the watching and waits for its end.
func (v *View) Stop() {
	if v.cancel != nil {
		v.cancel()
		v.running.Wait()
	}
}

// WaitSynced waits until the first lists have been read, and the owners of the pods of a node that request devices. It returns false if
// the context ends first.
func (v *View) WaitSynced(ctx context.Context) bool {
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for !v.synced() {
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
		}
	}
	return true
}

func (v *View) synced() bool {
	if !v.Pods.Synced() || !v.Owners.Synced() {
		return false
	}
	if v.ahead { // their kinds are known now
		for _, pod := range v.Pods.withDevices() {
			v.Owners.Of(pod)
		}
	}
	return v.Owners.Synced()
}

// Problems returns what could not be read lately.
func (v *View) Problems() []gpu.Problem {
	var problems []gpu.Problem
	if err := v.Pods.Err(); err != nil {
		problems = append(problems, gpu.Problem{Kind: gpu.ProblemKubernetes, What: "pods", Err: err})
	}
	for _, err := range v.Owners.Errs() {
		problems = append(problems, gpu.Problem{Kind: gpu.ProblemKubernetes, What: "owners", Err: err})
	}
	if v.Slices != nil {
		if err := v.Slices.Err(); err != nil {
			problems = append(problems, gpu.Problem{Kind: gpu.ProblemKubernetes, What: "resource slices", Err: err})
		}
	}
	if v.Claims != nil {
		if err := v.Claims.Err(); err != nil {
			problems = append(problems, gpu.Problem{Kind: gpu.ProblemKubernetes, What: "resource claims", Err: err})
		}
	}
	return problems
}
