// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/attribution/podresources/kubelettest"
	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// workload is a container of the namespace ml, and its process. UID and id follow from the number.
type workload struct {
	number         int
	pod, container string
}

func (w workload) uid() string { return fmt.Sprintf("00000000-0000-4000-8000-%012x", w.number) }
func (w workload) id() string  { return fmt.Sprintf("%064x", 0xc0ffee00+w.number) }
func (w workload) pid() int    { return 5000 + w.number }

// The workloads of the node: training holds a GPU alone and uses it, the notebook holds one and does not use it, the stowaway uses one that
// it does not hold, two servers share one by time slicing, and a small server has a MIG instance.
var (
	training = workload{1, "train-0", "main"}
	notebook = workload{2, "notebook-0", "main"}
	stowaway = workload{3, "stowaway-0", "main"}
	serverA  = workload{4, "server-a", "triton"}
	serverB  = workload{5, "server-b", "triton"}
	sliced   = workload{6, "sliced-0", "main"}
)

// The GPUs by number: 0 training, 1 notebook, 2 stowaway, 3 unused, 4 the two servers, 5 two MIG instances, one of them free, 6 a process
// outside of any container, 7 unused.
const workloadScenario = `
gpus = 8
[gpu *]
board = h100
util.gpu = 0
power = 70
temperature = 40
memory.base = 0
[gpu 0]
util.gpu = 90
power = 600
temperature = 70
[gpu 2]
util.gpu = 50
power = 300
[gpu 4]
util.gpu = 60
power = 400
[gpu 5]
mig = 1
power = 200
[gpu 6]
util.gpu = 20
power = 150
[mig 5 0]
profile = 3g.40gb
uuid = MIG-00000000-0000-4000-8000-000000000050
[mig 5 1]
profile = 3g.40gb
uuid = MIG-00000000-0000-4000-8000-000000000051
[process train]
gpu = 0
pid = 5001
memory = 40Gi
sm = 90
[process stowaway]
gpu = 2
pid = 5003
memory = 10Gi
sm = 50
[process server-a]
gpu = 4
pid = 5004
memory = 8Gi
sm = 40
[process server-b]
gpu = 4
pid = 5005
memory = 16Gi
sm = 20
[process sliced]
gpu = 5
mig = 0
pid = 5006
memory = 4Gi
[process daemon]
gpu = 6
pid = 5099
memory = 2Gi
sm = 20
`

// workloadNode is a node of a cluster: a kubelet with allocations, the files from which attribution gets processes and names, and the
// collector.
type workloadNode struct {
	*node
	kubelet    *kubelettest.Kubelet
	proc, logs string
	telemetry  string // URL of the collector's own metrics, once it has started
}

// prepareWorkloads creates the node. Only the kubelet runs on it yet.
func prepareWorkloads(t *testing.T) *workloadNode {
	t.Helper()
	n := &workloadNode{node: prepare(t, spec{scenario: workloadScenario}), kubelet: kubelettest.New(t)}
	n.proc, n.logs = filepath.Join(n.dir, "proc"), filepath.Join(n.dir, "log")
	n.kubelet.Start()
	const resource = "nvidia.com/gpu"
	n.kubelet.Set(
		kubelettest.Pod(training.pod, kubelettest.Container(training.container, resource, gpu(0))),
		kubelettest.Pod(notebook.pod, kubelettest.Container(notebook.container, resource, gpu(1))),
		kubelettest.Pod(serverA.pod, kubelettest.Container(serverA.container, resource, gpu(4)+"::0")),
		kubelettest.Pod(serverB.pod, kubelettest.Container(serverB.container, resource, gpu(4)+"::1")),
		kubelettest.Pod(sliced.pod, kubelettest.Container(sliced.container, "nvidia.com/mig-3g.40gb", "MIG-00000000-0000-4000-8000-000000000050")),
	)
	n.file("proc/stat", "cpu  1 2 3\nbtime 1700000000\n")
	for _, w := range []workload{training, notebook, stowaway, serverA, serverB, sliced} {
		n.log(w)
		n.running(w.pid(), "kubepods.slice/kubepods-pod"+strings.ReplaceAll(w.uid(), "-", "_")+".slice/cri-containerd-"+w.id()+".scope")
	}
	n.running(5099, "system.slice/miner.service")
	return n
}

// override contains the settings of a shipped configuration that a test changes: paths and read intervals.
const override = `
receivers:
  gpu:
    collection_interval: INTERVAL
    initial_delay: 0s
    timeout: INTERVAL
    SCRAPERS
exporters:
  prometheus: {endpoint: PAGE}
extensions:
  health_check: {http: {endpoint: STATUS}}
service:
  telemetry: {metrics: {readers: [{pull: {exporter: {prometheus: {host: 127.0.0.1, port: TELEMETRY}}}}]}}
`

