// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package exec

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
	"github.com/otelgpu/gpureceiver/test/kubernetes/cluster"
)

const (
	envCollector = "OTELCOL_GPU"
	clusterName  = "e2e"
	// patience is the limit for conditions that are normally fulfilled within two or three intervals.
	patience = 2 * time.Minute

	// The images of driver pods: with the tool, a shell and timeout; with the tool alone; and without the tool.
	driverImage   = "localhost/driver:1"
	bareImage     = "localhost/driver-bare:1"
	toollessImage = "localhost/driver-toolless:1"

	gpuOperator     = "gpu-operator"
	driverLabel     = "app=nvidia-driver-daemonset"
	driverContainer = "nvidia-driver-ctr"
)

// stage is the cluster with driver pods that tests change.
type stage struct {
	*cluster.Cluster

	collector string
	directory string // what the driver pods see as /replay
}

// newStage puts the driver DaemonSet of the GPU operator onto the cluster, with the replay in it.
func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{Cluster: cluster.Open(t), collector: os.Getenv(envCollector)}
	require.NotEmpty(t, s.collector, "%s must be the built collector", envCollector)
	s.directory = s.Run("replay")
	require.NoError(t, os.MkdirAll(s.directory, 0o755))
	log, err := os.ReadFile(filepath.Join("..", "..", "..", "internal", "nvidiasmi", "parse", "testdata", "xml", "v13-580.xml"))
	require.NoError(t, err)
	// The same GPUs as in the tables of the replay, by which the numbers of their device nodes are found.
	log = []byte(strings.NewReplacer("GPU-58000000-0000-4000-8000-000000000001", "GPU-e2e00000-0000-4000-8000-000000000000",
		"GPU-58000000-0000-4000-8000-000000000002", "GPU-e2e00000-0000-4000-8000-000000000001").Replace(string(log)))
	require.NoError(t, os.WriteFile(filepath.Join(s.directory, "full.xml"), log, 0o644))
	s.replay(t, state{Mode: "good"})
	s.images(t)
	return s
}

// images makes the images of the driver pods.
func (s *stage) images(t *testing.T) {
	t.Helper()
	tool := filepath.Join(t.TempDir(), "replay")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", tool, "./replay")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	output, err := build.CombinedOutput()
	require.NoError(t, err, string(output))
	pause := []cluster.File{{Path: "/pause", From: s.Bin("pause")}}
	replay := []cluster.File{{Path: "/usr/bin/nvidia-smi", From: tool}}
	shell := append(cluster.Applets("sh", "date", "timeout"), cluster.File{Path: "/bin/busybox", From: s.Bin("busybox")})
	for name, files := range map[string][]cluster.File{
		driverImage: slices.Concat(pause, replay, shell), bareImage: slices.Concat(pause, replay), toollessImage: slices.Concat(pause, shell),
	} {
		require.NoError(t, s.Import(t.Context(), &cluster.Image{Name: name, Entrypoint: []string{"/pause"}, Files: files}))
	}
}

// state is what the replay goes by.
type state struct {
	Mode      string    `json:"mode"`
	Processes []process `json:"processes"`
}

type process struct {
	PID    int    `json:"pid"`
	GPU    int    `json:"gpu"`
	Memory int    `json:"memory"`
	Name   string `json:"name"`
}

// replay sets what the tool in the driver pods does from now on.
func (s *stage) replay(t *testing.T, next state) {
	t.Helper()
	text, err := json.Marshal(next)
	require.NoError(t, err)
	written := filepath.Join(s.directory, "written")
	require.NoError(t, os.WriteFile(written, text, 0o644))
	require.NoError(t, os.Rename(written, filepath.Join(s.directory, "state.json"))) // atomically for every reader
}

// namespace creates a namespace. It is not deleted, because deletion takes long and the cluster is temporary.
func (s *stage) namespace(t *testing.T, name string) {
	t.Helper()
	_, err := s.Client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		require.NoError(t, err)
	}
}

