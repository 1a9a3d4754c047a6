// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
)

// blocked is a connection whose other end reads nothing.
type blocked struct {
	discard
	writing chan struct{}
	release chan struct{}
}

func (b *blocked) Write(p []byte) (int, error) {
	b.writing <- struct{}{}
	<-b.release
	return len(p), nil
}

// Those who read slowly do not keep others from their answers.
func TestSlowReaders(t *testing.T) {
	h := sampleHandler()
	slow := blocked{discard{http.Header{}}, make(chan struct{}), make(chan struct{})}
	var all sync.WaitGroup
	for range 3 * maxComputed {
		all.Go(func() {
			b := slow
			b.header = http.Header{}
			h.ServeHTTP(&b, httptest.NewRequest(http.MethodGet, "/api/v1/gpu/nodes", nil))
		})
		<-slow.writing // the next starts while this one hangs
	}
	assert.Equal(t, http.StatusOK, ask(t, h, http.MethodGet, "/api/v1/gpu/nodes").Code)
	go func() {
		for range slow.writing { // further writes
		}
	}()
	close(slow.release)
	all.Wait()
	close(slow.writing)
}

// A request that ends while it waits for its turn is answered, and takes no turn.
func TestTooManyLists(t *testing.T) {
	h := sampleHandler()
	for range maxComputed {
		end, err := h.begin(t.Context())
		require.NoError(t, err)
		defer end()
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v1/gpu/processes", nil).WithContext(ended))
	assert.Equal(t, http.StatusServiceUnavailable, w.Code)
	assert.Equal(t, http.StatusOK, ask(t, h, http.MethodGet, "/api/v1/gpu/nodes/n2").Code, "what is no list needs no turn")
}

// Many at once get the same answers as one alone, while the snapshot changes.
func TestConcurrentRequests(t *testing.T) {
	reader := viewtest.NewReader(viewtest.Snapshot())
	h := New(reader, Settings{})
	var all sync.WaitGroup
	for _, target := range []string{
		"/api/v1/gpu/nodes", "/api/v1/gpu/metrics?sort=-power_watts", "/api/v1/gpu/processes", "/api/v1/gpu/summary?by=workload", "/api/v1/gpu/workloads",
		"/api/v1/gpu/events", "/api/v1/gpu/info", "/api/v1/gpu/tiles",
	} {
		want := ask(t, h, http.MethodGet, target).Body.String()
		for range 4 {
			all.Go(func() {
				for range 10 {
					w := httptest.NewRecorder()
					h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
					assert.Equal(t, want, w.Body.String())
				}
			})
		}
	}
	for range 100 {
		reader.Set(viewtest.Snapshot())
	}
	all.Wait()
}
