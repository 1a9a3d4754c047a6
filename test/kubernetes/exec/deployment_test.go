// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package exec

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// shipping reads a manifest as it is shipped.
func shipping(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "deploy", "kubernetes", "exec", name))
	require.NoError(t, err)
	return string(text)
}

// shipped creates the shipped account and its permissions.
func (s *stage) shipped(t *testing.T) {
	t.Helper()
	s.namespace(t, accounts)
	for _, name := range []string{
		"namespace.yaml", "serviceaccount.yaml", "../exec-driver-pods/role.yaml", "clusterrole-nodes.yaml", "clusterrole-attribution.yaml",
	} {
		manifest := shipping(t, name)
		if name == "namespace.yaml" {
			s.Keep(t, manifest)
			continue
		}
		s.Apply(t, manifest)
	}
}

// testDeployment runs the shipped collector in a pod. Only the destination and the interval of the data differ.
func testDeployment(t *testing.T, s *stage) {
	o := newOutlet(t)
	endpoint, stop, err := o.ServeGRPC()
	require.NoError(t, err)
	t.Cleanup(stop)
	s.ImportCollector(t)
	s.Apply(t, strings.NewReplacer(
		"collection_interval: ${env:COLLECTION_INTERVAL:-30s}", "collection_interval: "+interval.String()+"\n        timeout: "+interval.String(),
	).Replace(shipping(t, "configmap.yaml")))
	s.Apply(t, shipping(t, "service.yaml"))
	s.Apply(t, strings.NewReplacer(
		`K8S_CLUSTER_NAME, value: "default"`, `K8S_CLUSTER_NAME, value: `+clusterName,
		"otel-gateway.observability.svc:4317", s.forward(t, endpoint),
		"serviceAccountName:", "dnsPolicy: Default\n      terminationGracePeriodSeconds: 5\n      serviceAccountName:",
	).Replace(shipping(t, "deployment.yaml")))
	pod := s.ReadyPod(t, accounts, "app.kubernetes.io/name=gpureceiver-exec")
	logs := func() string {
		text, err := s.Client.CoreV1().Pods(accounts).GetLogs(pod.Name, &corev1.PodLogOptions{}).DoRaw(context.Background())
		if err != nil {
			return err.Error()
		}
		return string(text)
	}
	defer func() {
		if t.Failed() {
			t.Logf("the collector:\n%s", logs())
		}
	}()
	points := o.next(t, twoGPUs)
	requireNode(t, points)
	for metric, want := range map[string]float64{"hw.temperature": 61, "hw.gpu.utilization": 0.42, "hw.power": 310.25, "hw.gpu.memory.usage": 5120 << 20} {
		value, ok := points.Value(metric, "hw.name", "nvidia0")
		assert.True(t, ok, metric)
		assert.InDelta(t, want, value, 1e-9, metric)
	}
	o.next(t, twoGPUs) // and again
	for _, status := range pod.Status.ContainerStatuses {
		assert.Zero(t, status.RestartCount)
	}
	text := logs()
	assert.NotContains(t, text, "forbidden", "what is shipped grants all that is asked for")
	assert.NotContains(t, text, "Read failed")
}

// testKubeconfig runs the collector beside the cluster with a kubeconfig of several contexts.
func testKubeconfig(t *testing.T, s *stage) {
	dir := t.TempDir()
	b := &beside{outlet: newOutlet(t)}
	path := filepath.Join(dir, "kubeconfig")
	require.NoError(t, os.WriteFile(path, []byte(strings.NewReplacer(
		"SERVER", "https://"+s.NodeIP(), "CA", s.PKI("ca.crt"), "TOKEN", s.Token(t, accounts, shippedAccount, nil),
	).Replace(`
apiVersion: v1
kind: Config
current-context: elsewhere
clusters:
- {name: here, cluster: {server: 'SERVER', certificate-authority: CA}}
- {name: elsewhere, cluster: {server: 'https://127.0.0.1:1'}}
users:
- {name: collector, user: {token: TOKEN}}
contexts:
- {name: here, context: {cluster: here, user: collector}}
- {name: elsewhere, context: {cluster: elsewhere, user: collector}}
`)), 0o600))
	b.run(t, s.collector, dir, config(b.URL, "auth_type: kubeConfig, context: here", ""), "KUBECONFIG="+path)
	requireNode(t, b.next(t, twoGPUs))
}

