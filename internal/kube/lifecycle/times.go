// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// phaseStart returns when the pod's phase started, from what the kubelet says about its containers; zero if that is unknown.
func (p *Pod) phaseStart() time.Time {
	switch corev1.PodPhase(p.Phase) {
	case corev1.PodPending:
		return p.Created
	case corev1.PodRunning:
		return p.ran()
	case corev1.PodSucceeded, corev1.PodFailed:
		return p.ended()
	default:
		return time.Time{}
	}
}

// ran returns when the first container started that is known; zero if none is.
func (p *Pod) ran() time.Time {
	var first time.Time
	earlier := func(t time.Time) {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	for i := range p.Containers {
		c := &p.Containers[i]
		if c.Init {
			continue
		}
		earlier(c.Started)
		if c.Last != nil {
			earlier(c.Last.Started)
		}
	}
	return first
}

// ended returns when the last container ended; zero if that is not known.
func (p *Pod) ended() time.Time {
	var last time.Time
	for i := range p.Containers {
		if e := p.Containers[i].Ended; e != nil && e.Finished.After(last) {
			last = e.Finished
		}
	}
	if ready := p.condition(corev1.PodReady); last.IsZero() && p.Ended() && ready != nil && ready.Status == string(corev1.ConditionFalse) {
		return ready.Since
	}
	return last
}

// scheduled returns when the pod got its node; zero if that is not known.
func (p *Pod) scheduled() time.Time {
	if c := p.condition(corev1.PodScheduled); c != nil && c.Status == string(corev1.ConditionTrue) {
		return c.Since
	}
	return time.Time{}
}
