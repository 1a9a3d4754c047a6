// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpukubernetesexporter

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// nodeServer has the conditions of nodes.
type nodeServer struct {
	client dynamic.Interface

	mu         sync.Mutex
	conditions map[string]*corev1.NodeCondition // by node, nil if a node has no condition
	applied    int
	status     int    // of all answers, if not 0
	cancel     func() // the client leaves once its patch is applied
}

func newNodeServer(t *testing.T, nodes ...string) *nodeServer {
	t.Helper()
	s := &nodeServer{conditions: map[string]*corev1.NodeCondition{}}
	for _, node := range nodes {
		s.conditions[node] = nil
	}
	listener := httptest.NewServer(s)
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		listener.Close()
	})
	var err error
	s.client, err = dynamic.NewForConfig(&rest.Config{Host: listener.URL, QPS: -1})
	require.NoError(t, err)
	return s
}

func (s *nodeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := strings.Split(r.URL.Path, "/") // /api/v1/nodes/NAME/status
	node := &corev1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}}
	condition, ok := s.conditions[path[4]]
	switch {
	case s.status != 0:
		w.WriteHeader(s.status)
		return
	case len(path) != 6 || path[5] != "status":
		w.WriteHeader(http.StatusForbidden)
		return
	case !ok:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_ = json.NewEncoder(w).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound,
		})
		return
	case r.Method == http.MethodPatch:
		_ = json.NewDecoder(r.Body).Decode(node)
		condition = &node.Status.Conditions[0]
		s.conditions[path[4]] = condition
		s.applied++
		if s.cancel != nil {
			_, _ = io.Copy(io.Discard, r.Body)
			s.cancel()
			s.cancel = nil
			<-r.Context().Done()
		}
	case condition != nil:
		node.Status.Conditions = []corev1.NodeCondition{{Type: "Ready", Status: "True"}, *condition}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(node)
}

// condition returns the condition of a node, and how often any was applied.
func (s *nodeServer) condition(node string) (corev1.NodeCondition, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conditions[node] == nil {
		return corev1.NodeCondition{}, s.applied
	}
	return *s.conditions[node], s.applied
}

func (s *nodeServer) answer(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = status
}

func requireCondition(t *testing.T, s *nodeServer, status corev1.ConditionStatus, reason string, since, beat time.Time, posts int) {
	t.Helper()
	c, applied := s.condition("node-a")
	require.Equal(t, posts, applied)
	require.Equal(t, [3]string{conditionType, string(status), reason}, [3]string{string(c.Type), string(c.Status), c.Reason})
	require.True(t, since.Equal(c.LastTransitionTime.Time), "since %s, not %s", c.LastTransitionTime, since)
	require.True(t, beat.Equal(c.LastHeartbeatTime.Time), "heartbeat at %s, not %s", c.LastHeartbeatTime, beat)
}

// A condition is posted when it changes, and every five minutes, with the times of the change and of the post.
func TestConditionIsPosted(t *testing.T) {
	s := newNodeServer(t, "node-a")
	p := newConditionPoster(s.client, "node-a", silence, zap.NewNop(), testCounts(t))
	step := func(after time.Duration, state string) time.Time {
		now := noon.Add(after)
		if state != "" {
			p.add("node-a", readAt(now).gpu("nvidia0", state).metrics, now)
		}
		p.post(t.Context(), now)
		return now
	}
	started := step(0, "")
	requireCondition(t, s, "Unknown", reasonStarted, started, started, 1)
	healthy := step(20*time.Second, "ok")
	requireCondition(t, s, "True", reasonHealthy, healthy, healthy, 2)
	for after := 30 * time.Second; after < 5*time.Minute; after += 30 * time.Second {
		step(after, "ok")
	}
	requireCondition(t, s, "True", reasonHealthy, healthy, healthy, 2)
	beat := step(5*time.Minute+20*time.Second, "ok")
	requireCondition(t, s, "True", reasonHealthy, healthy, beat, 3)
	step(5*time.Minute+21*time.Second, "failed")
	requireCondition(t, s, "True", reasonHealthy, healthy, beat, 3) // at most every 10 s
	failed := step(5*time.Minute+31*time.Second, "")
	requireCondition(t, s, "False", reasonFailed, failed, failed, 4)
	degraded := step(5*time.Minute+50*time.Second, "degraded")
	requireCondition(t, s, "False", reasonDegraded, failed, degraded, 5)
	silent := step(9*time.Minute, "")
	requireCondition(t, s, "Unknown", reasonSilent, silent, silent, 6)
	again := step(10*time.Minute, "ok")
	requireCondition(t, s, "True", reasonHealthy, again, again, 7)

	// A collector that starts after one that was killed goes on with the time of the change, if it need not say that it has started.
	p = newConditionPoster(s.client, "", silence, zap.NewNop(), testCounts(t))
	beat = step(11*time.Minute, "ok")
	requireCondition(t, s, "True", reasonHealthy, again, beat, 8)
}

