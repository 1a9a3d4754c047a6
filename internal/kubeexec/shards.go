// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"

	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/shard"
)

// Each cluster has Leases of its own, in its own API: an outage of one does not affect the others, and no replica reads a
// cluster that it does not reach.

// namespaceFile has the namespace of the pod.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

const (
	// dropWait bounds the wait for reads before a shard is released. What has not ended by then is a Sink, which does not read.
	dropWait = time.Second
	// endWait is the same at shutdown.
	endWait = 400 * time.Millisecond
)

// namespace returns the namespace of the Leases.
func (e *LeaderElectionConfig) namespace() (string, error) {
	if e.LeaseNamespace != "" {
		return e.LeaseNamespace, nil
	}
	own, err := os.ReadFile(namespaceFile)
	if err != nil {
		return "", fmt.Errorf("%s::lease_namespace: must be set outside of a pod with a service account: %w", leaderElectionKey, err)
	}
	return strings.TrimSpace(string(own)), nil
}

// newElection prepares the leader election for a cluster's shards.
func (c *cluster) newElection(config *rest.Config, e *LeaderElectionConfig, shards int) (*shard.Election, error) {
	namespace, err := e.namespace()
	if err != nil {
		return nil, err
	}
	limited := rest.CopyConfig(config)
	limited.ContentType = "application/vnd.kubernetes.protobuf"
	limited.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	limited.QPS, limited.Burst = float32(10+shards), 2*(10+shards) // its own limit: a renewal must not wait for other requests
	connection, err := kube.HTTPClient(limited)
	if err != nil {
		return nil, err
	}
	client, err := coordination.NewForConfigAndClient(limited, connection)
	if err != nil {
		return nil, err
	}
	return shard.New(shard.Options{
		Shards: shards, Name: e.LeaseName, Namespace: namespace, Identity: shard.NewIdentity(hostName()),
		Leases: client.Leases(namespace), Changed: c.changed, Lost: c.drop,
	}), nil
}

// hostName is the pod's name; it makes the holder of a Lease recognizable.
func hostName() string {
	if name := os.Getenv("POD_NAME"); name != "" {
		return name
	}
	name, _ := os.Hostname() // an identity works without
	return name
}

// elect runs the leader election, if there is one, until the returned function is called. That function first waits a moment
// for the reads, which must have been cancelled, and returns when all have ended.
func (c *cluster) elect(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var electing sync.WaitGroup
	if c.election != nil {
		electing.Go(func() { c.election.Run(ctx) })
	}
	return func() {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			c.reading.Wait()
		}()
		timer := time.NewTimer(endWait)
		defer timer.Stop()
		select {
		case <-ended:
		case <-timer.C:
		}
		close(c.ending)
		cancel()
		electing.Wait()
		<-ended
	}
}

// ours returns the nodes that this replica reads and reports.
func (c *cluster) ours(plans map[string]*plan) map[string]*plan {
	if c.election != nil {
		maps.DeleteFunc(plans, func(name string, _ *plan) bool { return !c.election.Holds(name) })
	}
	return plans
}

// drop ends the reads of a shard that is not held any more, and waits for their end.
func (c *cluster) drop(shard int) {
	var ending []*node
	c.mu.Lock()
	for name, n := range c.running {
		if c.election.Of(name) == shard {
			n.cancel()
			ending = append(ending, n)
		}
	}
	c.mu.Unlock()
	timer := time.NewTimer(dropWait)
	defer timer.Stop()
	for _, n := range ending {
		select {
		case <-n.done:
		case <-timer.C:
			return
		case <-c.ending:
			return
		}
	}
}

// speaks reports whether this replica is the one that reports that the cluster can be read: the one that holds the first shard. A
// cluster that cannot be read is reported by each replica.
func (c *cluster) speaks() bool {
	return c.election == nil || slices.Contains(c.election.Status().Held, 0)
}
