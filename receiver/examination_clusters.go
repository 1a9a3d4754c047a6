// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/internal/kube/cluster"
	"github.com/otelgpu/gpureceiver/internal/kubeexec"
)

const (
	// clusterWait bounds all requests to one cluster.
	clusterWait = 30 * time.Second
	// maxClusterReads is how many clusters are asked at the same time: those that are dead must not use up the time of the others.
	maxClusterReads = 16
	// maxNodeReads is how many nodes of a cluster an examination reads.
	maxNodeReads = 3
)

// ClusterRead is what an API server answers to one part of a configuration.
type ClusterRead struct {
	Key       string // of the part: attribution::owners
	Name      string // of the cluster; empty if the section has no name
	Endpoint  string // the API server's address; empty if it is unknown
	Access    []kube.Access
	NotServed []string     // kinds of owners in the configuration that the API server does not serve
	Failure   *gpu.Failure // why the API server, or a file of the configuration, cannot be read

	Examined *kubeexec.Examined // of kubernetes_exec
	Size     *gpu.Cluster       // of kubernetes_cluster, if it was listed
	Problems []gpu.Problem      // what else could not be read
}

// apiUse is a part of a configuration that reads a Kubernetes API.
type apiUse struct {
	key, name   string
	api         *kube.Config
	permissions []kube.Permission
	kinds       []string                            // of owners
	read        func(context.Context, *ClusterRead) // after the review; nil: nothing
}

// ReadClusters queries each Kubernetes API of the configuration for the permissions that its parts need, and reads what kubernetes_cluster
// and kubernetes_exec would. It takes no Lease, and runs tools on few nodes only.
func (e *Examination) ReadClusters(ctx context.Context) []ClusterRead {
	uses := e.machine.cfg.apiUses(e.signals)
	reads := make([]ClusterRead, len(uses))
	free := make(chan struct{}, maxClusterReads)
	var running sync.WaitGroup
	for i := range uses {
		free <- struct{}{}
		running.Go(func() {
			defer func() { <-free }()
			reads[i] = uses[i].examine(ctx)
		})
	}
	running.Wait()
	return reads
}

func (u *apiUse) examine(ctx context.Context) ClusterRead {
	ctx, cancel := context.WithTimeout(ctx, clusterWait)
	defer cancel()
	read := ClusterRead{Key: u.key, Name: u.name}
	rest, err := u.api.REST()
	if err != nil {
		read.Failure = &gpu.Failure{Reason: gpu.FailureAPIUnauthorized, Err: kube.Keyed(u.key, err)}
		return read
	}
	read.Endpoint = rest.Host
	clients, err := kube.NewClients(rest)
	if err != nil {
		read.Failure = gpu.FailureOf(kube.Keyed(u.key, err))
		return read
	}
	read.Access, err = kube.Review(ctx, clients.Kubernetes, u.permissions)
	if err != nil {
		read.Failure = &gpu.Failure{Reason: kube.ReasonOf(err), Err: err}
		return read
	}
	if read.NotServed, err = kube.NotServed(ctx, clients, u.kinds); err != nil {
		read.Problems = append(read.Problems, gpu.Problem{Kind: gpu.ProblemKubernetes, What: "kinds of owners", Err: err})
	}
	if u.read != nil {
		u.read(ctx, &read)
	}
	return read
}

// apiUses are the parts that read a Kubernetes API.
func (c *Config) apiUses(signals Signals) []apiUse {
	var uses []apiUse
	a := &c.Attribution
	if a.Owners != nil {
		options := kube.ViewOptions{Pods: kube.PodsOptions{Node: a.NodeName}, Kinds: a.Owners.Kinds, Devices: a.PodResources != nil}
		uses = append(uses, apiUse{key: "attribution::owners", name: a.ClusterName, api: &a.Owners.API, permissions: options.Permissions(), kinds: a.Owners.Kinds})
	}
	if a.NodeLabels != nil {
		uses = append(uses, apiUse{
			key: "attribution::node_labels", name: a.ClusterName, api: &a.NodeLabels.API, permissions: kube.NodeLabelsPermissions(a.NodeName),
		})
	}
	for _, key := range c.scraperKeys() {
		switch s := c.scraperConfig(key).(type) {
		case *ClusterConfig:
			uses = append(uses, apiUse{
				key: scrapersKey + "::" + key, name: a.ClusterName, api: &s.API, permissions: append(cluster.Permissions(s.ownerKinds(), s.DeviceClasses), s.LeaderElection.permissions()...), kinds: s.ownerKinds(), read: s.readOnce,
			})
		case *kubeexec.Config:
			for i := range s.Clusters {
				uses = append(uses, apiUse{
					key: fmt.Sprintf("%s::%s::clusters::%d", scrapersKey, key, i), name: s.Clusters[i].Name, api: &s.Clusters[i].API, permissions: s.Permissions(i), kinds: execKinds(s),
					read: func(ctx context.Context, read *ClusterRead) { c.examineNodes(ctx, signals, s, i, read) },
				})
			}
		}
	}
	return uses
}

// execKinds returns the kinds of owners that kubernetes_exec reads.
func execKinds(s *kubeexec.Config) []string {
	if !s.AttributePods {
		return nil
	}
	return s.Owners.Kinds
}

// examineNodes finds the targets of kubernetes_exec, and reads a few nodes.
func (c *Config) examineNodes(ctx context.Context, signals Signals, s *kubeexec.Config, index int, read *ClusterRead) {
	examined, err := kubeexec.Examine(ctx, s, index, kubeexec.Options{
		Interval: c.ControllerConfig.CollectionInterval, Timeout: c.ControllerConfig.Timeout,
		Want: c.groups(signals.Metrics, signals.Logs, false),
	}, maxNodeReads)
	if err != nil {
		read.Failure = gpu.FailureOf(kube.Keyed(read.Key, err))
		return
	}
	read.Examined = examined
}

// readOnce lists the pods and nodes of the cluster.
func (c *ClusterConfig) readOnce(ctx context.Context, read *ClusterRead) {
	client, err := connect(&c.API)
	if err != nil {
		read.Failure = gpu.FailureOf(kube.Keyed(read.Key, err))
		return
	}
	view, err := cluster.New(client.Kubernetes, c.ResourceNames, nil)
	if err != nil {
		read.Failure = gpu.FailureOf(err)
		return
	}
	view.Start()
	defer view.Stop()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for !view.Synced() && len(view.Problems()) == 0 {
		select {
		case <-ctx.Done():
			read.Failure = &gpu.Failure{Reason: gpu.FailureAPIUnreachable, Err: errNotListed}
			return
		case <-ticker.C:
		}
	}
	read.Problems = append(read.Problems, view.Problems()...)
	if view.Synced() {
		snapshot := view.Snapshot()
		read.Size = &snapshot
	}
}
