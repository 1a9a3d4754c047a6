// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/doctor"
	"github.com/otelgpu/gpureceiver/internal/attribution/podresources/kubelettest"
)

// Each container runtime is queried even if there is no container on a GPU.
func TestDoctorRuntimes(t *testing.T) {
	root := t.TempDir()
	got := finish(t, doctorCommand(t, "--output", "json", "--config", "yaml:receivers: {gpu: {scrapers: {amdgpu: {root_path: "+root+"}}, attribution: {processes: , containers: {"+
		"docker: {path: '', endpoint: 'unix:///nonexistent/docker.sock'}, podman: {paths: ["+root+"]}, containerd: {path: "+root+"/none}}}}}\n"+
		"exporters: {debug: }\nservice: {pipelines: {metrics: {receivers: [gpu], exporters: [debug]}}}"))
	r := report(t, got)
	docker := check(t, r, "gpu: attribution", "docker")
	assert.Equal(t, doctor.Failed, docker.State)
	assert.Contains(t, docker.Found, "ask /nonexistent/docker.sock for a container")
	podman := check(t, r, "gpu: attribution", "podman")
	assert.Equal(t, doctor.OK, podman.State)
	assert.Contains(t, podman.Found, root)
	assert.Equal(t, doctor.Note, check(t, r, "gpu: attribution", "containerd").State)
}

// The shipped overlay reads only state files, so a machine without permissions or runtimes starts with it.
func TestDoctorShippedContainers(t *testing.T) {
	config := filepath.Join("..", "..", "config")
	r := report(t, finish(t, doctorCommand(t, "--output", "json", "--config", filepath.Join(config, "agent.yaml"), "--config", filepath.Join(config, "overlays", "containers.yaml"))))
	for _, runtime := range []string{"docker", "podman", "containerd"} {
		assert.NotContains(t, check(t, r, "gpu: attribution", runtime).Found, ".sock")
	}
}

// The kubelet is queried even if there is no GPU, and the address of an exporter is connected to.
func TestDoctorKubeletAndExporter(t *testing.T) {
	kubelet := kubelettest.New(t)
	kubelet.Set(kubelettest.Pod("p", kubelettest.Container("a", "nvidia.com/gpu", "GPU-1")))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	root := t.TempDir()
	config := "yaml:receivers: {gpu: {scrapers: {amdgpu: {root_path: " + root + "}}, attribution: {node_name: n, pod_resources: {endpoint: \"" +
		kubelet.Endpoint() + "\"}}}}\n" +
		"exporters: {otlp_grpc: {endpoint: \"" + listener.Addr().String() + "\", headers: {authorization: Bearer s3cret-value}}, " +
		"otlphttp/dead: {endpoint: \"" + deadAddress(t) + "/v1\"}, otlphttp/unused: {endpoint: nowhere}}\n" +
		"service: {pipelines: {logs: {receivers: [gpu], exporters: [otlp_grpc, otlphttp/dead]}}}"

	got := finish(t, doctorCommand(t, "--config", config, "--output", "json"))
	r := report(t, got)
	missing := check(t, r, "gpu: attribution", "kubelet")
	assert.Equal(t, doctor.Failed, missing.State)
	assert.Contains(t, missing.Found, "mount the kubelet's directory")
	assert.Equal(t, doctor.OK, check(t, r, "exporters", "otlp_grpc").State)
	dead := check(t, r, "exporters", "otlphttp/dead")
	assert.Equal(t, doctor.Failed, dead.State)
	assert.Contains(t, dead.Found, "connection refused")
	assert.Contains(t, dead.Found, "set OTLP_URL")
	assert.NotContains(t, got.out, "unused")
	assert.NotContains(t, got.out+got.err, "s3cret")

	kubelet.Start()
	result := missing
	for start := time.Now(); result.State != doctor.OK; { // the kubelet has 2 s to answer, which a busy machine may exceed
		require.Less(t, time.Since(start), time.Minute, result.Found)
		r = report(t, finish(t, doctorCommand(t, "--config", config, "--output", "json")))
		result = check(t, r, "gpu: attribution", "kubelet")
	}
	assert.Contains(t, result.Found, "1 pods, 1 allocated devices")
}

// The GPUs of Slurm's jobs are read even if there is no GPU.
func TestDoctorSlurm(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	config := "yaml:receivers: {gpu: {scrapers: {amdgpu: {root_path: " + root + "}}, attribution: {slurm: {mapping_dir: " + dir + "}}}}\n" +
		"exporters: {debug: {}}\nservice: {pipelines: {metrics: {receivers: [gpu], exporters: [debug]}}}"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "0"), []byte("12\n"), 0o600))
	got := check(t, report(t, finish(t, doctorCommand(t, "--config", config, "--output", "json"))), "gpu: attribution", "Slurm")
	assert.Equal(t, doctor.OK, got.State)
	assert.Equal(t, dir+": 1 devices held by jobs", got.Found)

	require.NoError(t, os.RemoveAll(dir))
	got = check(t, report(t, finish(t, doctorCommand(t, "--config", config, "--output", "json"))), "gpu: attribution", "Slurm")
	assert.Equal(t, doctor.Failed, got.State)
	assert.Contains(t, got.Found, "cannot read the mapping directory")
}