// drivers makes a DaemonSet like the GPU operator's and returns its one pod. Its containers are pairs of a name and an image.
func (s *stage) drivers(t *testing.T, namespace, name string, hostPID bool, containers ...string) *corev1.Pod {
	t.Helper()
	var list strings.Builder
	for i := 0; i < len(containers); i += 2 {
		list.WriteString(strings.NewReplacer("NAME", containers[i], "IMAGE", containers[i+1]).Replace(
			"\n      - {name: NAME, image: IMAGE, imagePullPolicy: Never, securityContext: {privileged: true}, " +
				"volumeMounts: [{name: replay, mountPath: /replay}]}"))
	}
	s.Apply(t, strings.NewReplacer("NAMESPACE", namespace, "NAME", name, "CONTAINERS", list.String(), "FOLDER", s.directory,
		"HOSTPID", strconv.FormatBool(hostPID)).Replace(`
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: NAME, namespace: NAMESPACE}
spec:
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec:
      hostPID: HOSTPID
      hostNetwork: true
      dnsPolicy: Default
      terminationGracePeriodSeconds: 1
      automountServiceAccountToken: false
      containers:CONTAINERS
      volumes: [{name: replay, hostPath: {path: FOLDER}}]
`))
	return s.ReadyPod(t, namespace, "app="+name)
}

// outlet is the destination of a collector's data.
type outlet struct {
	*harness.Sink
}

func newOutlet(t *testing.T) outlet {
	t.Helper()
	o := outlet{harness.NewSink()}
	t.Cleanup(func() { assert.NoError(t, o.Close()) })
	return o
}

// next returns the next message of a node's GPUs from now on.
func (o outlet) next(t *testing.T, accept func(harness.Points) bool) harness.Points {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	points, err := o.Next(ctx, accept)
	require.NoError(t, err)
	return points
}

// twoGPUs accepts a message with both GPUs.
func twoGPUs(points harness.Points) bool {
	return len(points.Select("hw.temperature").Distinct("hw.id")) == 2
}

// requireNode requires that every point names its cluster and node. A message may also have whether the cluster can be read.
func requireNode(t *testing.T, points harness.Points) {
	t.Helper()
	require.NotEmpty(t, points)
	for i := range points {
		p := &points[i]
		require.Equal(t, clusterName, p.Resource["k8s.cluster.name"], p.Series())
		if strings.HasPrefix(p.Metric, "hw.gpu.source.") && p.Resource["k8s.node.name"] == "" {
			continue
		}
		require.Equal(t, cluster.NodeName, p.Resource["k8s.node.name"], p.Series())
	}
}

// silent requires that no reading of a GPU arrives for two intervals. Whether the source can be read, and which GPUs are known, is sent all
// the same.
func (o outlet) silent(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*interval)
	defer cancel()
	points, err := o.Next(ctx, func(points harness.Points) bool { return len(points.Select("hw.temperature")) > 0 })
	require.Error(t, err, "a message with readings of GPUs: %v", points)
}

// forward lets pods reach what listens on the machine's loopback address, and returns the address that they are to use.
func (s *stage) forward(t *testing.T, inner string) string {
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(s.MachineIP(), "0"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			outside, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = outside.Close() }()
				inside, err := net.Dial("tcp", inner)
				if err != nil {
					return
				}
				defer func() { _ = inside.Close() }()
				go func() { _, _ = io.Copy(inside, outside) }()
				_, _ = io.Copy(outside, inside)
			}()
		}
	}()
	return listener.Addr().String()
}

// eventually waits until a condition holds.
func eventually(t *testing.T, subject string, condition func() bool) {
	t.Helper()
	for start := time.Now(); !condition(); time.Sleep(50 * time.Millisecond) {
		require.Less(t, time.Since(start), patience, subject)
	}
}
