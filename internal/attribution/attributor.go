// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/attribution/cgroup"
	"github.com/otelgpu/gpureceiver/internal/attribution/deviceid"
	"github.com/otelgpu/gpureceiver/internal/attribution/fractions"
	"github.com/otelgpu/gpureceiver/internal/attribution/podlogs"
	"github.com/otelgpu/gpureceiver/internal/attribution/runtimes"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube"
)

// syncWait is how long Start waits for the API server, so that the first data has names. It is not an error if the API server does not
// answer.
const syncWait = 2 * time.Second

// Attributor attributes the devices and processes of one machine. The sources of several vendors may share it.
type Attributor struct {
	interval    time.Duration
	syncWait    time.Duration
	processes   bool                       // processes are attributed
	remote      bool                       // the node is read without an agent; the creator of the view starts and stops it
	connect     func() (*kube.View, error) // nil if the API may not be read
	allocations *allocations               // nil if the kubelet is not queried
	slurm       *slurmAllocations          // nil if Slurm's jobs are not looked for
	ctx         context.Context
	cancel      context.CancelFunc

	mu         sync.Mutex
	view       *kube.View // nil before Start, and if the API may not be read
	containers *containers
	histories  map[gpu.Vendor]*history
}

// history is what is kept of one vendor's devices from read to read.
type history struct {
	accounting *accounting
	sharing    map[string]gpu.Sharing // how the replicas of each device are shared
	running    map[int64]cgroup.Ref   // the control groups of processes in containers, by PID
}

// Option changes an Attributor.
type Option func(*options)

type options struct {
	clients *kube.Clients
	minors  string
	sys     string
	logger  *zap.Logger
	wait    time.Duration // 0: the usual bounds
}

// bound returns the usual bound of a wait, or the bound of WithWait.
func (o *options) bound(usual time.Duration) time.Duration {
	if o.wait > 0 {
		return o.wait
	}
	return usual
}

// WithClients reads the Kubernetes API with these clients, whatever the configuration says about how to reach it.
func WithClients(clients *kube.Clients) Option { return func(o *options) { o.clients = clients } }

// WithMIGMinors replaces the path of the NVIDIA driver's list of MIG instances, deviceid.DefaultMIGMinors.
func WithMIGMinors(file string) Option { return func(o *options) { o.minors = file } }

// WithSysRoot replaces /sys, which shows to which GPU a virtual one belongs.
func WithSysRoot(path string) Option { return func(o *options) { o.sys = path } }

// WithLogger logs what is not a problem of a read: the resources whose devices do not count as GPUs.
func WithLogger(logger *zap.Logger) Option { return func(o *options) { o.logger = logger } }

// WithWait sets how long Start and Describe wait for the API server, the kubelet and the container runtimes: at most this long for each. It is for
// tests, in which a busy machine must not count as an API server that does not answer.
func WithWait(wait time.Duration) Option { return func(o *options) { o.wait = wait } }

// New returns an Attributor for reads that take place once per interval. It does not read any file yet, so that a configuration can be
// checked anywhere.
func New(config Config, interval time.Duration, opts ...Option) (*Attributor, error) {
	o := options{minors: deviceid.DefaultMIGMinors, sys: "/sys", logger: zap.NewNop()}
	for _, option := range opts {
		option(&o)
	}
	a := &Attributor{interval: interval, syncWait: o.bound(syncWait), histories: make(map[gpu.Vendor]*history)}
	if config.Owners != nil {
		a.connect = func() (*kube.View, error) { return newView(&config, o.clients) }
	}
	var logs *podlogs.Dirs
	if p := config.Processes; p != nil {
		a.processes = true
		logs = podlogs.New(p.LogPath)
	}
	if p := config.PodResources; p != nil {
		var err error
		if a.allocations, err = newAllocations(p, &o, newPartsConfig(config.Owners)); err != nil {
			return nil, fmt.Errorf("attribution: pod_resources: %w", err)
		}
	}
	if s := config.Slurm; s != nil {
		a.slurm = newSlurmAllocations(s)
	}
	a.containers = newContainers(nil, logs)
	if config.Containers != nil {
		a.containers.runtimes = newRuntimeContainers(runtimes.New(config.Containers), o.bound(lookupTime))
	}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	return a, nil
}

