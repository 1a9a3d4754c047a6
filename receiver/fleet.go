// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/attribute"
	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kubeexec"
	"github.com/otelgpu/gpureceiver/internal/pipeline"
)

// fleet sends what kubernetes_exec reads, one message for each node. The receivers of one configuration share it.
type fleet struct {
	*shared
	logger  *zap.Logger // names the scraper
	reader  fleetReader
	waiting atomic.Int64 // receivers that have not started

	mu       sync.Mutex // guards what follows
	nodes    map[remoteNode]map[gpu.Vendor]*pipeline.Pipeline
	clusters map[string]*pipeline.ProblemLog
	size     fleetSize // that was logged last
}

// remoteNode is a node of a cluster.
type remoteNode struct{ cluster, name string }

// key names what is known of a vendor's GPUs of the node, or of the cluster if the name is empty, in the storage.
func (n remoteNode) key(vendor gpu.Vendor) string {
	return strings.Join([]string{fleetKey, url.PathEscape(n.cluster), url.PathEscape(n.name), string(vendor)}, "/")
}

// fleetSize is how much is read.
type fleetSize struct{ clusters, nodes, gpus int }

// fleetReader is a *kubeexec.Fleet, except in tests.
type fleetReader interface {
	Start()
	Close() error
	Stats() []kubeexec.ClusterStats
}

// newFleet reads the credentials. A cluster that does not answer is no error.
func newFleet(s *shared) (*fleet, error) {
	f := &fleet{
		shared: s, logger: s.logger.With(zap.String("scraper", fleetKey)),
		nodes: make(map[remoteNode]map[gpu.Vendor]*pipeline.Pipeline), clusters: make(map[string]*pipeline.ProblemLog),
	}
	for _, is := range []bool{s.metrics != nil, s.logs != nil} {
		if is {
			f.waiting.Add(1)
		}
	}
	config := *s.cfg.scraperConfig(fleetKey).(*kubeexec.Config)
	for _, warning := range config.Warnings() {
		f.logger.Warn(warning)
	}
	config.AttributePods = config.AttributePods && s.cfg.sendsPods(s.metrics != nil, s.logs != nil, false)
	reader, err := kubeexec.New(&config, kubeexec.Options{
		Interval: s.cfg.ControllerConfig.CollectionInterval,
		Timeout:  s.cfg.ControllerConfig.Timeout,
		Want:     s.cfg.groups(s.metrics != nil, s.logs != nil, config.AttributePods),
		Sink:     f.send,
		Gone:     f.forget,
		Problems: f.logProblems,
		State:    f.sendState,
	})
	if err != nil {
		return nil, fmt.Errorf("%s::%s::%w", scrapersKey, fleetKey, err)
	}
	f.reader = reader
	return f, nil
}

// Start implements component.Component. Each receiver calls it, and the last one begins to read: nothing is sent to a consumer before its receiver
// has started.
func (f *fleet) Start(context.Context, component.Host) error {
	if f.waiting.Add(-1) == 0 {
		f.reader.Start()
	}
	return nil
}

// Shutdown implements component.Component. It ends the reads for all receivers: consumers behind the one that is shut down first accept nothing any
// more.
func (f *fleet) Shutdown(context.Context) error { return f.reader.Close() }

// send passes on one vendor's GPUs of one node. No message grows with the fleet.
func (f *fleet) send(ctx context.Context, cluster string, node *gpu.Node, readErr error) {
	p := f.pipeline(remoteNode{cluster, node.Host.NodeName}, node.Vendor)
	if readErr != nil {
		devices := node.Devices
		node = p.Failed(node.Host, node.Vendor, node.Time, readErr)
		node.Devices = devices
	} else {
		p.Take(ctx, node)
	}
	f.passNode(ctx, remoteNode{cluster, node.Host.NodeName}, p, node)
}