// Nodes without a GPU get no condition, and neither does one that is not there. One that is silent for long is forgotten.
func TestConditionsOfAFleet(t *testing.T) {
	s := newNodeServer(t, "node-a", "node-b")
	p := newConditionPoster(s.client, "", silence, zap.NewNop(), testCounts(t))
	p.post(t.Context(), noon)
	for node, reading := range map[string]*reading{
		"node-a": readAt(noon).gpu("nvidia0", "ok"), "node-b": readAt(noon).source("nvml", 1), "node-c": readAt(noon).gpu("nvidia0", "ok"),
		"node-d": readAt(noon).point("process.gpu.info", 1),
	} {
		p.add(node, reading.metrics, noon)
	}
	assert.Len(t, p.nodes, 3)
	p.post(t.Context(), noon)
	p.post(t.Context(), noon.Add(time.Minute))
	requireCondition(t, s, "True", reasonHealthy, noon, noon, 1)
	p.post(t.Context(), noon.Add(time.Hour))
	p.post(t.Context(), noon.Add(time.Hour+time.Second))
	assert.Empty(t, p.nodes)
}

// While the API server is away, requests become less frequent, with one line in the log, and the condition is correct afterwards.
func TestConditionWhileTheServerIsAway(t *testing.T) {
	s := newNodeServer(t, "node-a")
	s.answer(http.StatusServiceUnavailable)
	core, logs := observer.New(zap.InfoLevel)
	p := newConditionPoster(s.client, "node-a", silence, zap.New(core), testCounts(t))
	for second := range 60 {
		p.post(t.Context(), noon.Add(time.Duration(second)*time.Second))
	}
	assert.Equal(t, 1, logs.FilterMessage("Posting to Kubernetes failed: node condition").Len())
	s.answer(0)
	now := noon.Add(10 * time.Minute)
	p.add("node-a", readAt(now).gpu("nvidia0", "failed").metrics, now)
	p.post(t.Context(), now)
	requireCondition(t, s, "False", reasonFailed, now, now, 1)
	assert.Equal(t, 1, logs.FilterMessage("Posting to Kubernetes works again: node condition").Len())
}

// A post that the shutdown cuts off may have been taken: that node becomes Unknown, too. One that was never posted does not.
func TestConditionCutOffAtTheEnd(t *testing.T) {
	s := newNodeServer(t, "node-a", "node-b")
	p := newConditionPoster(s.client, "", silence, zap.NewNop(), testCounts(t))
	_, p.cancel = context.WithCancel(t.Context()) // not started
	for _, node := range []string{"node-a", "node-b"} {
		p.add(node, readAt(noon).gpu("nvidia0", "ok").metrics, noon)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s.cancel = cancel
	p.post(ctx, noon)
	c, _ := s.condition("node-a")
	require.Equal(t, corev1.ConditionTrue, c.Status)
	s.answer(http.StatusForbidden) // of a later attempt, which says nothing about the first
	p.post(t.Context(), noon.Add(time.Minute))
	s.answer(0)
	p.stop()
	c, _ = s.condition("node-a")
	assert.Equal(t, corev1.ConditionUnknown, c.Status)
	assert.Equal(t, reasonStopped, c.Reason)
	c, _ = s.condition("node-b")
	assert.Empty(t, c.Status)
}

// After the shutdown the GPUs are not monitored.
func TestConditionAtTheEnd(t *testing.T) {
	s := newNodeServer(t, "node-a")
	p := newConditionPoster(s.client, "", silence, zap.NewNop(), testCounts(t))
	p.start()
	p.add("node-a", readAt(time.Now()).gpu("nvidia0", "ok").metrics, time.Now())
	require.Eventually(t, func() bool { c, _ := s.condition("node-a"); return c.Status == corev1.ConditionTrue }, patience, 10*time.Millisecond)
	p.stop()
	c, _ := s.condition("node-a")
	assert.Equal(t, corev1.ConditionUnknown, c.Status)
	assert.Equal(t, reasonStopped, c.Reason)
}