// NewRemote returns an Attributor for the processes of a node that is read without an agent, once per interval. It uses the control groups
// that were read there, and a shared view of the cluster's pods that its creator starts and stops; without a view (nil) there are no names.
// Without an agent the kubelet's allocations are unknown.
func NewRemote(view *kube.View, interval time.Duration) *Attributor {
	return &Attributor{
		interval: interval, processes: true, remote: true, view: view, containers: newContainers(view, nil),
		histories: make(map[gpu.Vendor]*history), ctx: context.Background(), cancel: func() {},
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
			Metadata: fractions.IsKey,
		},
		Kinds:   config.Owners.Kinds,
		Devices: config.PodResources != nil,
	})
}

// Start starts to watch the API server, if that is configured, and waits a moment for its first answer. It fails if a file that the
// configuration names cannot be read. Whether the API server answers shows later, in Node.Problems.
func (a *Attributor) Start(ctx context.Context) error {
	if a.connect == nil {
		return nil
	}
	view, err := a.connect()
	if err != nil {
		return kube.Keyed("attribution::owners", err)
	}
	view.Start()
	ctx, cancel := context.WithTimeout(ctx, a.syncWait)
	defer cancel()
	view.WaitSynced(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.view, a.containers.view = view, view
	if a.allocations != nil {
		a.allocations.dynamic.slices, a.allocations.dynamic.claims = view.Slices, view.Claims
	}
	return nil
}

// Describe completes a node that was read on this machine: Device.Holders and HoldersKnown, Process.Container (by the control groups that
// process.Reader has read), and Node.Containers. It adds to Node.Problems what it could not read.
func (a *Attributor) Describe(ctx context.Context, node *gpu.Node) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(a.ctx, cancel)() // Close ends the requests of Describe
	a.mu.Lock()
	defer a.mu.Unlock()

	now := node.Time
	if now.IsZero() {
		now = time.Now()
	}
	h := a.histories[node.Vendor]
	if h == nil {
		h = &history{accounting: newAccounting(a.interval)}
		a.histories[node.Vendor] = h
	}
	devices := deviceid.NewIndex(node.Devices)
	a.containers.begin(node.Host.NodeName)
	var jobs slurmRead
	if a.slurm != nil {
		jobs = a.slurm.read(node)
		a.containers.jobs.learnDetails(jobs.Details)
	}
	placed := placeProcesses(node, a.containers, a.processes, h.running)
	h.running = placed.running

	nodeHolders := newHolders(node, devices, a.containers, placed.users)
	if a.allocations != nil && len(node.Devices) > 0 {
		a.allocations.findHolders(ctx, nodeHolders, now)
	}
	if a.slurm != nil && len(node.Devices) > 0 {
		jobs.findHolders(nodeHolders, a.allocations != nil)
	}
	h.sharing = setSharing(node, devices, h.sharing)
	nodeHolders.finish()
	node.Containers = h.accounting.containerUses(deviceUsages(node, devices, placed, nodeHolders), now)
	a.addProblems(node)
}

// addProblems adds what could not be read, other than the allocations. The problems of a shared view are the cluster's, not each node's.
func (a *Attributor) addProblems(node *gpu.Node) {
	if a.containers.logsErr != nil {
		node.Problems = append(node.Problems, gpu.Problem{Kind: gpu.ProblemAllocations, What: "container logs", Err: a.containers.logsErr})
	}
	if err := a.containers.runtimes.err(); err != nil {
		node.Problems = append(node.Problems, gpu.Problem{Kind: gpu.ProblemAllocations, What: "names of containers", Err: err})
	}
	if a.view != nil && !a.remote {
		node.Problems = append(node.Problems, a.view.Problems()...)
	}
}

// Close ends everything that Start started. A running Describe returns soon.
func (a *Attributor) Close() error {
	a.cancel()
	a.mu.Lock()
	view := a.view
	a.mu.Unlock()
	if view != nil && !a.remote {
		view.Stop()
	}
	if a.allocations != nil {
		return a.allocations.kubelet.client.Close()
	}
	return nil
}
