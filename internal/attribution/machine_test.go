// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/otelgpu/gpureceiver/internal/attribution/podresources/kubelettest"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube"
)

// machine is a node with a kubelet and the Attributor that runs on it.
type machine struct {
	t       testing.TB
	config  Config
	kubelet *kubelettest.Kubelet
	client  *fake.Clientset
	clients *kube.Clients
	logs    string
	cdi     string
	minors  string
	sys     string
	logger  *zap.Logger
	now     time.Time

	attributor *Attributor
}

// newMachine returns a node on which everything may be read, unless change takes it away.
func newMachine(t testing.TB, change func(*Config), objects ...runtime.Object) *machine {
	t.Helper()
	root := t.TempDir()
	m := &machine{
		t: t, kubelet: kubelettest.New(t), client: fake.NewClientset(objects...),
		logs: filepath.Join(root, "log"), cdi: filepath.Join(root, "cdi"), minors: filepath.Join(root, "mig-minors"),
		sys: filepath.Join(root, "sys"), logger: zap.NewNop(),
		now: time.Unix(1_700_000_000, 0),
	}
	m.kubelet.Start()
	scheme := metadatafake.NewTestScheme()
	require.NoError(t, metav1.AddMetaToScheme(scheme))
	m.clients = &kube.Clients{
		Kubernetes: m.client, Metadata: metadatafake.NewSimpleMetadataClient(scheme),
		Dynamic: dynamicfake.NewSimpleDynamicClient(runtime.NewScheme()),
	}
	owners := DefaultOwners()
	m.config = Config{
		NodeName:     "n1",
		PodResources: &PodResourcesConfig{Endpoint: m.kubelet.Endpoint(), CDIDirs: []string{m.cdi}},
		Processes:    &ProcessesConfig{ProcPath: "/proc", LogPath: m.logs},
		Owners:       &owners,
	}
	if change != nil {
		change(&m.config)
	}
	return m
}

// interval is the time between two reads.
const interval = 10 * time.Second

func noAPI(c *Config)     { c.Owners = nil }
func noKubelet(c *Config) { c.PodResources = nil }

// start starts the Attributor.
func (m *machine) start() *machine {
	m.t.Helper()
	m.startIn(context.Background())
	return m
}

// startUnread starts the Attributor with an API server that refuses the list of pods, for which Start does not wait then.
func (m *machine) startUnread() {
	m.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	m.startIn(ctx)
	require.Eventually(m.t, func() bool { return m.attributor.view.Pods.Err() != nil }, time.Minute, time.Millisecond)
}

func (m *machine) startIn(ctx context.Context) {
	m.t.Helper()
	var err error
	m.attributor, err = New(m.config, interval,
		WithClients(m.clients), WithMIGMinors(m.minors), WithSysRoot(m.sys), WithLogger(m.logger), WithWait(time.Minute))
	require.NoError(m.t, err)
	require.NoError(m.t, m.attributor.Start(ctx))
	m.t.Cleanup(m.stop)
}

// watched waits until a fake API server has the watch of a resource. It notifies no watch of a deletion between the list and the watch.
func watched(t testing.TB, client *clienttesting.Fake, resource string) {
	t.Helper()
	require.Eventually(t, func() bool {
		return slices.ContainsFunc(client.Actions(), func(a clienttesting.Action) bool { return a.Matches("watch", resource) })
	}, time.Minute, time.Millisecond)
}

// stop ends the Attributor, if it runs.
func (m *machine) stop() {
	if m.attributor != nil {
		assert.NoError(m.t, m.attributor.Close())
		m.attributor = nil
	}
}

// apply attributes a read that takes place some seconds after the last one.
func (m *machine) apply(node *gpu.Node, seconds ...float64) *gpu.Node {
	m.t.Helper()
	for _, s := range seconds {
		m.now = m.now.Add(time.Duration(s * float64(time.Second)))
	}
	node.Time = m.now
	m.attributor.Describe(context.Background(), node)
	return node
}

// log adds the log files of a container.
func (m *machine) log(c testContainer) {
	m.t.Helper()
	m.logFile(c, c.uid(), c.id())
}

// logFile adds the log files of a container with any UID and ID.
func (m *machine) logFile(c testContainer, uid, id string) {
	m.t.Helper()
	target := filepath.Join(m.logs, "pods", "ml_"+c.pod+"_"+uid, c.name, "0.log")
	require.NoError(m.t, os.MkdirAll(filepath.Dir(target), 0o755))
	link := filepath.Join(m.logs, "containers", c.pod+"_ml_"+c.name+"-"+id+".log")
	require.NoError(m.t, os.MkdirAll(filepath.Dir(link), 0o755))
	require.NoError(m.t, os.Symlink(target, link))
}

func (m *machine) file(directory, name, content string) {
	m.t.Helper()
	require.NoError(m.t, os.MkdirAll(directory, 0o755))
	require.NoError(m.t, os.WriteFile(filepath.Join(directory, name), []byte(content), 0o600))
}

// testContainer is a container of a pod in the namespace ml. Its UID and ID follow from the names.
type testContainer struct{ pod, name string }

var (
	train  = testContainer{"train-0", "main"}
	infer  = testContainer{"infer-0", "server"}
	helper = testContainer{"train-0", "helper"}
)

func hash(s string, length int) string {
	var b strings.Builder
	for i := 0; b.Len() < length; i++ {
		fmt.Fprintf(&b, "%x", fmt.Append(nil, s, i))
	}
	return b.String()[:length]
}

