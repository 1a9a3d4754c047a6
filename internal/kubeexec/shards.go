// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"

	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/shard"
)

// Each cluster has Leases of its own, in its own API: so one that is down costs the others nothing, and no cluster is read
// by one that does not reach it.

// namespaceFile is where Kubernetes tells a pod its namespace.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

const (
	// dropWait bounds how long the end of reads is waited for before a shard is given away. What has not ended by then is
	// a Sink, which reads nothing.
	dropWait = time.Second
	// endWait is the same at the end of all.
	endWait = 400 * time.Millisecond
)

// newElection prepares leader election for a cluster's shards.
func (c *cluster) newElection(config *rest.Config, e *LeaderElectionConfig, shards int) (*shard.Election, error) {
	namespace := e.LeaseNamespace
	if namespace == "" {
		own, err := os.ReadFile(namespaceFile)
		if err != nil {
			return nil, fmt.Errorf("%s::lease_namespace: must be set outside of a pod with a service account: %w", leaderElectionKey, err)
		}
		namespace = strings.TrimSpace(string(own))
	}
	limited := rest.CopyConfig(config)
	limited.ContentType = "application/vnd.kubernetes.protobuf"
	limited.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	limited.QPS, limited.Burst = float32(10+shards), 2*(10+shards) // of its own: a renewal is not to wait for anything else
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

// hostName is the pod's name, by which a holder is recognized.
func hostName() string {
	if name := os.Getenv("POD_NAME"); name != "" {
		return name
	}
	name, _ := os.Hostname() // an identity does without
	return name
}

// elect holds leader election, where there is one, until the function is called that it returns. That one first waits a
// moment for the reads, which must have been cancelled, and returns when all have ended.
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

// mine tells whether a node is to be read by this replica.
func (c *cluster) mine(node string) bool { return c.election == nil || c.election.Holds(node) }

// ours leaves the nodes that are for this replica to read, and to tell of.
func (c *cluster) ours(plans map[string]*plan, cannot []unread) (map[string]*plan, []unread) {
	if c.election == nil {
		return plans, cannot
	}
	for name := range plans {
		if !c.election.Holds(name) {
			delete(plans, name)
		}
	}
	var left []unread
	for _, u := range cannot {
		if c.election.Holds(u.node) {
			left = append(left, u)
		}
	}
	return plans, left
}

// drop ends the reading of a shard that is not held any more, and waits for it.
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
