// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// askServer requests owners from a server with a client as in production. sent counts the requests that the client has sent.
func askServer(t *testing.T, kinds []string, prepare func(*askedOwners), handle http.HandlerFunc) (c *cluster, requests *atomic.Int64) {
	t.Helper()
	server := start(httptest.NewUnstartedServer(handle))
	t.Cleanup(server.stop)
	requests = new(atomic.Int64)
	clients, err := NewClients(&rest.Config{Host: server.URL, QPS: -1, WrapTransport: func(next http.RoundTripper) http.RoundTripper {
		return roundTripFunc(func(r *http.Request) (*http.Response, error) {
			requests.Add(1)
			return next.RoundTrip(r)
		})
	}})
	require.NoError(t, err)
	c = &cluster{}
	c.ask(clients, kinds)
	prepare(c.lookups)
	c.run(t)
	eventually(t, c.lookups.Synced)
	return c, requests
}

// answerWith answers like an API server to a request for the metadata of an object.
func answerWith(w http.ResponseWriter, name string, owners ...metav1.OwnerReference) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(object("meta.k8s.io/v1", "PartialObjectMetadata", name, owners...))
}

// After a failure of the API server, one request is made, and the next only when it is due.
func TestOwnerRequestServerFails(t *testing.T) {
	for name, tt := range map[string]struct {
		fail  http.HandlerFunc
		want  string
		quiet time.Duration // for how long there are no further requests
	}{
		"busy": {
			func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "300")
				http.Error(w, "Too many requests, please try again later.", http.StatusTooManyRequests)
			}, "kube: get replicasets.apps ml/web-1: the server has received too many requests", 299 * time.Second,
		},
		"on its way down": {
			func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "5")
				w.WriteHeader(http.StatusServiceUnavailable)
			}, "kube: get replicasets.apps ml/web-1: the server is currently unable to handle the request", 4 * time.Second,
		},
		"broken":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, "an error on the server", 0},
		"silent":  {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "context deadline exceeded", 0},
		"garbage": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{")) }, "kube: get replicasets.apps ml/web-1: ", 0},
		"no API server": {
			func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "404 page not found", http.StatusNotFound) },
			"could not find the requested resource", 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var failing atomic.Bool
			failing.Store(true)
			c, requests := askServer(t, defaultKinds, func(a *askedOwners) {
				if name == "silent" {
					a.timeout = time.Second
				}
			}, func(w http.ResponseWriter, r *http.Request) {
				if failing.Load() {
					tt.fail(w, r)
					return
				}
				answerWith(w, "web-1", reference("apps/v1", "Deployment", "web"))
			})
			pod := ownedBy(reference("apps/v1", "ReplicaSet", "web-1"))
			assert.Len(t, c.ownersOf(t, pod), 1)
			errs := c.owners.Errs()
			require.NotEmpty(t, errs)
			require.ErrorContains(t, errs[0], tt.want)
			c.pass(tt.quiet)
			assert.Len(t, c.ownersOf(t, pod), 1)
			before := requests.Load()
			assert.LessOrEqual(t, before, int64(1)) // on a busy machine the time of the silent one may be over before the request

			failing.Store(false)
			c.lookups.timeout = time.Minute // no further requests
			c.pass(tt.quiet + 2*time.Second)
			assert.Equal(t, []gpu.Owner{owner("ReplicaSet", "web-1"), owner("Deployment", "web")}, c.ownersOf(t, pod))
			eventually(t, func() bool { return len(c.owners.Errs()) == 0 })
			assert.Equal(t, before+1, requests.Load())
		})
	}
}

// A kind that is served in another version from now on is looked up again, and its known owners stay.
func TestOwnerRequestVersionRemoved(t *testing.T) {
	var version atomic.Value
	version.Store("v1")
	c, _ := askServer(t, []string{"pytorchjobs.kubeflow.org"}, func(a *askedOwners) {
		a.resolve = func(_ context.Context, resource schema.GroupResource) (*meta.RESTMapping, error) {
			return mapped(resource, version.Load().(string), "PyTorchJob", true), nil //nolint:forcetypeassert // it is
		}
	}, func(w http.ResponseWriter, r *http.Request) {
		for _, name := range []string{"a", "b"} {
			if r.URL.Path == fmt.Sprint("/apis/kubeflow.org/", version.Load(), "/namespaces/ml/pytorchjobs/", name) {
				answerWith(w, name, reference("x/v1", "X", "x"))
				return
			}
		}
		http.NotFound(w, r)
	})
	first, second := ownedBy(reference("kubeflow.org/v1", "PyTorchJob", "a")), ownedBy(reference("kubeflow.org/v1", "PyTorchJob", "b"))
	assert.Len(t, c.ownersOf(t, first), 2)
	version.Store("v2")
	assert.Len(t, c.ownersOf(t, second), 1)
	assert.NotEmpty(t, c.owners.Errs())
	assert.Len(t, c.ownersOf(t, first), 2)
	eventually(t, func() bool {
		c.pass(longestDelay)
		return len(c.owners.Of(second)) == 2
	})
	eventually(t, func() bool { return len(c.owners.Errs()) == 0 })
}

// A few requests run at a time. Nothing waits for them, and they end with the view.
func TestOwnerRequestConcurrency(t *testing.T) {
	var now atomic.Int64
	c, _ := askServer(t, defaultKinds, func(*askedOwners) {}, func(_ http.ResponseWriter, r *http.Request) {
		now.Add(1)
		defer now.Add(-1)
		<-r.Context().Done()
	})
	const many = 20
	for range 3 {
		for i := range many {
			assert.Len(t, c.owners.Of(ownedBy(reference("batch/v1", "Job", fmt.Sprint("j", i)))), 1)
		}
	}
	eventually(t, func() bool { return now.Load() == maxRequests && len(c.lookups.queue) == many-maxRequests }) // those are all
}
