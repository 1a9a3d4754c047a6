// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpukubernetesexporter

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

const patience = time.Minute

// xid returns the Event of an XID on a node.
func xid(text, uid string) []*corev1.Event {
	record := newRecord("hw.gpu.xid", plog.SeverityNumberError, text, map[string]any{"log.record.uid": uid})
	return eventsOf("node-a", record, newPodUIDs(), noon)
}

// posted returns the Events that an API server has.
func posted(t *testing.T, client *fake.Clientset) []corev1.Event {
	t.Helper()
	list, err := client.CoreV1().Events("").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	return list.Items
}

func startPoster(t *testing.T, client *fake.Clientset, logger *zap.Logger) *eventPoster {
	t.Helper()
	p := newEventPoster(client.CoreV1(), logger, testCounts(t))
	p.start()
	t.Cleanup(p.stop)
	return p
}

// The same thing again is counted, the same record again is not, and many different ones of a kind are combined. What there is of an
// object is bounded.
func TestEventsAreSummed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		p := startPoster(t, client, zap.NewNop())
		p.add(xid("XID 31", "1"))
		p.add(xid("XID 31", "1"))
		p.add(xid("XID 31", "2"))
		p.add(xid("XID 43", "3"))
		require.Eventually(t, func() bool { return len(posted(t, client)) == 2 }, patience, time.Millisecond)
		counts := map[string]int32{}
		for _, event := range posted(t, client) {
			counts[event.Message] = event.Count
		}
		assert.Equal(t, map[string]int32{"XID 31": 2, "XID 43": 1}, counts)

		for i := range 500 {
			p.add(xid(fmt.Sprint("XID ", 100+i), fmt.Sprint("more ", i)))
		}
		require.Eventually(t, func() bool { return len(p.queue) == 0 }, patience, time.Millisecond)
		p.cancel()
		p.running.Wait()
		assert.Less(t, len(posted(t, client)), 12)
		assert.LessOrEqual(t, len(client.Actions())-countLists(client), 25, "requests about one node")
	})
}

func countLists(client *fake.Clientset) int {
	n := 0
	for _, action := range client.Actions() {
		if action.GetVerb() == "list" {
			n++
		}
	}
	return n
}

// An API server that is too busy gets the Event later. One that refuses it does not, and the log has it once, with what to do.
func TestEventsThatAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		var requests atomic.Int64
		client.PrependReactor("create", "events", func(clienttesting.Action) (bool, runtime.Object, error) {
			switch requests.Add(1) {
			case 1:
				return true, nil, apierrors.NewTooManyRequests("later", 0)
			case 3, 4:
				return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "x", nil)
			}
			return false, nil, nil
		})
		core, logs := observer.New(zap.InfoLevel)
		p := startPoster(t, client, zap.New(core))
		p.add(xid("XID 1", "1"))
		require.Eventually(t, func() bool { return len(posted(t, client)) == 1 }, patience, time.Millisecond)
		p.add(xid("XID 2", "2"))
		p.add(xid("XID 3", "3"))
		p.add(xid("XID 4", "4"))
		require.Eventually(t, func() bool { return len(posted(t, client)) == 2 }, patience, time.Millisecond)
		assert.True(t, slices.ContainsFunc(posted(t, client), func(e corev1.Event) bool { return e.Message == "XID 4" }))
		require.Eventually(t, func() bool { return logs.FilterMessage("Posting to Kubernetes works again: Events").Len() == 2 }, patience, time.Millisecond)
		failures := logs.FilterMessage("Posting to Kubernetes failed: Events")
		require.Equal(t, 2, failures.Len(), "one for each reason")
		assert.Equal(t, "grant create and patch on events", failures.All()[1].ContextMap()["remedy"])
	})
}

// While the API server is away Events wait, up to a bound, and the pipeline does not. The shutdown does not wait for it either.
func TestEventsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		client.PrependReactor("create", "events", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewGenericServerResponse(http.StatusServiceUnavailable, "create", schema.GroupResource{}, "", "away", 0, true)
		})
		core, logs := observer.New(zap.InfoLevel)
		p := newEventPoster(client.CoreV1(), zap.New(core), testCounts(t))
		p.start()
		p.add(xid("XID 1", "first"))
		require.Eventually(t, func() bool { return len(client.Actions()) > 0 }, patience, time.Millisecond, "so that it takes no other while the queue is filled")
		for i := range maxQueued + 100 {
			p.add(xid("XID 1", strconv.Itoa(i)))
		}
		assert.Len(t, p.queue, maxQueued)
		p.stop()
		assert.Equal(t, 1, logs.FilterMessage("Kubernetes Events are dropped: the queue is full").Len())
		assert.Equal(t, 1, logs.FilterMessage("Kubernetes Events were not posted before the shutdown").Len())
	})
}

// What waits at the shutdown is posted.
func TestEventsAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		p := newEventPoster(client.CoreV1(), zap.NewNop(), testCounts(t))
		_, p.cancel = context.WithCancel(t.Context()) // not started
		p.add(xid("XID 1", "1"))
		p.add(xid("XID 2", "2"))
		p.stop()
		assert.Len(t, posted(t, client), 2)
	})
}
