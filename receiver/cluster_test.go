// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

func TestClusterView(t *testing.T) {
	gpus := func(n string) corev1.ResourceList {
		return corev1.ResourceList{"nvidia.com/gpu": resource.MustParse(n)}
	}
	client := fake.NewSimpleClientset(
		&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "node-1"},
			Status:     corev1.NodeStatus{Capacity: gpus("8"), Allocatable: gpus("8")},
		},
		&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "train-0", UID: "uid-0"},
			Spec: corev1.PodSpec{NodeName: "node-1", Containers: []corev1.Container{
				{Name: "main", Resources: corev1.ResourceRequirements{Limits: gpus("2"), Requests: gpus("2")}},
			}},
			Status: corev1.PodStatus{Phase: corev1.PodRunning},
		},
	)
	cfg := createDefaultConfig().(*Config)
	conf := confmap.NewFromStringMap(map[string]any{
		"collection_interval": "100ms", "initial_delay": "1ms", "timeout": "100ms",
		"scrapers":    map[string]any{"kubernetes_cluster": nil},
		"attribution": map[string]any{"cluster_name": "prod"},
	})
	require.NoError(t, conf.Unmarshal(cfg))
	require.NoError(t, cfg.Validate())

	tel := componenttest.NewTelemetry()
	t.Cleanup(func() { require.NoError(t, tel.Shutdown(context.Background())) })
	answer := make(chan struct{})
	client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		<-answer
		return false, nil, nil
	})
	r := newRigOf(t, openSource)
	r.cfg, r.set.TelemetrySettings = cfg, tel.NewTelemetrySettings()
	assert.Equal(t, []string{"nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-*", "amd.com/gpu", "amd.com/?px_nps?"},
		cfg.scraperConfig(clusterKey).(*ClusterConfig).ResourceNames)
	r.factory.connect = func(*kube.Config) (*kube.Clients, error) { return &kube.Clients{Kubernetes: client}, nil }
	m := r.newMetrics()
	sources, err := r.instances()[cfg].start(t.Context(), r.host)
	require.NoError(t, err)
	assert.Empty(t, own(t, tel, "otelcol_gpu_read_success"), "no read yet")
	require.NoError(t, m.Start(t.Context(), r.host))
	const labels = "k8s.cluster.name=prod,receiver=gpu,scraper=kubernetes_cluster"
	eventually(t, func() bool { return sources.cluster.stats.get().read }, "it is not read")
	assert.Equal(t, map[string]float64{labels: 0}, own(t, tel, "otelcol_gpu_read_success"), "the pods are not listed")
	assert.Empty(t, own(t, tel, "otelcol_gpu_read_age"))
	close(answer)
	eventually(t, func() bool { return r.metrics.DataPointCount() > 0 }, "nothing was sent")
	eventually(t, func() bool { return own(t, tel, "otelcol_gpu_read_success")[labels] == 1 }, "the read is no success")
	assert.Contains(t, own(t, tel, "otelcol_gpu_read_age"), labels)
	assert.Contains(t, own(t, tel, "otelcol_gpu_read_duration"), labels)
	require.NoError(t, m.Shutdown(t.Context()))

	values := map[string]int64{}
	for _, rm := range r.metrics.AllMetrics()[len(r.metrics.AllMetrics())-1].ResourceMetrics().All() {
		for _, m := range rm.ScopeMetrics().At(0).Metrics().All() {
			values[m.Name()] = m.Sum().DataPoints().At(0).IntValue()
		}
	}
	assert.Equal(t, map[string]int64{
		"hw.gpu.source.readable": 1, "k8s.node.gpu.capacity": 8, "k8s.node.gpu.allocatable": 8, "k8s.node.gpu.requested": 2,
		"k8s.container.gpu.request": 2, "k8s.cluster.gpu.pod.pending": 0,
	}, values)
}