// passNode records what a pipeline has taken, and sends it.
func (f *fleet) passNode(ctx context.Context, remote remoteNode, p *pipeline.Pipeline, node *gpu.Node) {
	if f.metrics != nil {
		f.metrics.send(ctx, p.Metrics(node))
	}
	if f.logs != nil {
		_ = f.pass(ctx, remote.key(node.Vendor), p, &node.Host) // the consumer that refused them has logged it
	}
}

// pipeline returns the pipeline of a node's GPUs.
func (f *fleet) pipeline(node remoteNode, vendor gpu.Vendor) *pipeline.Pipeline {
	f.mu.Lock()
	defer f.mu.Unlock()
	vendors := f.nodes[node]
	if vendors == nil {
		vendors = make(map[gpu.Vendor]*pipeline.Pipeline)
		f.nodes[node] = vendors
	}
	p := vendors[vendor]
	if p == nil {
		options := f.options(fleetKey)
		options.Logger = f.logger.With(zap.String("k8s.cluster.name", node.cluster), zap.String("k8s.node.name", node.name))
		options.Where = " on node " + node.name + " in cluster " + node.cluster
		options.EventsDropped = f.eventsDropped(attribute.String("scraper", fleetKey), attribute.String("k8s.cluster.name", node.cluster))
		options.Known = f.keeper.known(context.Background(), node.key(vendor))
		p = pipeline.New(options)
		vendors[vendor] = p
	}
	return p
}

// forget drops the pipelines of a node that is not read any more, and ends its series unless another replica goes on with them.
func (f *fleet) forget(ctx context.Context, cluster, node string, byAnother bool) {
	f.mu.Lock()
	pipelines := f.nodes[remoteNode{cluster, node}]
	delete(f.nodes, remoteNode{cluster, node})
	f.mu.Unlock()
	for vendor := range pipelines {
		f.keeper.forget(ctx, remoteNode{cluster, node}.key(vendor))
	}
	if byAnother || f.metrics == nil {
		return
	}
	for _, p := range pipelines {
		f.metrics.send(ctx, p.End(time.Now()))
	}
}

// logProblems logs what cannot be read in a cluster. Each cluster calls it from one goroutine.
func (f *fleet) logProblems(cluster string, problems []gpu.Problem) {
	f.mu.Lock()
	log := f.clusters[cluster]
	if log == nil {
		log = pipeline.NewProblemLog(f.logger.With(zap.String("k8s.cluster.name", cluster)), " in cluster "+cluster)
		f.clusters[cluster] = log
	}
	f.mu.Unlock()
	log.Update(problems, true)
}

// sendState passes on whether a cluster can be read, and makes it a part of the component's status. Each cluster calls it from one
// goroutine.
func (f *fleet) sendState(ctx context.Context, cluster string, now time.Time, failure *gpu.Failure) {
	p := f.pipeline(remoteNode{cluster: cluster}, "")
	node := &gpu.Node{Host: gpu.Host{ClusterName: cluster}, Time: now, Failure: failure}
	p.Take(ctx, node)
	f.passNode(ctx, remoteNode{cluster: cluster}, p, node)
	var reason error
	if failure != nil {
		reason = failure
	}
	f.status.update(fleetKey+"/"+cluster, reason)
	f.logSize()
}

// logSize logs how much is read if that has changed.
func (f *fleet) logSize() {
	var size fleetSize
	for _, cluster := range f.reader.Stats() {
		if cluster.Known && cluster.Failure == nil {
			size.clusters++
		}
		for i := range cluster.Nodes {
			if n := &cluster.Nodes[i]; n.Success && n.Unreadable == "" {
				size.nodes++
				size.gpus += n.GPUs
			}
		}
	}
	f.mu.Lock()
	changed := size != f.size
	f.size = size
	f.mu.Unlock()
	if changed {
		f.logger.Info("Reading GPUs of other machines", zap.Int("clusters", size.clusters), zap.Int("nodes", size.nodes), zap.Int("gpus", size.gpus))
	}
}
