// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Container is what is kept of a container of a pod.
type Container struct {
	Name     string
	ID       string // of the instance that runs or ran last, without the runtime's prefix
	Init     bool
	Restarts int64
	Started  time.Time // when the instance that runs, or ended, was started
	// Ended is how the instance ended that does not run; nil while it runs. Last is how the instance before ended; nil before the first restart.
	Ended *Termination
	Last  *Termination
}

// Termination is how an instance of a container ended.
type Termination struct {
	Reason   string // OOMKilled, Error, Completed
	ExitCode int64
	Started  time.Time
	Finished time.Time
}

// maxContainers bounds the containers of a pod that are followed.
const maxContainers = 64

func containers(status *corev1.PodStatus) []Container {
	var all []Container
	add := func(statuses []corev1.ContainerStatus, init bool) {
		for i := range statuses[:min(len(statuses), maxContainers-len(all))] {
			s := &statuses[i]
			c := Container{
				Name: gpu.BoundedText(s.Name, maxText), ID: bareID(s.ContainerID), Init: init, Restarts: int64(s.RestartCount),
				Ended: termination(s.State.Terminated), Last: termination(s.LastTerminationState.Terminated),
			}
			switch {
			case s.State.Running != nil:
				c.Started = s.State.Running.StartedAt.Time
			case s.State.Terminated != nil:
				c.Started = s.State.Terminated.StartedAt.Time
			}
			all = append(all, c)
		}
	}
	add(status.ContainerStatuses, false)
	add(status.InitContainerStatuses, true)
	return all
}

func termination(state *corev1.ContainerStateTerminated) *Termination {
	if state == nil {
		return nil
	}
	return &Termination{
		Reason: gpu.BoundedText(state.Reason, maxText), ExitCode: int64(state.ExitCode),
		Started: state.StartedAt.Time, Finished: state.FinishedAt.Time,
	}
}

// bareID cuts the runtime's prefix off a container's ID: containerd://3f25….
func bareID(id string) string {
	if _, bare, ok := strings.Cut(id, "://"); ok {
		id = bare
	}
	return gpu.BoundedText(id, maxText)
}

// container returns the container with a name; nil if the pod has no such container.
func (p *Pod) container(name string) *Container {
	for i := range p.Containers {
		if p.Containers[i].Name == name {
			return &p.Containers[i]
		}
	}
	return nil
}
