// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package exec

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// requests counts the requests of a service account to the API server so far, by verb and resource.
func (s *stage) requests(t *testing.T, account string) map[string]int {
	t.Helper()
	text, err := os.ReadFile(s.Log("audit"))
	require.NoError(t, err)
	requests := make(map[string]int)
	text = text[:bytes.LastIndexByte(text, '\n')+1] // the last line may be written now
	for line := range bytes.Lines(text) {
		var event struct {
			Stage     string
			Verb      string
			User      struct{ Username string }
			ObjectRef struct{ Resource, Subresource string }
		}
		require.NoError(t, json.Unmarshal(line, &event))
		if event.Stage == "ResponseComplete" && event.User.Username == "system:serviceaccount:"+accounts+":"+account {
			requests[strings.TrimSuffix(event.Verb+" "+event.ObjectRef.Resource+"/"+event.ObjectRef.Subresource, "/")]++
		}
	}
	return requests
}

// testRights removes one permission after the other.
func testRights(t *testing.T, s *stage) {
	t.Run("get and create", func(t *testing.T) {
		t.Parallel()
		s.grant(t, "all-rights", all())
		b := s.start(t, "all-rights", "")
		for range 3 {
			b.next(t, twoGPUs)
		}
		assert.Empty(t, b.Complaints())
		requests := s.requests(t, "all-rights")
		assert.GreaterOrEqual(t, requests["get pods/exec"], 3, "execs go over a WebSocket, which is a GET")
		assert.Zero(t, requests["create pods/exec"])
		assert.LessOrEqual(t, requests["list pods"]+requests["list nodes"], 4, "pods and nodes are watched, not listed for each read: %v", requests)
	})
	t.Run("create alone", func(t *testing.T) {
		t.Parallel()
		r := all()
		r.exec = "create"
		s.grant(t, "create-alone", r)
		b := s.start(t, "create-alone", "")
		for range 3 {
			b.next(t, twoGPUs)
		}
		assert.Empty(t, b.Complaints())
		requests := s.requests(t, "create-alone")
		assert.GreaterOrEqual(t, requests["create pods/exec"], 3, "execs go over SPDY, which is a POST")
		assert.Equal(t, 1, requests["get pods/exec"], "a WebSocket is tried once")
	})
	t.Run("too few", func(t *testing.T) {
		for _, test := range []struct {
			name  string
			take  func(*rights)
			reads bool
			words []string
		}{
			{"get-alone", func(r *rights) { r.exec = "get" }, false, []string{"403", "cannot create resource", "pods/exec", "grant get and create on pods/exec"}},
			{"no-exec", func(r *rights) { r.exec = "" }, false, []string{"403", "pods/exec", "grant get and create on pods/exec"}},
			{"no-pods", func(r *rights) { r.pods, r.owners = "", "" }, false, []string{"driver pods", "cannot list resource", "pods", gpuOperator}},
			{"no-watch", func(r *rights) { r.pods, r.owners = "list", "" }, true, []string{"driver pods", "cannot watch resource", "pods"}},
			{"no-nodes", func(r *rights) { r.nodes = "" }, true, []string{"cannot list resource", "nodes", "cluster scope"}},
			{"no-owners", func(r *rights) { r.owners = "" }, true, []string{"attribution", "cannot list resource", "pods"}},
		} {
			t.Run(test.name, func(t *testing.T) {
				t.Parallel()
				r := all()
				test.take(&r)
				s.grant(t, test.name, r)
				b := s.start(t, test.name, "")
				b.says(t, test.words...)
				if test.reads {
					b.next(t, twoGPUs)
					return
				}
				b.silent(t)
				// The collector keeps trying: once it has the permission, it works without a restart.
				s.grant(t, test.name, all())
				b.next(t, twoGPUs)
			})
		}
	})
}

// testLateNamespace starts the collector before the driver pods' namespace and its permissions exist.
func testLateNamespace(t *testing.T, s *stage) {
	b := s.start(t, shippedAccount, "targets: [{namespace: late, label_selector: app=late, container: bare}]")
	b.says(t, "driver pods", "late")
	s.namespace(t, "late")
	s.Apply(t, strings.ReplaceAll(shipping(t, "../exec-driver-pods/role.yaml"), "namespace: gpu-operator", "namespace: late"))
	s.drivers(t, "late", "late", true, "bare", bareImage)
	requireNode(t, b.next(t, twoGPUs))
}

// testCapacity: a node with GPUs but without a driver pod is reported.
func testCapacity(t *testing.T, s *stage) {
	s.gpus(t, "2")
	defer s.gpus(t, "")
	b := s.start(t, shippedAccount, "targets: [{label_selector: app=nothing}]")
	b.says(t, "node node-a", "no target selects a pod on it")
	b.says(t, "driver pods", "app=nothing")
	failed := b.next(t, func(points harness.Points) bool {
		return len(points.Select("hw.gpu.source.failure", "error.type", "container_missing")) == 1
	})
	requireNode(t, failed)
	b.silent(t)
	assert.Equal(t, 1, b.said("no target selects a pod on it"), "logged once")
}
