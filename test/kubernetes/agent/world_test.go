// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
	"github.com/otelgpu/gpureceiver/test/kubernetes/cluster"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

const (
	// patience is the limit for conditions that are normally fulfilled within a few seconds.
	patience = 2 * time.Minute
	// image is the pods' image: a program that idles.
	image = "localhost/gpu-agent-workload:1"

	// The environment of each container, by which its process is found.
	envPod       = "TEST_POD"
	envContainer = "TEST_CONTAINER"
)

// world is the node, its workloads, and the expectations for the collector.
type world struct {
	whole     *testing.T // not the one of a step
	cluster   *cluster.Cluster
	init      int // the machine's number of the node's first process
	client    kubernetes.Interface
	kubelet   *kubelet
	namespace string // the namespace of the pods
	dir       string // the same on the machine and in the node
	library   string

	sink      *harness.Sink
	outlet    string // the address to which the collector sends
	control   *nvmlsim.Control
	collector *harness.Process // nil if it is a pod
	more      string           // what else is wrong with the GPUs
	live      bool             // it runs, and changes of the simulator apply to it
	witness   *witness

	plugin *harness.Process
	users  []user
	want   map[string][]hold // by pod/container
	names  knowledge
}

func newWorld(t *testing.T) *world {
	t.Helper()
	layout := cluster.Open(t)
	w := &world{whole: t, cluster: layout, client: layout.Client, dir: t.TempDir(), want: map[string][]hold{}}
	var err error
	w.init, err = layout.InitPID()
	require.NoError(t, err)
	library, err := nvmlsim.Build()
	if errors.Is(err, nvmlsim.ErrNoCompiler) {
		t.Skip(err)
	}
	require.NoError(t, err)
	w.library = library.Full
	w.control = nvmlsim.NewControl(filepath.Join(w.dir, "control"))
	require.NoError(t, os.WriteFile(w.scenario(), []byte(scenario()), 0o600))

	w.sink = harness.NewSink()
	w.outlet = w.sink.URL
	t.Cleanup(func() { assert.NoError(t, w.sink.Close()) })
	w.kubelet = newKubelet(t, layout.Layout)
	w.importWorkload(t)
	w.startPlugins(t)
	w.makeNamespace(t)
	w.witness = watch(t, w)
	return w
}

func (w *world) scenario() string { return filepath.Join(w.dir, "scenario") }

// build builds a static program of this module.
func (w *world) build(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(w.dir, name)
	build := exec.CommandContext(t.Context(), "go", "build", "-o", path, "../"+name)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	output, err := build.CombinedOutput()
	require.NoError(t, err, string(output))
	return path
}

func (w *world) importWorkload(t *testing.T) {
	t.Helper()
	workload := &cluster.Image{
		Name: image, Entrypoint: []string{"/pause"},
		Files: []cluster.File{{Path: "/pause", From: w.build(t, "pause")}},
	}
	require.NoError(t, w.cluster.Import(t.Context(), workload))
}

// makeNamespace creates a namespace for the pods. When the test ends it deletes the namespace while the driver still runs: without the
// driver no claim is released, and no pod with a claim ends.
func (w *world) makeNamespace(t *testing.T) {
	t.Helper()
	api := w.client.CoreV1().Namespaces()
	result, err := api.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "gpu-agent-"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	w.namespace = result.Name
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		assert.NoError(t, cluster.Poll(ctx, func() error {
			if err := api.Delete(ctx, w.namespace, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
				return fmt.Errorf("namespace %s is still there: %w", w.namespace, err)
			}
			return nil
		}))
	})
	eventually(t, "the default service account", func() bool {
		_, err := w.client.CoreV1().ServiceAccounts(w.namespace).Get(t.Context(), "default", metav1.GetOptions{})
		return err == nil
	})
}

// startPlugins starts the device plugin and the driver, and waits until the node has all their devices.
func (w *world) startPlugins(t *testing.T) {
	t.Helper()
	w.build(t, "deviceplugin")
	w.build(t, "dradriver")
	w.startPlugin(t)
	w.startInNode(t, "dradriver", append([]string{"-node", cluster.NodeName, "-kubeconfig", w.cluster.Kubeconfig()}, offered()...)...)
	eventually(t, "the node has the devices", func() bool { return w.offered(t) })
}

func (w *world) startPlugin(t *testing.T) {
	t.Helper()
	w.plugin = w.startInNode(t, "deviceplugin", resources()...)
}

// startInNode starts a program of this module that was built before. It outlives the step that it was started in.
func (w *world) startInNode(t *testing.T, name string, args ...string) *harness.Process {
	t.Helper()
	process, err := harness.Start(w.inNode(append([]string{filepath.Join(w.dir, name)}, args...)...))
	require.NoError(t, err)
	w.whole.Cleanup(func() {
		process.Kill()
		if w.whole.Failed() {
			w.whole.Logf("%s:\n%s", name, process.Output())
		}
	})
	return process
}

// offered reports whether the node has all devices of the plugin and of the driver.
func (w *world) offered(t *testing.T) bool {
	t.Helper()
	node, err := w.client.CoreV1().Nodes().Get(t.Context(), cluster.NodeName, metav1.GetOptions{})
	if err != nil {
		return false
	}
	for name, count := range map[corev1.ResourceName]int64{wholeResource: 3, sharedResource: 4, smallMIG: 1, largeMIG: 1, otherResource: 1} {
		if quantity := node.Status.Allocatable[name]; quantity.Value() != count {
			return false
		}
	}
	slices, err := w.client.ResourceV1().ResourceSlices().List(t.Context(), metav1.ListOptions{})
	return err == nil && len(slices.Items) > 0
}