// shipped is a collector that runs with shipped configurations, unchanged except for paths.
type shipped struct {
	configs  []string // below config/
	interval string   // collection_interval and timeout, 500ms if empty
	scrapers string   // further settings of the receiver, in YAML's flow style
	more     string   // another configuration, after the others; TELEMETRY is the port of its own metrics
	env      []string
	prefix   []string // a program that starts the collector

	telemetry string // URL of its own metrics, once it has started
}

// start starts the collector on the node.
func (n *workloadNode) start(s shipped) {
	n.t.Helper()
	s.scrapers = fmt.Sprintf("scrapers: {nvml: {library_path: %q}}\n    attribution: {pod_resources: {endpoint: %q, cdi_dirs: []}, "+
		"processes: {proc_path: %q, log_path: %q, any_pid_namespace: true}}", simulator(n.t).Full, n.kubelet.Endpoint(), n.proc, n.logs)
	s.env = append(n.environment(), s.env...)
	n.page, n.process = s.start(n.t, n.dir, n.sink)
	n.telemetry = s.telemetry
}

// start starts a collector, and returns the address of its page.
func (s *shipped) start(t *testing.T, dir string, sink *harness.Sink) (page string, process *harness.Process) {
	t.Helper()
	endpoint, stop, err := sink.ServeGRPC()
	require.NoError(t, err)
	t.Cleanup(stop)
	page = freeAddress(t)
	_, telemetry, _ := strings.Cut(freeAddress(t), ":")
	s.telemetry = "http://127.0.0.1:" + telemetry + "/metrics"
	args := slices.Concat(s.prefix, []string{binary(t), harness.FeatureGates})
	for _, name := range s.configs {
		args = append(args, "--config="+filepath.Join(root(t), "config", name))
	}
	changes := strings.NewReplacer("INTERVAL", cmp.Or(s.interval, "500ms"), "SCRAPERS", s.scrapers, "PAGE", page, "STATUS", freeAddress(t), "TELEMETRY", telemetry).Replace(override)
	for i, text := range []string{changes, strings.ReplaceAll(s.more, "TELEMETRY", telemetry)} {
		if text != "" {
			path := filepath.Join(dir, fmt.Sprintf("override-%d.yaml", i))
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
			args = append(args, "--config="+path)
		}
	}
	env := append([]string{"K8S_NODE_NAME=node-a", "K8S_CLUSTER_NAME=prod", "OTLP_ENDPOINT=" + endpoint}, s.env...)
	process, err = harness.Start(harness.Options{Binary: args[0], Dir: dir, Args: args[1:], Env: env})
	require.NoError(t, err)
	t.Cleanup(func() {
		process.Kill()
		if t.Failed() {
			t.Logf("%v:\n%s", s.configs, process.Output())
		}
		require.NotContains(t, process.Output(), "panic:")
	})
	return "http://" + page + "/metrics", process
}

// attributed reports whether a message has all attribution data, including energy, which takes two reads.
func attributed(points harness.Points) bool {
	return len(points.Select("container.gpu.energy")) >= 4 && len(points.Select("container.gpu.allocated", "k8s.pod.name", sliced.pod)) > 0
}

func (n *workloadNode) file(name, content string) {
	n.t.Helper()
	path := filepath.Join(n.dir, name)
	require.NoError(n.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(n.t, os.WriteFile(path, []byte(content), 0o600))
}

// log makes the log files of a container, as the kubelet names them.
func (n *workloadNode) log(w workload) {
	n.t.Helper()
	name := filepath.Join("log", "pods", "ml_"+w.pod+"_"+w.uid(), w.container, "0.log")
	n.file(name, "")
	link := filepath.Join(n.logs, "containers", w.pod+"_ml_"+w.container+"-"+w.id()+".log")
	require.NoError(n.t, os.MkdirAll(filepath.Dir(link), 0o755))
	require.NoError(n.t, os.Symlink(filepath.Join(n.dir, name), link))
}

// running puts a process into the process table.
func (n *workloadNode) running(pid int, cgroup string) {
	n.t.Helper()
	directory := "proc/" + strconv.Itoa(pid) + "/"
	n.file(directory+"stat", fmt.Sprintf("%d (python3) S 1 %d %d 0 -1 4194304 100 0 0 0 5 6 0 0 20 0 1 0 %d 1024 10 18446744073709551615 1 1 0 0\n",
		pid, pid, pid, pid))
	n.file(directory+"status", "Name:\tpython3\nUid:\t0\t1000\t0\t1000\n")
	n.file(directory+"cgroup", "0::/"+cgroup+"\n")
	n.file(directory+"cmdline", "python3\x00")
}
