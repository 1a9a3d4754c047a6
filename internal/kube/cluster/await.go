// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/otelgpu/gpureceiver/internal/kube"
)

const (
	// stepWait is how long a pod waits for an owner or a claim that is not known yet: the watches of pods, owners and claims are not in step. What does not
	// come in that time is missed for the next stepPause, in which no pod waits.
	stepWait  = 250 * time.Millisecond
	stepPause = 5 * time.Second
	// listWait is how long the first pods wait for the first lists of owners, and of claims.
	listWait = 15 * time.Second
)

// await waits, within bounds, until the owners of a new pod, and the claims of one that was bound, are known. previous is its former state; nil or
// another pod's if it is new. A pod waits once for each.
func (v *View) await(previous, pod *storedPod) {
	if pod == nil {
		return
	}
	appeared := previous == nil || previous.UID != pod.UID
	if appeared {
		v.waitOwners(pod)
	}
	if appeared || previous.node == "" {
		v.waitClaims(pod)
	}
}

func (v *View) waitOwners(pod *storedPod) {
	if v.owners == nil {
		return
	}
	if !v.ownersListed {
		v.ownersListed = true
		v.poll(listWait, v.owners.Synced)
	}
	complete := func() bool {
		_, complete := v.owners.Chain(pod.Namespace, pod.owners)
		return complete
	}
	if !time.Now().Before(v.ownersPause) && !v.poll(stepWait, complete) {
		v.ownersPause = time.Now().Add(stepPause)
	}
}

func (v *View) waitClaims(pod *storedPod) {
	if len(pod.claims) == 0 || pod.ended {
		return
	}
	if !v.claimsListed {
		v.claimsListed = true
		v.poll(listWait, v.claims.Synced)
	}
	complete := func() bool {
		for i := range pod.claims {
			name := pod.claims[i].Name
			if name == "" { // the pod has a node, so it did not need one
				continue
			}
			if claim := v.claims.Get(kube.Claim{Namespace: pod.Namespace, Name: name}); claim == nil || !claim.Allocated {
				return false
			}
		}
		return true
	}
	if pod.node != "" && !time.Now().Before(v.claimsPause) && !v.poll(stepWait, complete) {
		v.claimsPause = time.Now().Add(stepPause)
	}
}

// poll waits until a condition is true, and reports whether it is: not if it takes too long, or the view stops.
func (v *View) poll(most time.Duration, is func() bool) bool {
	done := func(context.Context) (bool, error) { return is(), nil }
	return wait.PollUntilContextTimeout(v.ctx, 10*time.Millisecond, most, true, done) == nil
}
