// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/otelgpu/gpureceiver/internal/checkpoint"
	"github.com/otelgpu/gpureceiver/internal/kube/cluster"
	"github.com/otelgpu/gpureceiver/internal/kube/lifecycle"
	"github.com/otelgpu/gpureceiver/internal/pipeline"
)

// sendsPodEvents reports whether an event of pods, of workloads or of what containers have is enabled.
func (c *Config) sendsPodEvents() bool {
	e := &c.Events
	return e.K8sPodGpuCreated.Enabled || e.K8sPodGpuPending.Enabled || e.K8sPodGpuScheduled.Enabled || e.K8sPodGpuPhase.Enabled ||
		e.K8sPodGpuCondition.Enabled || e.K8sPodGpuRestarted.Enabled || e.K8sPodGpuEvicted.Enabled || e.K8sPodGpuFinished.Enabled ||
		e.K8sPodGpuDeleted.Enabled || e.K8sWorkloadGpuStarted.Enabled || e.K8sWorkloadGpuChanged.Enabled || e.K8sWorkloadGpuEnded.Enabled ||
		e.K8sPodGpuSnapshot.Enabled || e.ContainerGpuAllocated.Enabled || e.ContainerGpuReleased.Enabled
}

// podEvents follows the pods of a cluster and queues what happens to them. A nil podEvents follows none.
type podEvents struct {
	queue   *pipeline.Pipeline
	keeper  *keeper // nil without storage
	tracker *lifecycle.Tracker
	wait    time.Duration // see waits.podQueue
	stuck   atomic.Bool   // the logs pipeline has accepted nothing for so long, and nothing waits until it does
	ctx     context.Context
	cancel  context.CancelFunc
	ticking sync.WaitGroup
}

const (
	// podQueue is how many events may wait before the next pods wait for the logs pipeline to take some: client-go holds the changes meanwhile.
	podQueue = 512
	// podRecords is how many records may wait in the storage before they do.
	podRecords = 5000
)

// follow has the pods of a view followed if their events are sent.
func (s *clusterSource) follow(view *cluster.View) error {
	if s.logs == nil || !s.cfg.sendsPodEvents() {
		return nil
	}
	p := &podEvents{queue: s.pipeline, keeper: s.keeper, wait: s.waits.podQueue, tracker: s.track()}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	if err := view.Follow(s.config.Labels, cluster.Followers{
		Seen:   func(pod *lifecycle.Pod) { p.take(func() { p.tracker.Seen(pod) }) },
		Gone:   func(pod *lifecycle.Pod, observed bool) { p.take(func() { p.tracker.Gone(pod, observed) }) },
		Listed: p.listed, Knows: p.tracker.Knows, Snapshots: s.config.Snapshots,
	}); err != nil {
		p.cancel()
		return err
	}
	s.pods.Store(p)
	p.ticking.Go(p.tick)
	return nil
}

// track returns what takes the pods of a view. With storage it goes on with what is known, from an earlier process, or from when this replica last read the
// cluster.
func (s *clusterSource) track() *lifecycle.Tracker {
	if s.tracker != nil {
		s.tracker.Resume()
		return s.tracker
	}
	tracker := lifecycle.NewTracker(s.pipeline.AddEvents)
	if s.keeper != nil {
		tracker.Restore(func(use func(string, []byte) error) { s.keeper.store.Parts(clusterKey, use) })
		s.tracker = tracker
	}
	return tracker
}

// passEvents takes what waits of the cluster, and what has become known of its pods together with it.
func (s *clusterSource) passEvents(ctx context.Context) error {
	if s.keeper == nil {
		return s.logs.send(ctx, s.pipeline.Logs(&s.host))
	}
	var known *pipeline.Known
	var open, logs plog.Logs
	parts := s.pods.Load().checkpoint(func() { known, open, logs = s.pipeline.Checkpoint(&s.host) })
	s.keeper.store.Put(ctx, clusterKey, known, open, logs, parts...)
	return nil
}

// take takes a change when the queue has room for its events.
func (p *podEvents) take(change func()) {
	room := func(context.Context) (bool, error) {
		return p.queue.Waiting() <= podQueue && p.keeper.waiting() <= podRecords, nil
	}
	hasRoom, _ := room(p.ctx)
	if !hasRoom && !p.stuck.Load() {
		hasRoom = wait.PollUntilContextTimeout(p.ctx, 10*time.Millisecond, p.wait, false, room) == nil
	}
	p.stuck.Store(!hasRoom)
	if p.ctx.Err() == nil {
		change()
	}
}

// listed reports the pods as gone that an earlier process knew and that are not in the first list. Those that are there and are not followed any more,
// because their resource does not count as GPUs now, are forgotten.
func (p *podEvents) listed(exists func(*lifecycle.Pod) bool) {
	for _, pod := range p.tracker.Missing() {
		p.take(func() {
			if exists(pod) {
				p.tracker.Forget(pod)
			} else {
				p.tracker.Gone(pod, false)
			}
		})
	}
	p.take(p.tracker.Listed)
}

// checkpoint calls take and returns what has become known, up to the events that take takes.
func (p *podEvents) checkpoint(take func()) []checkpoint.Part {
	if p == nil {
		take()
		return nil
	}
	var parts []checkpoint.Part
	for name, value := range p.tracker.Checkpoint(take) {
		parts = append(parts, checkpoint.Part{Name: name, Value: value})
	}
	return parts
}

// tick has what happens to workloads reported when it has lasted long enough.
func (p *podEvents) tick() {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-p.ctx.Done():
			return
		case <-ticker.C:
			p.take(p.tracker.Tick)
		}
	}
}

// confirm notes that the cluster was readable at a time.
func (p *podEvents) confirm(now time.Time) {
	if p != nil {
		p.tracker.Confirm(now)
	}
}

// end ends the waiting for room and the ticking.
func (p *podEvents) end() {
	if p != nil {
		p.cancel()
		p.ticking.Wait()
	}
}
