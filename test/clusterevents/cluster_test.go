// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package clusterevents

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/otelgpu/gpureceiver/test/apiserver"
	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// patience is the limit for what normally takes seconds.
const patience = 3 * time.Minute

// namespace is the namespace of all pods.
const namespace = "team"

// cluster is a real API server, a collector with storage that follows its pods, and a backend that is away at times.
type cluster struct {
	t       *testing.T
	client  kubernetes.Interface
	sink    *harness.Sink
	away    atomic.Bool
	dir     string
	binary  string
	config  *strings.Replacer
	page    string // the collector's own metrics
	process *harness.Process
}

const configuration = `
receivers:
  gpu:
    collection_interval: INTERVAL
    initial_delay: 0s
    storage: file_storage/events
    scrapers: {kubernetes_cluster: {endpoint: APISERVER, token_file: TOKEN, insecure_skip_verify: true}}
exporters:
  otlp_http: # no queue and no retries: what it has accepted has arrived
    endpoint: SINK
    sending_queue: {enabled: false}
    retry_on_failure: {enabled: false}
  otlp_http/metrics: {endpoint: SINK, sending_queue: {enabled: false}, retry_on_failure: {enabled: false}}
extensions:
  file_storage/events: {directory: STORAGE, create_directory: true}
service:
  extensions: [file_storage/events]
  telemetry: {metrics: {readers: [{pull: {exporter: {prometheus: {host: 127.0.0.1, port: TELEMETRY}}}}]}}
  pipelines:
    metrics: {receivers: [gpu], exporters: [otlp_http/metrics]}
    logs: {receivers: [gpu], exporters: [otlp_http]}
`

func newCluster(t *testing.T, interval time.Duration) *cluster {
	t.Helper()
	binary := os.Getenv("OTELCOL_GPU")
	if binary == "" {
		t.Skip("no collector to test: OTELCOL_GPU does not name the built otelcol-gpu")
	}
	if !filepath.IsAbs(binary) {
		binary = filepath.Join("..", "..", binary)
	}
	binary, err := filepath.Abs(binary)
	require.NoError(t, err)
	require.FileExists(t, binary, "OTELCOL_GPU")
	access := apiserver.Start(t)
	client, err := kubernetes.NewForConfig(access)
	require.NoError(t, err)
	c := &cluster{t: t, client: client, sink: harness.NewSink(), dir: t.TempDir(), binary: binary}
	t.Cleanup(func() { assert.NoError(t, c.sink.Close()) })
	require.Eventually(t, func() bool {
		_, err := client.CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{})
		return err == nil
	}, patience, 100*time.Millisecond)
	_, err = client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = client.CoreV1().ServiceAccounts(namespace).Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, metav1.CreateOptions{})
	require.NoError(t, err)

	sink, err := url.Parse(c.sink.URL)
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(sink)
	proxy.ErrorLog = log.New(io.Discard, "", 0) // a collector that is killed ends its requests
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c.away.Load() && r.URL.Path == "/v1/logs" {
			http.Error(w, "away", http.StatusServiceUnavailable)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	token := filepath.Join(c.dir, "token")
	require.NoError(t, os.WriteFile(token, []byte(access.BearerToken), 0o600))
	telemetry, err := harness.FreeAddress()
	require.NoError(t, err)
	c.page = "http://" + telemetry + "/metrics"
	c.config = strings.NewReplacer("INTERVAL", interval.String(), "APISERVER", access.Host, "TOKEN", token, "SINK", server.URL, "STORAGE", filepath.Join(c.dir, "storage"),
		"TELEMETRY", telemetry[strings.LastIndexByte(telemetry, ':')+1:])
	return c
}

// start starts a collector on what the last one has left.
func (c *cluster) start() {
	c.t.Helper()
	process, err := harness.Collector(harness.Options{Binary: c.binary, Dir: c.dir}, c.config.Replace(configuration))
	require.NoError(c.t, err)
	c.process = process
	c.t.Cleanup(func() {
		process.Kill()
		if c.t.Failed() && process == c.process {
			c.t.Logf("the last run:\n%s", process.Output())
		}
		assert.NotContains(c.t, process.Output(), "panic:")
	})
}

// read waits for two messages of metrics: the cluster has been read.
func (c *cluster) read() {
	c.t.Helper()
	before, _ := c.sink.Messages()
	c.eventually("two reads", func() bool {
		now, _ := c.sink.Messages()
		return now >= before+2
	})
}

func (c *cluster) eventually(subject string, is func() bool) {
	c.t.Helper()
	require.Eventually(c.t, is, patience, 50*time.Millisecond, subject)
}

// own returns the sum of a metric of the collector itself; false if it does not answer yet, or has no such metric.
func (c *cluster) own(metric string) (sum int, ok bool) {
	code, body, err := harness.Get(c.t.Context(), c.page)
	if err != nil || code != http.StatusOK {
		return 0, false
	}
	page, err := harness.ParsePage(body)
	require.NoError(c.t, err)
	for _, s := range page {
		if strings.HasPrefix(s.Name, metric) {
			sum, ok = sum+int(s.Value), true
		}
	}
	return sum, ok
}

// The methods below may be called from any goroutine.

// create makes a pod that requests a GPU, of a Job if that is named.
func (c *cluster) create(name, job string) *corev1.Pod {
	c.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "a", Resources: corev1.ResourceRequirements{
			Limits: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")},
		}}}},
	}
	if job != "" {
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: job, UID: uidOfJob(job)}}
	}
	pod, err := c.client.CoreV1().Pods(namespace).Create(c.t.Context(), pod, metav1.CreateOptions{})
	assert.NoError(c.t, err)
	return pod
}

// bind gives a pod its node, as the scheduler does.
func (c *cluster) bind(name string) {
	c.t.Helper()
	assert.NoError(c.t, c.client.CoreV1().Pods(namespace).Bind(c.t.Context(), &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Target: corev1.ObjectReference{Kind: "Node", Name: "node-a"},
	}, metav1.CreateOptions{}))
}

// status changes a pod's status, as the kubelet does.
func (c *cluster) status(name string, phase corev1.PodPhase, restarts int32) {
	c.t.Helper()
	pod, err := c.client.CoreV1().Pods(namespace).Get(c.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		c.t.Errorf("get pod %s: %v", name, err)
		return
	}
	now := metav1.Now()
	container := corev1.ContainerStatus{Name: "main", Image: "a", RestartCount: restarts, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}}
	if phase == corev1.PodSucceeded {
		container.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: now, FinishedAt: now}}
	}
	if restarts > 0 {
		container.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", StartedAt: now, FinishedAt: now}
	}
	pod.Status.Phase, pod.Status.ContainerStatuses = phase, []corev1.ContainerStatus{container}
	_, err = c.client.CoreV1().Pods(namespace).UpdateStatus(c.t.Context(), pod, metav1.UpdateOptions{})
	assert.NoError(c.t, err)
}

// remove deletes a pod at once.
func (c *cluster) remove(name string) {
	c.t.Helper()
	now := int64(0)
	assert.NoError(c.t, c.client.CoreV1().Pods(namespace).Delete(c.t.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: &now}))
}