// testTwoClusters reads one cluster while another is down.
func testTwoClusters(t *testing.T, s *stage) {
	dir := t.TempDir()
	b := &beside{outlet: newOutlet(t), token: filepath.Join(dir, "token")}
	b.setToken(t, s.Token(t, accounts, shippedAccount, nil))
	access := ", token_file: " + b.token + ", ca_file: " + s.PKI("ca.crt")
	b.run(t, s.collector, dir, config(b.URL, "endpoint: 'https://"+s.NodeIP()+"'"+access+
		"}, {name: other, endpoint: 'https://127.0.0.1:1'"+access, ""))
	requireNode(t, b.next(t, twoGPUs))
	b.says(t, `"k8s.cluster.name": "other"`, "driver pods", "127.0.0.1:1", "connection refused")
}

// testAttribution joins a process to its pod using only the driver pod and the API.
func testAttribution(t *testing.T, s *stage) {
	if !machineTable() {
		t.Skip("this machine's root has no view of the machine's process table, as in a container: process 2 is not the kernel's")
	}
	s.namespace(t, "team-a")
	s.Apply(t, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: trainer, namespace: team-a}
spec:
  selector: {matchLabels: {app: trainer}}
  template:
    metadata: {labels: {app: trainer}}
    spec:
      dnsPolicy: Default
      terminationGracePeriodSeconds: 1
      automountServiceAccountToken: false
      containers:
      - {name: side, image: '`+driverImage+`', imagePullPolicy: Never}
      - {name: train, image: '`+driverImage+`', imagePullPolicy: Never}
`)
	pod := s.ReadyPod(t, "team-a", "app=trainer")
	pid := s.ContainerPID(t, pod, "train")
	s.replay(t, state{Mode: "good", Processes: []process{
		{PID: pid, GPU: 0, Memory: 4096, Name: "/pause"},
		{PID: os.Getpid(), GPU: 1, Memory: 512, Name: "/usr/bin/outside"}, // in no pod
	}})
	defer s.replay(t, state{Mode: "good"})
	b := s.start(t, shippedAccount, "")
	memory := func(points harness.Points, pid int) harness.Points {
		return points.Select("process.gpu.memory.usage", "process.pid", itoa(pid))
	}
	points := b.next(t, func(points harness.Points) bool {
		got := memory(points, pid)
		return len(got) == 1 && got[0].Resource["k8s.pod.name"] != ""
	})
	requireNode(t, points)
	inside := memory(points, pid)[0]
	assert.InDelta(t, 4096<<20, inside.Value, 0)
	var id string
	for _, status := range pod.Status.ContainerStatuses {
		if status.Name == "train" {
			_, id, _ = strings.Cut(status.ContainerID, "://")
		}
	}
	sets, err := s.Client.AppsV1().ReplicaSets("team-a").List(t.Context(), metav1.ListOptions{LabelSelector: "app=trainer"})
	require.NoError(t, err)
	require.Len(t, sets.Items, 1)
	for attribute, want := range map[string]string{
		"k8s.pod.name": pod.Name, "k8s.pod.uid": string(pod.UID), "k8s.namespace.name": "team-a", "k8s.container.name": "train",
		"container.id": id, "k8s.replicaset.name": sets.Items[0].Name, "k8s.deployment.name": "trainer",
	} {
		assert.Equal(t, want, inside.Resource[attribute], "%s in %s", attribute, inside.Series())
	}
	outside := memory(points, os.Getpid())
	require.Len(t, outside, 1)
	for attribute := range outside[0].Resource {
		assert.NotContains(t, []string{"k8s.pod.name", "k8s.pod.uid", "k8s.namespace.name", "k8s.container.name", "container.id"}, attribute)
	}
}
