// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/otelgpu/gpureceiver/internal/attribution/cdi"
	"github.com/otelgpu/gpureceiver/internal/attribution/cgroup"
	"github.com/otelgpu/gpureceiver/internal/attribution/podlogs"
	"github.com/otelgpu/gpureceiver/internal/attribution/podresources"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube"
)

// syncWait is how long Start waits for the API server, so that the first data have names. It is no error if it does not
// answer.
const syncWait = 2 * time.Second

// Attributor attributes the devices and processes of one machine. It may be shared by the sources of several vendors.
type Attributor struct {
	interval    time.Duration
	processes   bool
	remote      bool                       // the view is another's
	connect     func() (*kube.View, error) // nil where the API may not be read
	view        *kube.View                 // nil before Start, and where the API may not be read
	allocations *allocations               // nil where the kubelet is not asked
	ctx         context.Context
	cancel      context.CancelFunc

	mu         sync.Mutex
	containers *containers
	domains    map[gpu.Vendor]*domain
}

// domain is what is kept of one vendor's devices, and reused.
type domain struct {
	generation uint64
	cadence    cadence
	index      deviceIndex
	ledger     ledger
	sharing    map[string]*seenSharing
	certain    []bool                    // of each device: all allocations are known, and of each whether this device is meant
	stale      bool                      // the API could not be read of late
	unlisted   bool                      // the driver may list no process although some run
	early      map[podContainer]struct{} // of what is allocated to them the kubelet tells nothing

	where             []whereabouts        // of each process
	users             users                // that have a process on any device
	current, previous map[int64]cgroup.Ref // the containers of processes, by PID
	byID              map[string]int
	uses              []deviceUse
	containers        []gpu.ContainerUse
}

func newDomain(interval time.Duration) *domain {
	return &domain{
		cadence:  cadence{interval: interval},
		ledger:   newLedger(),
		users:    newUsers(),
		sharing:  make(map[string]*seenSharing),
		current:  make(map[int64]cgroup.Ref),
		previous: make(map[int64]cgroup.Ref),
		byID:     make(map[string]int),
		early:    make(map[podContainer]struct{}),
	}
}

// Option changes an Attributor.
type Option func(*options)

type options struct {
	clients *kube.Clients
	minors  string
}

// WithClients has the Kubernetes API read with these clients, whatever the configuration says of how to reach it.
func WithClients(clients *kube.Clients) Option { return func(o *options) { o.clients = clients } }

// WithMIGMinors names the NVIDIA driver's table of the device nodes of MIG instances, if it is not the usual one.
func WithMIGMinors(file string) Option { return func(o *options) { o.minors = file } }

// New returns an Attributor of reads that take place once in an interval. It reads no file yet, so that a configuration can be
// tried out anywhere.
func New(config Config, interval time.Duration, opts ...Option) (*Attributor, error) {
	o := options{minors: cdi.DefaultMinors}
	for _, option := range opts {
		option(&o)
	}
	a := &Attributor{interval: interval, domains: make(map[gpu.Vendor]*domain)}
	if config.Owners != nil {
		a.connect = func() (*kube.View, error) { return newView(&config, o.clients) }
	}
	var logs *podlogs.Dirs
	if p := config.Processes; p != nil {
		a.processes = true
		logs = podlogs.New(p.LogPath)
	}
	if p := config.PodResources; p != nil {
		kubelet, err := podresources.New(p.Endpoint)
		if err != nil {
			return nil, fmt.Errorf("attribution: pod_resources: %w", err)
		}
		a.allocations = &allocations{kubelet: kubelet, resolver: dynamicResolver{cdi: cdi.New(p.CDIDirs, o.minors)}}
	}
	a.containers = newContainers(nil, logs)
	a.ctx, a.cancel = context.WithCancel(context.Background())
	return a, nil
}

// NewRemote returns an Attributor of the processes of a node that is read from outside, once in an interval: by the control groups
// that were read there, and by a view of the cluster's pods that is shared, and that whoever made it starts and stops. What the kubelet has
// allocated is not known from outside. The view may be nil; then there are no names.
func NewRemote(view *kube.View, interval time.Duration) *Attributor {
	return &Attributor{
		interval: interval, processes: true, remote: true, view: view, containers: newContainers(view, nil),
		domains: make(map[gpu.Vendor]*domain), ctx: context.Background(), cancel: func() {},
	}
}

func newView(config *Config, clients *kube.Clients) (*kube.View, error) {
	if clients == nil {
		rest, err := config.Owners.API.REST()
		if err != nil {
			return nil, err
		}
		if clients, err = kube.NewClients(rest); err != nil {
			return nil, err
		}
	}
	return kube.NewView(clients, kube.ViewOptions{
		Pods: kube.PodsOptions{
			Node: config.NodeName, Labels: config.Owners.Labels, Annotations: config.Owners.Annotations,
		},
		Kinds:   config.Owners.Kinds,
		Devices: config.PodResources != nil,
	})
}

// Start begins to watch the API server, where that is configured, and waits a moment for its first answer. It fails where a
// file that the configuration names cannot be read; whether the API server answers shows later.
func (a *Attributor) Start(ctx context.Context) error {
	if a.connect == nil {
		return nil
	}
	view, err := a.connect()
	if err != nil {
		return fmt.Errorf("attribution: owners: %w", err)
	}
	view.Start()
	ctx, cancel := context.WithTimeout(ctx, syncWait)
	defer cancel()
	view.WaitSynced(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.view, a.containers.view = view, view
	if a.allocations != nil {
		a.allocations.resolver.slices, a.allocations.resolver.claims = view.Slices, view.Claims
	}
	return nil
}

// Apply completes a node that was read on this machine: Device.Holders and HoldersKnown, Process.Container (by the
// control groups that process.Reader has read), and Node.Containers. What it cannot read it adds to Node.Problems. What
// it adds to the node is valid until the next Apply of the same vendor's node.
func (a *Attributor) Apply(ctx context.Context, node *gpu.Node) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(a.ctx, cancel)() // Close ends what is under way
	a.mu.Lock()
	defer a.mu.Unlock()

	now := node.Time
	if now.IsZero() {
		now = time.Now()
	}
	d := a.domains[node.Vendor]
	if d == nil {
		d = newDomain(a.interval)
		a.domains[node.Vendor] = d
	}
	d.generation++
	a.containers.begin(node.Host.NodeName)
	d.stale = a.containers.stale
	d.index.update(node.Devices)
	a.attributeProcesses(node, d)
	a.attributeAllocations(ctx, node, d, now)
	d.quantities(node, now)
	for id, s := range d.sharing {
		if s.generation != d.generation {
			delete(d.sharing, id)
		}
	}
	a.addProblems(node)
}

func (a *Attributor) addProblems(node *gpu.Node) {
	if a.containers.logsErr != nil {
		node.Problems = append(node.Problems, gpu.Problem{Kind: gpu.ProblemAllocations, What: "container logs", Err: a.containers.logsErr})
	}
	if a.view != nil && !a.remote { // what is wrong with it is told of the cluster, not of each node
		node.Problems = append(node.Problems, a.view.Problems()...)
	}
}

// Close ends everything that Start began. An Apply that is under way comes back soon.
func (a *Attributor) Close() error {
	a.cancel()
	a.mu.Lock()
	view := a.view
	a.mu.Unlock()
	if view != nil && !a.remote {
		view.Stop()
	}
	if a.allocations != nil {
		return a.allocations.kubelet.Close()
	}
	return nil
}