// An API server that never answers, or refuses, is a failed source with the cluster's name: in metrics, events and status.
func TestClusterViewNeverReadable(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte("secret"), 0o600))
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`))
	}))
	t.Cleanup(refusing.Close)
	for endpoint, want := range map[string]string{"https://127.0.0.1:1": "api_unreachable", refusing.URL: "api_forbidden"} {
		r := newRigOf(t, openSource)
		r.cfg.Scrapers = map[string]component.Config{clusterKey: &ClusterConfig{
			API: kube.Config{Endpoint: endpoint, TokenFile: token}, ResourceNames: []string{"nvidia.com/gpu"},
		}}
		r.cfg.Attribution.ClusterName = "gone"
		host := &statusHost{Host: r.host}
		l, m := r.newLogs(), r.newMetrics()
		require.NoError(t, l.Start(t.Context(), host))
		require.NoError(t, m.Start(t.Context(), host))
		eventually(t, func() bool {
			return r.metrics.DataPointCount() > 0 && r.logs.LogRecordCount() > 0 && len(host.statuses()) > 0
		}, "nothing was sent")
		require.NoError(t, m.Shutdown(t.Context()))
		require.NoError(t, l.Shutdown(t.Context()))
		points := otlptest.Points(r.metrics.AllMetrics()[0])
		assert.Equal(t, []string{"hw.gpu.source.failure", "hw.gpu.source.readable"}, otlptest.Names(points))
		assert.Equal(t, map[string]any{
			"hw.gpu.source.name": "kubernetes_cluster", "k8s.cluster.name": "gone", "error.type": want,
		}, otlptest.Of(points, "hw.gpu.source.failure")[0].Attributes)
		assert.Equal(t, 1, r.logs.LogRecordCount())
		assert.Equal(t, "hw.gpu.source.failed", r.logs.AllLogs()[0].ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).EventName())
		assert.Equal(t, componentstatus.StatusRecoverableError, host.statuses()[0].Status())
	}
}

func TestClusterViewAlone(t *testing.T) {
	cfg := createDefaultConfig().(*Config)
	conf := confmap.NewFromStringMap(map[string]any{"scrapers": map[string]any{
		"kubernetes_cluster": map[string]any{"auth_type": "kubeConfig"}, "nvml": nil,
	}})
	require.NoError(t, conf.Unmarshal(cfg))
	assert.ErrorContains(t, cfg.Validate(), "scrapers::kubernetes_cluster and scrapers::nvml: the first is for one collector in a cluster")
}

func TestClusterViewConfig(t *testing.T) {
	cfg := createDefaultConfig().(*Config)
	conf := confmap.NewFromStringMap(map[string]any{"scrapers": map[string]any{
		"kubernetes_cluster": map[string]any{"resource_names": []any{"[x"}},
	}})
	require.NoError(t, conf.Unmarshal(cfg))
	require.ErrorContains(t, cfg.Validate(), `scrapers::kubernetes_cluster::resource_names: "[x" is not the name of a resource`)

	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	r := newRigOf(t, openSource)
	r.cfg = cfg
	m := r.newMetrics() // outside of a cluster the configuration can be validated all the same
	require.ErrorContains(t, m.Start(t.Context(), r.host), "scrapers::kubernetes_cluster: ")
	assert.NoError(t, m.Shutdown(t.Context()))
}

// TestClusterViewOfUnreachableServer: an API server that does not answer is no error at the start; a resource that cannot be
// matched is one. A risky configuration is logged.
func TestClusterViewOfUnreachableServer(t *testing.T) {
	r := newRigOf(t, openSource)
	r.cfg.ControllerConfig.InitialDelay = time.Hour
	view := defaultClusterConfig().(*ClusterConfig)
	view.API = kube.Config{Endpoint: "https://127.0.0.1:1", AuthType: kube.AuthNone, InsecureSkipVerify: true}
	r.cfg.Scrapers = map[string]component.Config{clusterKey: view}
	m := r.newMetrics()
	require.NoError(t, m.Start(t.Context(), r.host))
	require.NoError(t, m.Shutdown(t.Context()))
	assert.Len(t, r.messages("scrapers::kubernetes_cluster: the API server's certificate is not verified"), 1)

	view.ResourceNames = []string{"[x"}
	m = r.newMetrics()
	require.ErrorContains(t, m.Start(t.Context(), r.host), "scrapers::kubernetes_cluster: ")
	require.NoError(t, m.Shutdown(t.Context()))
}
