// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpukubernetesexporter // import "github.com/otelgpu/gpureceiver/exporter/kubernetes"

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/dynamic"

	"github.com/otelgpu/gpureceiver/internal/backoff"
)

const (
	lookEvery   = time.Second
	heartbeat   = 5 * time.Minute  // a condition that has not changed is posted again
	minInterval = 10 * time.Second // two posts of one node
	forgetAfter = time.Hour        // a node that sends nothing; its condition stays Unknown
	lastWords   = 20 * time.Second // for all nodes, at the shutdown
	maxNodes    = 10_000
)

var conditionRetries = backoff.Policy{First: 5 * time.Second, Max: 5 * time.Minute}

// conditionPoster posts the condition of each node whose metrics arrive, when it changes and every five minutes. A node that sends no
// metrics becomes Unknown, and at the shutdown all nodes do.
type conditionPoster struct {
	client  nodeConditions
	logger  *zap.Logger
	counts  *counts
	own     string // the only node; empty for every node that sends metrics
	silence time.Duration
	cancel  context.CancelFunc
	running sync.WaitGroup
	failing failureLog

	mu    sync.Mutex
	nodes map[string]*postedNode
}

// postedNode is a node and what was posted of it. The mutex of the poster guards its health; the rest is the goroutine's.
type postedNode struct {
	health   *nodeHealth
	known    bool // that the API server had, if anything, was read
	last     verdict
	since    time.Time // of the status
	lastPost time.Time
	after    time.Time // a failure: not before
	failures int       // in a row

	maybePosted bool // an attempt ended without an answer, or with one that does not exclude that it was taken
}

func newConditionPoster(client dynamic.Interface, own string, silence time.Duration, logger *zap.Logger, counts *counts) *conditionPoster {
	p := &conditionPoster{
		client: nodeConditions{client}, logger: logger, counts: counts, own: own, silence: silence,
		failing: failureLog{logger: logger, subject: "node condition"}, nodes: map[string]*postedNode{},
	}
	if own != "" {
		p.nodes[own] = &postedNode{health: newNodeHealth()}
	}
	return p
}

func (p *conditionPoster) start() {
	p.counts.begin(objectCondition)
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	p.running.Go(func() { p.run(ctx) })
}

// add takes the metrics of a resource of a node.
func (p *conditionPoster) add(node string, metrics pmetric.ResourceMetrics, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.nodes[node]
	if known == nil {
		health := newNodeHealth()
		health.add(metrics, now, p.silence)
		if health.lastSeen.IsZero() || len(p.nodes) == maxNodes {
			return // no metrics of GPUs
		}
		p.nodes[node] = &postedNode{health: health}
		return
	}
	known.health.add(metrics, now, p.silence)
}

func (p *conditionPoster) run(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		p.post(ctx, time.Now())
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// due is a node whose condition is to be posted.
type due struct {
	name string
	node *postedNode
	now  verdict
}

// post posts what is due.
func (p *conditionPoster) post(ctx context.Context, now time.Time) {
	for _, d := range p.due(now) {
		err := p.postOne(ctx, d, now)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			d.node.failures = 0
		case apierrors.IsNotFound(err): // a node that left, or that the API server does not know yet
			d.node.known, d.node.after = false, now.Add(conditionRetries.Max)
			continue
		default:
			d.node.failures++
			d.node.after = now.Add(conditionRetries.Wait(d.node.failures))
			if !retryable(err) {
				p.counts.refused(objectCondition)
			}
		}
		p.failing.note(err, conditionRemedy(err))
	}
}

// due returns the nodes whose condition is to be posted now, and forgets nodes that have been silent for long.
func (p *conditionPoster) due(now time.Time) []due {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found []due
	for _, name := range slices.Sorted(maps.Keys(p.nodes)) {
		node := p.nodes[name]
		if name != p.own && now.Sub(node.health.lastSeen) > forgetAfter {
			delete(p.nodes, name)
			continue
		}
		node.health.forget(now)
		current := node.health.verdict(now, p.silence)
		switch {
		case now.Before(node.after), now.Sub(node.lastPost) < minInterval:
		case current.reason == reasonNone && name != p.own && node.last.status == "": // it has no GPU, and needs no condition
		case current != node.last, now.Sub(node.lastPost) >= heartbeat:
			found = append(found, due{name, node, current})
		}
	}
	return found
}

func (p *conditionPoster) postOne(ctx context.Context, d due, now time.Time) error {
	n := d.node
	if !n.known {
		condition, err := p.client.get(ctx, d.name)
		if err != nil {
			return err
		}
		n.known, n.last.status, n.since = true, condition.Status, condition.LastTransitionTime.Time
	}
	since := n.since
	if n.last.status != d.now.status || since.IsZero() {
		since = now
	}
	if err := p.client.apply(ctx, d.name, d.now, since, now); err != nil {
		n.maybePosted = n.maybePosted || retryable(err)
		return err
	}
	p.counts.posted(objectCondition)
	n.last, n.since, n.lastPost = d.now, since, now
	return nil
}

// stop ends the posting and posts for each node that its GPUs are no longer monitored.
func (p *conditionPoster) stop() {
	p.cancel()
	p.running.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	stopped := verdict{corev1.ConditionUnknown, reasonStopped, "the collector that reads the GPUs was stopped"}
	left := 0
	for _, name := range slices.Sorted(maps.Keys(p.nodes)) {
		if node := p.nodes[name]; node.last.reason != "" || node.maybePosted {
			if err := p.postOne(ctx, due{name, node, stopped}, time.Now()); err != nil && !apierrors.IsNotFound(err) {
				left++
			}
		}
	}
	if left > 0 {
		p.logger.Warn("Node conditions were not updated before the shutdown", zap.Int("nodes", left),
			zap.String("effect", "they keep their last status until another collector posts"))
	}
}

func conditionRemedy(err error) string {
	switch {
	case apierrors.IsForbidden(err):
		return "grant get and patch on nodes/status; if a ValidatingAdmissionPolicy refuses, find its rule in the error"
	case apierrors.IsUnauthorized(err):
		return "check the credentials"
	default:
		return "wait: the exporter tries again"
	}
}