func (w testContainer) uid() string {
	h := hash("uid"+w.pod, 32)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

func (w testContainer) id() string { return hash(w.pod+"/"+w.name, 64) }

// cgroup is the content of /proc/<pid>/cgroup of a process in the container.
func (w testContainer) cgroup() string {
	return "0::/kubepods.slice/kubepods-pod" + strings.ReplaceAll(w.uid(), "-", "_") + ".slice/cri-containerd-" + w.id() + ".scope\n"
}

// named has what the kubelet says, used what control groups say, joined both.
func (w testContainer) named() *gpu.Container {
	return &gpu.Container{Namespace: "ml", PodName: w.pod, Name: w.name}
}
func (w testContainer) used() *gpu.Container { return &gpu.Container{PodUID: w.uid(), ID: w.id()} }
func (w testContainer) joined() *gpu.Container {
	return &gpu.Container{Namespace: "ml", PodName: w.pod, Name: w.name, PodUID: w.uid(), ID: w.id()}
}

// podOf returns the pod of containers as the API has it.
func podOf(containers ...testContainer) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: containers[0].pod, UID: types.UID(containers[0].uid())},
		Spec:       corev1.PodSpec{NodeName: "n1"},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
	for _, c := range containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.name, ContainerID: "containerd://" + c.id(),
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		})
	}
	return pod
}

// mirrorOf turns a pod into the object of a static pod, which has another UID on its node.
func mirrorOf(pod *corev1.Pod, static string) *corev1.Pod {
	yes := true
	pod.Annotations = map[string]string{
		"kubernetes.io/config.hash": static, "kubernetes.io/config.mirror": static, "kubernetes.io/config.source": "file",
	}
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: pod.Spec.NodeName, UID: "n", Controller: &yes}}
	return pod
}

const resource = "nvidia.com/gpu"

// uuid returns the ID of the n-th GPU.
func uuid(n int) string { return fmt.Sprintf("GPU-00000000-0000-0000-0000-%012d", n) }

func migUUID(n int) string { return fmt.Sprintf("MIG-00000000-0000-0000-0000-%012d", n) }

// device returns the n-th GPU.
func device(n int) gpu.Device {
	d := gpu.Device{
		ID: uuid(n), Name: fmt.Sprint("nvidia", n), Vendor: gpu.NVIDIA, Index: gpu.Some(n),
		Info:   gpu.Info{PCIAddress: fmt.Sprintf("0000:%02x:00.0", 0x10+n)},
		Memory: gpu.Memory{Limit: gpu.Some(int64(80e9)), Usage: gpu.Some(int64(10e9))},
		Power:  gpu.Power{Draw: gpu.Some(400.0)},
		Energy: gpu.Total(1000.0),
	}
	d.Utilization[gpu.TaskGeneral] = gpu.Some(0.8)
	return d
}

// mig returns an instance of the n-th GPU.
func mig(n, gi int) gpu.Device {
	return gpu.Device{
		ID: migUUID(10*n + gi), Name: fmt.Sprintf("nvidia%d/gi%d/ci0", n, gi), Vendor: gpu.NVIDIA, Parent: uuid(n),
		GPUInstance: gpu.Some(gi), ComputeInstance: gpu.Some(0),
		Memory: gpu.Memory{Limit: gpu.Some(int64(10e9)), Usage: gpu.Some(int64(4e9))},
	}
}

func nodeOf(devices ...gpu.Device) *gpu.Node {
	node := &gpu.Node{Vendor: gpu.NVIDIA, Devices: devices}
	if len(devices) > 0 {
		node.Vendor = devices[0].Vendor
	}
	return node
}

// run adds a process of a container to the node.
func run(node *gpu.Node, pid int64, deviceID string, c testContainer, bytes int64, sm float64) {
	p := gpu.Process{
		PID: pid, DeviceID: deviceID, Type: gpu.ProcessCompute, Created: time.Unix(1_600_000_000, 0), Cgroup: c.cgroup(),
		Memory: gpu.Some(bytes),
	}
	if sm >= 0 {
		p.Utilization[gpu.TaskGeneral] = gpu.Some(sm)
	}
	node.Processes = append(node.Processes, p)
}

// use returns what a container has of a device.
func use(t testing.TB, node *gpu.Node, c *gpu.Container, deviceID string) gpu.ContainerUse {
	t.Helper()
	var result *gpu.ContainerUse
	for i := range node.Containers {
		if u := &node.Containers[i]; assert.ObjectsAreEqual(c, u.Container) && u.DeviceID == deviceID {
			require.Nil(t, result, "reported twice")
			result = u
		}
	}
	require.NotNil(t, result, "no %+v on %s", c, deviceID)
	return *result
}

func general(u gpu.ContainerUse) gpu.Opt[float64] { return u.Utilization[gpu.TaskGeneral] }

// inDelta compares an optional value.
func inDelta(t testing.TB, want float64, got gpu.Opt[float64]) {
	t.Helper()
	v, ok := got.Get()
	require.True(t, ok, "absent")
	assert.InDelta(t, want, v, 1e-9)
}

func assertTotal(t testing.TB, want float64, got gpu.Counter[float64]) {
	t.Helper()
	v, ok := got.Get()
	require.True(t, ok, "absent")
	assert.InDelta(t, want, v, 1e-6)
	assert.False(t, got.Since().IsZero())
}
