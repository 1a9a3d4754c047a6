// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kubeexec"
	"github.com/otelgpu/gpureceiver/internal/pipeline"
)

// fleet sends what kubernetes_exec reads, one message for each node. The receivers of one configuration share it.
type fleet struct {
	*shared
	logger *zap.Logger // names the scraper

	mu       sync.Mutex // guards what follows
	begun    bool
	failed   error          // why the start failed
	reader   fleetReader    // nil before the start
	metrics  *metricsOutput // nil until the metrics receiver has started
	logs     *eventOutput   // nil until the logs receiver has started
	nodes    map[remoteNode]map[gpu.Vendor]*pipeline.Pipeline
	clusters map[string]*pipeline.ProblemLog
	size     fleetSize // that was logged last
}

// remoteNode is a node of a cluster.
type remoteNode struct{ cluster, name string }

// key names what is known of a vendor's GPUs of the node, or of the cluster where the name is empty, in the storage.
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

// newFleet returns nil if kubernetes_exec is not configured.
func newFleet(s *shared) *fleet {
	if !slices.Contains(s.cfg.scraperKeys(), fleetKey) {
		return nil
	}
	return &fleet{
		shared: s, logger: s.logger.With(zap.String("scraper", fleetKey)),
		nodes: make(map[remoteNode]map[gpu.Vendor]*pipeline.Pipeline), clusters: make(map[string]*pipeline.ProblemLog),
	}
}

// start begins to read, once. It fails only if credentials cannot be read, not if a cluster does not answer.
func (f *fleet) start() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.begun {
		return f.failed
	}
	f.begun = true
	metrics, logs := f.newRecorder != nil, f.newEventRecorder != nil
	config := *f.cfg.scraperConfig(fleetKey).(*kubeexec.Config)
	for _, warning := range config.Warnings() {
		f.logger.Warn(warning)
	}
	config.AttributePods = config.AttributePods && f.cfg.sendsPods(metrics, logs, false)
	reader, err := kubeexec.New(&config, kubeexec.Options{
		Interval: f.cfg.ControllerConfig.CollectionInterval,
		Timeout:  f.cfg.ControllerConfig.Timeout,
		Want:     f.cfg.wanted(metrics, logs, config.AttributePods),
		Sink:     f.send,
		Gone:     f.forget,
		Problems: f.logProblems,
		State:    f.sendState,
	})
	if err != nil {
		f.failed = fmt.Errorf("%s::%s::%w", scrapersKey, fleetKey, err)
		return f.failed
	}
	f.reader = reader
	reader.Start()
	return nil
}

// close ends the reads for all receivers: consumers behind the one that is shut down first accept nothing any more.
func (f *fleet) close() error {
	f.mu.Lock()
	f.begun = true
	reader := f.reader
	f.mu.Unlock()
	if reader == nil {
		return nil
	}
	return reader.Close()
}

// stats returns how the reads of each cluster go; nothing before the start.
func (f *fleet) stats() []kubeexec.ClusterStats {
	f.mu.Lock()
	reader := f.reader
	f.mu.Unlock()
	if reader == nil {
		return nil
	}
	return reader.Stats()
}

// send passes on one vendor's GPUs of one node. No message grows with the fleet.
func (f *fleet) send(ctx context.Context, cluster string, node *gpu.Node, readErr error) {
	p, metrics, logs := f.pipeline(remoteNode{cluster, node.Host.NodeName}, node.Vendor)
	if readErr != nil {
		known := node.Devices
		node = p.Failed(node.Host, node.Vendor, node.Time, readErr)
		node.Devices = known
	} else {
		p.Take(ctx, node)
	}
	f.pass(ctx, remoteNode{cluster, node.Host.NodeName}, p, node, metrics, logs)
}

// pass records what a pipeline has taken, and sends it to the outputs of the receivers that have started.
func (f *fleet) pass(ctx context.Context, of remoteNode, p *pipeline.Pipeline, node *gpu.Node, metrics *metricsOutput, logs *eventOutput) {
	if metrics != nil {
		metrics.send(ctx, p.Metrics(node))
	}
	if logs != nil {
		_ = logs.pass(ctx, of.key(node.Vendor), p, &node.Host) // the consumer that refused them has logged it
	}
}

// pipeline returns the pipeline of a node's GPUs and the outputs of the receivers that have started.
func (f *fleet) pipeline(node remoteNode, vendor gpu.Vendor) (*pipeline.Pipeline, *metricsOutput, *eventOutput) {
	f.mu.Lock()
	defer f.mu.Unlock()
	vendors := f.nodes[node]
	if vendors == nil {
		vendors = make(map[gpu.Vendor]*pipeline.Pipeline)
		f.nodes[node] = vendors
	}
	p := vendors[vendor]
	if p == nil {
		p = pipeline.New(pipeline.Options{
			Source: fleetKey,
			Logger: f.logger.With(zap.String("k8s.cluster.name", node.cluster), zap.String("k8s.node.name", node.name)),
			Where:  " on node " + node.name + " in cluster " + node.cluster,
			Events: f.newEventRecorder != nil, ProcessEvents: f.cfg.sendsProcessEvents(), AllocationEvents: f.cfg.sendsAllocations(),
			Interval: f.cfg.ControllerConfig.CollectionInterval, MaxProcesses: f.cfg.MaxProcesses, ThrottledAfter: f.cfg.ThrottledAfter,
			Dropped: func(ctx context.Context, processes int) {
				f.telemetry.GpuProcessesDropped.Add(ctx, int64(processes), labels(f.receiver, attribute.String("scraper", fleetKey)))
			},
			EventsDropped: f.eventsDropped(node.cluster),
			NewRecorder:   f.newRecorder, NewEventRecorder: f.newEventRecorder,
			Keep: f.keeper.isOpen(), Known: f.keeper.known(context.Background(), node.key(vendor)),
		})
		vendors[vendor] = p
	}
	return p, f.metrics, f.logs
}

// eventsDropped returns what counts the events of a cluster that are dropped.
func (f *fleet) eventsDropped(cluster string) func(int) {
	if f.newEventRecorder == nil {
		return nil
	}
	of := labels(f.receiver, attribute.String("scraper", fleetKey), attribute.String("k8s.cluster.name", cluster))
	count := func(events int) { f.telemetry.GpuEventsDropped.Add(context.Background(), int64(events), of) }
	count(0) // an increase from 0 is one, too
	return count
}

// forget drops the pipelines of a node that is not read any more, and ends its series unless another replica goes on with them.
func (f *fleet) forget(ctx context.Context, cluster, node string, byAnother bool) {
	f.mu.Lock()
	pipelines, metrics := f.nodes[remoteNode{cluster, node}], f.metrics
	delete(f.nodes, remoteNode{cluster, node})
	f.mu.Unlock()
	for vendor := range pipelines {
		f.keeper.forget(ctx, remoteNode{cluster, node}.key(vendor))
	}
	if byAnother || metrics == nil {
		return
	}
	for _, p := range pipelines {
		metrics.send(ctx, p.End(time.Now()))
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
func (f *fleet) sendState(ctx context.Context, cluster string, at time.Time, failure *gpu.Failure) {
	p, metrics, logs := f.pipeline(remoteNode{cluster: cluster}, "")
	node := &gpu.Node{Host: gpu.Host{ClusterName: cluster}, Time: at, Failure: failure}
	p.Take(ctx, node)
	f.pass(ctx, remoteNode{cluster: cluster}, p, node, metrics, logs)
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
	for _, cluster := range f.stats() {
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
