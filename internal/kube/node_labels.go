// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const (
	labelsInterval = 5 * time.Minute // labels of nodes hardly ever change
	labelsRetry    = 30 * time.Second
	labelsTimeout  = 10 * time.Second
)

// NodeLabels reads the labels of one node, by single requests for its metadata. It needs get on nodes. If each node's agent watched the
// nodes, the kubelets' heartbeats would go to every agent.
type NodeLabels struct {
	client          metadata.Interface
	node            string
	keys            []string
	interval, retry time.Duration
	timeout         time.Duration // of one request
	first           chan struct{} // closed after the first request
	cancel          context.CancelFunc
	running         sync.WaitGroup

	mu     sync.Mutex
	labels map[string]string
	err    error
}

// NewNodeLabels returns NodeLabels that make no request before Start. The keys have the form of SelectNodeLabels.
func NewNodeLabels(clients *Clients, node string, keys []string) *NodeLabels {
	return &NodeLabels{
		client: clients.Metadata, node: node, keys: keys, interval: labelsInterval, retry: labelsRetry, timeout: labelsTimeout,
		first: make(chan struct{}),
	}
}

// Start starts to read, and waits for the first answer until the context ends.
func (n *NodeLabels) Start(ctx context.Context) {
	running, cancel := context.WithCancel(context.Background())
	n.cancel = cancel
	n.running.Go(func() { n.run(running) })
	select {
	case <-n.first:
	case <-ctx.Done():
	}
}

// Stop ends the reading and waits for its end.
func (n *NodeLabels) Stop() {
	if n.cancel != nil {
		n.cancel()
		n.running.Wait()
	}
}

// Labels returns the labels as they were last read, by the names of their resource attributes. Callers must not change them.
func (n *NodeLabels) Labels() map[string]string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.labels
}

// Problems returns why the labels could not be read lately.
func (n *NodeLabels) Problems() []gpu.Problem {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.err == nil {
		return nil
	}
	return []gpu.Problem{{Kind: gpu.ProblemKubernetes, What: "node labels", Err: n.err}}
}

func (n *NodeLabels) run(ctx context.Context) {
	wait := n.read(ctx)
	close(n.first)
	for {
		timer := time.NewTimer(wait + rand.N(wait/10)) //nolint:gosec // so that a thousand agents that start together do not ask together
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
			wait = n.read(ctx)
		}
	}
}

// read reads the labels and returns when to do so again. If it fails, the labels stay as they were.
func (n *NodeLabels) read(ctx context.Context) time.Duration {
	request, cancel := context.WithTimeout(ctx, n.timeout)
	defer cancel()
	nodes := schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	object, retryAfter, err := getOnce(request, n.client.Resource(nodes), n.node)
	if ctx.Err() != nil {
		return n.interval // an interrupted read says nothing
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if err != nil {
		n.err = &gpu.Failure{Reason: ReasonOf(err), Err: fmt.Errorf("kube: read the labels of node %s: %w; %s", n.node, err, labelsHint(err))}
		return max(n.retry, min(retryAfter, n.interval))
	}
	n.err = nil
	n.labels = SelectNodeLabels(object.Labels, n.keys)
	return n.interval
}

func labelsHint(err error) string {
	var status apierrors.APIStatus
	switch {
	case apierrors.IsForbidden(err):
		return "grant get on nodes"
	case apierrors.IsUnauthorized(err):
		return "check the credentials"
	case errors.As(err, &status) && status.Status().Code == http.StatusNotFound:
		return "check attribution::node_name"
	default:
		return "the last known labels are used until the API server answers"
	}
}
