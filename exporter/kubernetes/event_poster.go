// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpukubernetesexporter // import "github.com/otelgpu/gpureceiver/exporter/kubernetes"

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/otelgpu/gpureceiver/internal/backoff"
	"github.com/otelgpu/gpureceiver/internal/kube"
)

const (
	maxQueued      = 1000 // Events that wait
	maxPosted      = 4096 // Events that are known to have been taken
	requestTimeout = 10 * time.Second
	retryFor       = 5 * time.Minute // one Event, while the others wait
	lastPosts      = 5 * time.Second // what still waits at the shutdown
)

// eventPoster posts Events one after the other, in the order in which they arrive. client-go's correlator sums equal Events, combines
// similar ones and bounds the Events of an object: 25 in a burst, then one in 5 minutes.
type eventPoster struct {
	client     typedcorev1.EventsGetter
	logger     *zap.Logger
	counts     *counts
	correlator *record.EventCorrelator
	eventNames *cache.LRUExpireCache // names of Events that came before, as records are sent again
	queue      chan *corev1.Event
	cancel     context.CancelFunc
	running    sync.WaitGroup
	failing    failureLog // of the posting

	mu      sync.Mutex
	dropped int // since the queue was full
}

func newEventPoster(client typedcorev1.EventsGetter, logger *zap.Logger, counts *counts) *eventPoster {
	return &eventPoster{
		client: client, logger: logger, counts: counts, correlator: record.NewEventCorrelatorWithOptions(record.CorrelatorOptions{}),
		eventNames: cache.NewLRUExpireCache(maxPosted), queue: make(chan *corev1.Event, maxQueued),
		failing: failureLog{logger: logger, subject: "Events"},
	}
}

func (p *eventPoster) start() {
	p.counts.begin(objectEvent)
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	p.running.Go(func() { p.run(ctx) })
}

// stop posts the queued Events, as far as the API server accepts them immediately, and ends.
func (p *eventPoster) stop() {
	p.cancel()
	p.running.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), lastPosts)
	defer cancel()
	for ctx.Err() == nil {
		select {
		case event := <-p.queue:
			if err := p.correlated(event, func(e *corev1.Event, patch []byte) error { return p.write(ctx, e, patch) }); retryable(err) {
				left := len(p.queue) + 1
				p.counts.dropped(dropShutdown, left)
				p.logger.Warn("Kubernetes Events were not posted before the shutdown", zap.Int("events", left), zap.Error(err))
				return
			}
		default:
			return
		}
	}
}

// add queues Events. It never waits: what does not fit is dropped.
func (p *eventPoster) add(events []*corev1.Event) {
	for _, event := range events {
		p.mu.Lock()
		select {
		case p.queue <- event:
			if p.dropped > 0 {
				p.logger.Info("Kubernetes Events are no longer dropped", zap.Int("events", p.dropped))
				p.dropped = 0
			}
		default:
			p.counts.dropped(dropQueueFull, 1)
			if p.dropped++; p.dropped == 1 {
				p.logger.Warn("Kubernetes Events are dropped: the queue is full", zap.Int("max_events", maxQueued))
			}
		}
		p.mu.Unlock()
	}
}

func (p *eventPoster) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case event := <-p.queue:
			_ = p.correlated(event, func(e *corev1.Event, patch []byte) error { return p.persist(ctx, e, patch) })
		}
	}
}

// correlated posts an Event once, or the sum that it makes with earlier ones, unless there were too many.
func (p *eventPoster) correlated(event *corev1.Event, post func(*corev1.Event, []byte) error) error {
	name := types.NamespacedName{Namespace: event.Namespace, Name: event.Name}
	if _, again := p.eventNames.Get(name); again {
		return nil
	}
	p.eventNames.Add(name, true, maxAge)
	result, err := p.correlator.EventCorrelate(event)
	if err != nil {
		return err
	}
	if result.Skip {
		p.counts.dropped(dropRateLimit, 1)
		return nil
	}
	return post(result.Event, result.Patch)
}

// persist writes an Event, and tries again while the API server is away or too busy. An Event that it writes at the shutdown may be lost.
func (p *eventPoster) persist(ctx context.Context, event *corev1.Event, patch []byte) error {
	until, retries := time.Now().Add(retryFor), backoff.Policy{First: time.Second, Max: 30 * time.Second}
	for failures := 1; ; failures++ {
		err := p.write(ctx, event, patch)
		if ctx.Err() != nil {
			if retryable(err) {
				p.counts.dropped(dropShutdown, 1)
			}
			return err
		}
		p.failing.note(err, hint(err))
		if !retryable(err) {
			return err
		}
		if time.Now().After(until) {
			p.counts.dropped(dropGaveUp, 1)
			return err
		}
		select {
		case <-ctx.Done():
			p.counts.dropped(dropShutdown, 1)
			return err
		case <-time.After(retries.Wait(failures)):
		}
	}
}

// write creates an Event, or changes the one that it repeats, and counts the outcome. An existing Event and a namespace that is terminating
// or gone are not errors.
func (p *eventPoster) write(ctx context.Context, event *corev1.Event, patch []byte) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	posted, err := p.request(ctx, event, patch)
	switch {
	case err == nil:
		p.counts.posted(objectEvent)
		p.correlator.UpdateState(posted)
	case apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return nil
	case !retryable(err):
		p.counts.refused(objectEvent)
	}
	return err
}

func (p *eventPoster) request(ctx context.Context, event *corev1.Event, patch []byte) (*corev1.Event, error) {
	events := p.client.Events(event.Namespace)
	if event.Count > 1 && patch != nil {
		posted, err := events.Patch(ctx, event.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
		if !apierrors.IsNotFound(err) {
			return posted, err
		}
	}
	event.ResourceVersion = ""
	return events.Create(ctx, event, metav1.CreateOptions{})
}

// retryable reports whether a request may succeed later without a change of permissions or of the request.
func retryable(err error) bool {
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return false
	case errors.As(err, &status):
		return status.Status().Code >= http.StatusInternalServerError || status.Status().Code == http.StatusTooManyRequests
	default:
		return !errors.Is(err, kube.ErrCredentials)
	}
}

func hint(err error) string {
	switch {
	case apierrors.IsForbidden(err):
		return "grant create and patch on events"
	case apierrors.IsUnauthorized(err):
		return "check the credentials"
	default:
		return "wait: the exporter tries again for 5 minutes"
	}
}
