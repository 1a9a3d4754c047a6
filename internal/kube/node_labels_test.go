// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// nodeServer answers requests for the metadata of node n1 with the present labels, or with a status.
type nodeServer struct {
	labels atomic.Pointer[map[string]string]
	status atomic.Int64
	wrong  atomic.Int64 // requests for anything else
}

func (s *nodeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet || r.URL.Path != "/api/v1/nodes/n1" || !strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadata") {
		s.wrong.Add(1)
	}
	w.Header().Set("Content-Type", "application/json")
	if status := int(s.status.Load()); status != 0 {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: int32(status),
			Reason: map[int]metav1.StatusReason{403: metav1.StatusReasonForbidden, 401: metav1.StatusReasonUnauthorized, 404: metav1.StatusReasonNotFound}[status],
		})
		return
	}
	node := object("meta.k8s.io/v1", "PartialObjectMetadata", "n1")
	node.Labels = *s.labels.Load()
	_ = json.NewEncoder(w).Encode(node)
}

func startNodeLabels(t *testing.T, keys ...string) (*nodeServer, *NodeLabels) {
	t.Helper()
	s := &nodeServer{}
	s.labels.Store(&map[string]string{"zone": "a", "nvidia.com/gpu.product": "H100", "nvidia.com/gpu.count": "8", "secret": "x"})
	server := start(httptest.NewUnstartedServer(s))
	t.Cleanup(server.stop)
	clients, err := NewClients(&rest.Config{Host: server.URL, QPS: -1})
	require.NoError(t, err)
	n := NewNodeLabels(clients, "n1", keys)
	n.interval, n.retry, n.timeout = 20*time.Millisecond, 10*time.Millisecond, time.Minute
	t.Cleanup(n.Stop)
	return s, n
}

// The first answer is there after Start, and changes follow.
func TestNodeLabels(t *testing.T) {
	s, n := startNodeLabels(t, "zone", "nvidia.com/*")
	n.Start(t.Context())
	assert.Equal(t, map[string]string{
		"k8s.node.label.zone": "a", "k8s.node.label.nvidia.com/gpu.product": "H100", "k8s.node.label.nvidia.com/gpu.count": "8",
	}, n.Labels())
	assert.Empty(t, n.Problems())
	s.labels.Store(&map[string]string{"zone": "b"})
	eventually(t, func() bool { return len(n.Labels()) == 1 && n.Labels()["k8s.node.label.zone"] == "b" })
	n.Stop() // no goroutine is left that could ask: TestMain sees to it
	assert.Zero(t, s.wrong.Load())
}

// A failure is a problem that says what to do; the labels stay as they were, and come back by themselves.
func TestNodeLabelsUnreadable(t *testing.T) {
	for status, want := range map[int]string{
		http.StatusForbidden: "grant get on nodes", http.StatusUnauthorized: "check the credentials", http.StatusNotFound: "check attribution::node_name",
		http.StatusInternalServerError: "the last known labels are used",
	} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			s, n := startNodeLabels(t, "zone")
			s.status.Store(int64(status))
			n.Start(t.Context())
			assert.Nil(t, n.Labels())
			problems := n.Problems()
			require.Len(t, problems, 1)
			assert.Equal(t, gpu.ProblemKubernetes, problems[0].Kind)
			require.ErrorContains(t, problems[0].Err, "kube: read the labels of node n1: ")
			require.ErrorContains(t, problems[0].Err, want)

			s.status.Store(0)
			eventually(t, func() bool { return n.Problems() == nil })
			assert.Equal(t, map[string]string{"k8s.node.label.zone": "a"}, n.Labels())
			s.status.Store(int64(status))
			eventually(t, func() bool { return n.Problems() != nil })
			assert.Equal(t, map[string]string{"k8s.node.label.zone": "a"}, n.Labels())
		})
	}
}

func TestSelectNodeLabels(t *testing.T) {
	assert.Nil(t, SelectNodeLabels(map[string]string{"a": "1"}, nil))
	assert.Nil(t, SelectNodeLabels(nil, []string{"*"}))
	assert.Equal(t, map[string]string{"k8s.node.label.a": "1", "k8s.node.label.b": ""}, SelectNodeLabels(map[string]string{"a": "1", "b": ""}, []string{"*"}))
	require.NoError(t, CheckNodeLabels([]string{"a", "a/*", "*"}))
	require.EqualError(t, CheckNodeLabels([]string{"a", "*b"}), `1: "*b" is not the key of a label; * is allowed only at its end`)
	require.Error(t, CheckNodeLabels([]string{""}))
}
