// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
	"github.com/otelgpu/gpureceiver/test/kubernetes/cluster"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

// The parts of the receiver's attribution.
const (
	askKubelet = "      pod_resources: {}\n"
	processes  = "      processes: {}\n"
)

const configuration = `
receivers:
  gpu:
    collection_interval: 500ms
    initial_delay: 0s
    timeout: 500ms
    attribution:
      node_name: NODE
ATTRIBUTION
    scrapers:
      nvml: {library_path: LIBRARY}
exporters:
  otlp_http: {endpoint: SINK}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    metrics: {receivers: [gpu], exporters: [otlp_http]}
`

// binary is the collector under test.
func binary(t *testing.T) string {
	t.Helper()
	path := os.Getenv("OTELCOL_GPU")
	if path == "" {
		path = filepath.Join("dist", "otelcol-gpu")
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join("..", "..", "..", path)
	}
	path, err := filepath.Abs(path)
	require.NoError(t, err)
	require.FileExists(t, path, "OTELCOL_GPU; run `make otelcol-gpu`")
	return path
}

// startCollector starts the collector in the node as the documentation requires: as user 0, without any capability.
func (w *world) startCollector(t *testing.T, attribution ...string) {
	t.Helper()
	w.startCollectorBy(t, []string{"setpriv", "--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all"}, attribution...)
}

// startCollectorBy starts it by a program that changes its permissions or its view.
func (w *world) startCollectorBy(t *testing.T, program []string, attribution ...string) {
	t.Helper()
	o := w.inNode(append(program, binary(t))...)
	o.Env = []string{nvmlsim.EnvScenario + "=" + w.scenario(), nvmlsim.EnvControl + "=" + w.control.Path()}
	config := strings.NewReplacer("NODE", cluster.NodeName, "LIBRARY", w.library, "SINK", w.outlet,
		"ATTRIBUTION\n", strings.Join(attribution, "")).Replace(configuration)
	w.simulate(t)
	process, err := harness.Collector(o, config)
	require.NoError(t, err)
	w.collector = process
	w.whole.Cleanup(func() { // it outlives the step that it was started in
		process.Kill()
		if w.whole.Failed() {
			w.whole.Logf("collector:\n%s", process.Output())
		}
		assert.NotContains(w.whole, process.Output(), "panic:")
		assert.NotContains(w.whole, process.Output(), "fatal error:")
	})
	w.live = true
	w.simulate(t)
}

// stopCollector ends the collector as a pod's end does.
func (w *world) stopCollector(t *testing.T) {
	t.Helper()
	code, _, err := w.collector.Interrupt(30 * time.Second)
	require.NoError(t, err)
	require.Zero(t, code, w.collector.Output())
	w.live = false
}

// access contains the permissions that the documentation requires.
const access = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: gpu-agent, namespace: NAMESPACE}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: NAMESPACE}
rules:
- {apiGroups: [""], resources: [pods], verbs: [list, watch]}
- {apiGroups: [apps], resources: [replicasets], verbs: [get]}
- {apiGroups: [batch], resources: [jobs], verbs: [get]}
- {apiGroups: [resource.k8s.io], resources: [resourceslices], verbs: [list, watch]}
- {apiGroups: [resource.k8s.io], resources: [resourceclaims], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: NAMESPACE}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: NAMESPACE}
subjects:
- {kind: ServiceAccount, name: gpu-agent, namespace: NAMESPACE}
`

// ownersPart is the configuration that reads the API server, as a service account with the documented permissions.
func (w *world) ownersPart(t *testing.T) string {
	t.Helper()
	w.cluster.Apply(t, strings.ReplaceAll(access, "NAMESPACE", w.namespace))
	file := filepath.Join(w.dir, "token")
	require.NoError(t, os.WriteFile(file, []byte(w.cluster.Token(t, w.namespace, "gpu-agent", nil)), 0o600))
	return fmt.Sprintf("      owners: {endpoint: https://%s:443, token_file: %s, ca_file: %s}\n",
		w.cluster.NodeIP(), file, w.cluster.PKI("ca.crt"))
}
