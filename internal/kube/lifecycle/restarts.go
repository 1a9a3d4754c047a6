// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// oomKilled is the reason of a container that the kernel killed for lack of memory.
const oomKilled = "OOMKilled"

// restarts adds the containers that were started again. If there were several restarts between two states, only the last is known.
func (c *changes) restarts(before *Pod) {
	for i := range c.pod.Containers {
		now := &c.pod.Containers[i]
		var known int64
		if last := before.container(now.Name); last != nil {
			known = last.Restarts
		}
		if now.Restarts <= known {
			continue
		}
		message := fmt.Sprintf("%s: container %s restarted (%d times)", c.pod.names(), now.Name, now.Restarts)
		start := now.Started
		if last := now.Last; last != nil {
			message = fmt.Sprintf("%s after exit code %d", message, last.ExitCode)
			message = because(message, last.Reason)
			if start.IsZero() { // the container waits for the next restart: what it was restarted as has ended, too
				start = last.Started
			}
		}
		c.add(gpu.EventPodRestarted, start, message, gpu.PodChange{Container: now.change(now.Last)}, now.Name, strconv.FormatInt(now.Restarts, 10))
	}
}

// change returns what a record says about a container, and how an instance of it ended; nil if that is not known.
func (c *Container) change(end *Termination) *gpu.ContainerChange {
	change := &gpu.ContainerChange{Name: c.Name, ID: c.ID, Restarts: c.Restarts}
	if end != nil {
		change.Reason, change.ExitCode = end.Reason, gpu.Some(end.ExitCode)
	}
	return change
}

// failed returns the container that made the pod fail: the one that was killed for lack of memory, else the first that ended with an error.
func (p *Pod) failed() *Container {
	if p.Phase != string(corev1.PodFailed) {
		return nil
	}
	var first *Container
	for i := range p.Containers {
		c := &p.Containers[i]
		switch {
		case c.Ended == nil:
		case c.Ended.Reason == oomKilled:
			return c
		case c.Ended.ExitCode != 0 && (first == nil || c.Ended.Finished.Before(first.Ended.Finished)):
			first = c
		}
	}
	return first
}
