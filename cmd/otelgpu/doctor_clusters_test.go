// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/doctor"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/exec/exectest"
)

// execConfig is a configuration that reads the nodes of two clusters: one that answers, and one that does not.
func execConfig(s *exectest.Server, dead string) string {
	one := func(name, endpoint string) string {
		return fmt.Sprintf("{name: %s, endpoint: %q, token_file: %q, ca_file: %q}", name, endpoint, filepath.Join(s.Dir, "token"), filepath.Join(s.Dir, "ca.crt"))
	}
	return "yaml:receivers: {gpu: {collection_interval: 5m, timeout: 5m, scrapers: {kubernetes_exec: {clusters: [" + one("live", s.URL) + ", " + one("dead", dead) + "]}}}}\n" +
		"exporters: {debug: {}}\nservice: {pipelines: {metrics: {receivers: [gpu], exporters: [debug]}}}"
}

// driverPod is a driver pod of the GPU operator on a node of its own.
func driverPod(s *exectest.Server, node string) {
	s.Put(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: node, UID: "n"},
		Status:     corev1.NodeStatus{Capacity: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}},
	})
	s.Put(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "driver-" + node, Namespace: "gpu-operator", UID: "p", Labels: map[string]string{"app": "nvidia-driver-daemonset"}},
		Spec:       corev1.PodSpec{NodeName: node, HostPID: true, Containers: []corev1.Container{{Name: "nvidia-driver-ctr"}}},
		Status: corev1.PodStatus{
			Phase:      corev1.PodRunning,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			ContainerStatuses: []corev1.ContainerStatus{{
				Name: "nvidia-driver-ctr", ContainerID: "c", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
			}},
		},
	})
}

// deadAddress is an address at which nothing listens.
func deadAddress(t *testing.T) string {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	return server.URL
}

// A cluster that answers is read, one that is dead is not, and each missing permission is named.
func TestDoctorClusters(t *testing.T) {
	s := exectest.NewServer(t)
	driverPod(s, "n1")
	s.Put(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n2", UID: "n2"},
		Status:     corev1.NodeStatus{Capacity: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8")}},
	})
	s.Boxes["driver-n1"] = (&exectest.Machine{UUID: "GPU-1"}).Box()
	s.Deny("create pods/exec", "watch replicasets")
	dead := deadAddress(t)
	config := execConfig(s, dead)

	got := finish(t, doctorCommand(t, "--config", config, "--output", "json"))
	assert.Equal(t, 1, got.code)
	r := report(t, got)
	live, lost := "gpu: scrapers::kubernetes_exec::clusters::0", "gpu: scrapers::kubernetes_exec::clusters::1"
	assert.Equal(t, doctor.OK, check(t, r, live, "API server").State)
	assert.Contains(t, check(t, r, live, "permissions").Found, "list nodes, watch nodes, list pods in namespace gpu-operator, watch pods in namespace gpu-operator")
	permission := check(t, r, live, "permission")
	assert.Equal(t, doctor.Failed, permission.State)
	assert.Contains(t, permission.Found, "not allowed to create pods/exec in namespace gpu-operator")
	assert.Contains(t, got.out, "not allowed to watch replicasets.apps;")
	assert.Equal(t, "app=nvidia-driver-daemonset in namespace gpu-operator, tool nvidia_smi: 1 pods", check(t, r, live, "target").Found)
	assert.Equal(t, doctor.Check{State: doctor.OK, Subject: "node n1: source", Found: "GPUs: 1 read"}, check(t, r, live, "node n1: source"))
	assert.Contains(t, check(t, r, live, "node n1: GPU 0").Found, "NVIDIA H100, GPU-1")
	unread := check(t, r, live, "node")
	assert.Equal(t, doctor.Failed, unread.State)
	assert.Equal(t, "container_missing", unread.Reason)
	assert.Contains(t, unread.Found, "node n2")

	failed := check(t, r, lost, "API server")
	assert.Equal(t, doctor.Failed, failed.State)
	assert.Equal(t, "api_unreachable", failed.Reason)
	assert.Contains(t, failed.Found, strings.TrimPrefix(dead, "https://"))
	assert.NotContains(t, got.out, s.Token+"\"")
}

