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

// ViewOptions says what a View shows.
type ViewOptions struct {
	Pods  PodsOptions
	Kinds []string // the kinds of owners that are read, as WatchOwners and AskOwners take them
	// Devices has the devices of Pods.Node looked up that drivers publish for dynamic resource allocation, and the claims of them,
	// when asked for.
	Devices bool
}

// View is what is known of a cluster's pods, their owners and the devices of a node.
type View struct {
	Pods   *Pods
	Owners *Owners
	Slices *Slices // nil if not wanted
	Claims *Claims // likewise; for whoever calls Problems, too

	ahead   bool // owners are asked for, those of pods that ask for devices before anyone looks them up
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// NewView prepares a View; nothing is asked of the API server before Start.
func NewView(clients *Clients, options ViewOptions) (*View, error) {
	pods, err := NewPods(clients.Kubernetes, options.Pods)
	if err != nil {
		return nil, err
	}
	v := &View{Pods: pods, Owners: WatchOwners(clients, options.Kinds)}
	if options.Pods.Node != "" { // few pods: their owners, one by one, are less than those of the whole cluster
		v.Owners = AskOwners(clients, options.Kinds)
		v.ahead = true
		if err := pods.onWanted(func(pod *Pod) { v.Owners.Of(pod) }); err != nil {
			return nil, fmt.Errorf("kube: watch pods: %w", err)
		}
	}
	if options.Devices {
		v.Slices = NewSlices(clients, options.Pods.Node)
		v.Claims = NewClaims(clients)
	}
	return v, nil
}

// Start begins to watch. It returns at once.
func (v *View) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	v.cancel = cancel
	v.running.Go(func() { v.Pods.Run(ctx) })
	v.running.Go(func() { v.Owners.Run(ctx) })
	if v.Slices != nil {
		v.running.Go(func() { v.Slices.Run(ctx) })
	}
}

// Stop ends the watching and waits until it has ended.
func (v *View) Stop() {
	if v.cancel != nil {
		v.cancel()
		v.running.Wait()
	}
}

// WaitSynced waits until the first lists have been read, and the owners of the pods of a node that ask for devices, or the
// context ends.
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
	if v.ahead { // their kinds are known by now
		for _, pod := range v.Pods.wantDevices() {
			v.Owners.Of(pod)
		}
	}
	return v.Owners.Synced()
}

// Problems tells what could not be read of late.
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