// A kind of owners that the API server does not serve is named: it may be misspelt.
func TestDoctorUnservedKinds(t *testing.T) {
	s := exectest.NewServer(t)
	config := strings.Replace(execConfig(s, s.URL), "{clusters:", "{owners: {kinds: [replicasets.apps, raycluster.ray.io]}, clusters:", 1)
	got := finish(t, doctorCommand(t, "--config", config, "--output", "json"))
	kinds := check(t, report(t, got), "gpu: scrapers::kubernetes_exec::clusters::0", "kinds")
	assert.Equal(t, doctor.Note, kinds.State)
	assert.Contains(t, kinds.Found, "does not serve raycluster.ray.io;")
}

// clustersConfig is a configuration that reads the nodes of clusters without credentials.
func clustersConfig(endpoints ...string) string {
	var clusters []string
	for i, endpoint := range endpoints {
		clusters = append(clusters, fmt.Sprintf("{name: c%d, endpoint: %q, auth_type: none}", i, endpoint))
	}
	return "yaml:receivers: {gpu: {scrapers: {kubernetes_exec: {clusters: [" + strings.Join(clusters, ", ") + "]}}}}\n" +
		"service: {pipelines: {metrics: {receivers: [gpu], exporters: [debug]}}}"
}

// A server that does not answer costs the report only what it has to say. What was found by the end of the time is there.
func TestDoctorTimeout(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	bundle := filepath.Join(t.TempDir(), "bundle.tar.gz")
	config := clustersConfig("https://" + silent.Addr().String())
	got := finish(t, doctorCommand(t, "--timeout", "1s", "--config", config, "--bundle", bundle, "--output", "json"))
	assert.Equal(t, 1, got.code)
	assert.Empty(t, got.err)
	r := report(t, got)
	assert.Equal(t, "api_unreachable", check(t, r, "gpu: scrapers::kubernetes_exec::clusters::0", "API server").Reason)
	assert.Contains(t, check(t, r, "time", "timeout").Found, "raise it with --timeout")
	assert.Contains(t, files(t, bundle)["doctor.txt"], "--timeout")
}

// Clusters are read in parallel: each of these servers answers once the other was queried, too.
func TestDoctorClustersTogether(t *testing.T) {
	requests := []chan struct{}{make(chan struct{}), make(chan struct{})}
	var endpoints []string
	for i := range requests {
		var once sync.Once
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			once.Do(func() { close(requests[i]) })
			select {
			case <-requests[1-i]:
				http.Error(w, "no", http.StatusForbidden)
			case <-r.Context().Done():
			}
		}))
		t.Cleanup(server.Close)
		endpoints = append(endpoints, server.URL)
	}
	r := report(t, finish(t, doctorCommand(t, "--config", clustersConfig(endpoints...), "--output", "json")))
	for i := range endpoints {
		assert.Equal(t, "api_forbidden", check(t, r, fmt.Sprintf("gpu: scrapers::kubernetes_exec::clusters::%d", i), "API server").Reason)
	}
}

// Credentials that the API server does not accept are another failure than a server that does not answer.
func TestDoctorUnauthorized(t *testing.T) {
	s := exectest.NewServer(t)
	s.Set(func() { s.Token = "s3cret-token" })
	s.Write("token", "s3cret-0ther")
	r := finish(t, doctorCommand(t, "--config", execConfig(s, s.URL), "--output", "json"))
	failed := check(t, report(t, r), "gpu: scrapers::kubernetes_exec::clusters::0", "API server")
	assert.Equal(t, "api_unauthorized", failed.Reason)
	assert.Contains(t, failed.Found, "renew the credentials")
	assert.NotContains(t, r.out+r.err, "s3cret")
}
