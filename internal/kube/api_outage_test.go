// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// endable is a server that can be stopped while clients watch it.
type endable struct {
	*httptest.Server
	end context.CancelFunc
}

// start starts the server. end ends all its requests, including those that arrive between the closing of the connections and of the
// server, which would wait for them.
func start(server *httptest.Server) endable {
	ctx, cancel := context.WithCancel(context.Background())
	server.Config.BaseContext = func(net.Listener) context.Context { return ctx }
	server.Start()
	return endable{server, cancel}
}

func (s endable) stop() {
	s.end()
	s.CloseClientConnections()
	s.Close()
}

// podServer is an API server with one pod, at an address of its own.
func podServer(t *testing.T, address string, busy *atomic.Bool) endable {
	t.Helper()
	pods := &corev1.PodList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: "1"},
		Items: []corev1.Pod{*podObject("a", "u1")},
	}
	var listener net.Listener
	require.Eventually(t, func() (ok bool) {
		var err error
		listener, err = net.Listen("tcp", address) //nolint:noctx // a test's
		return err == nil
	}, time.Minute, 10*time.Millisecond, "the address is taken")
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case busy.Load():
			w.WriteHeader(http.StatusTooManyRequests)
			_ = json.NewEncoder(w).Encode(metav1.Status{Status: "Failure", Code: http.StatusTooManyRequests, Reason: metav1.StatusReasonTooManyRequests})
		case r.URL.Query().Get("watch") != "":
			w.(http.Flusher).Flush() //nolint:forcetypeassert // the server's own
			<-r.Context().Done()
		default:
			_ = json.NewEncoder(w).Encode(pods)
		}
	}))
	require.NoError(t, server.Listener.Close())
	server.Listener = listener
	return start(server)
}

// An API server stops answering after the first list. The problem is reported, the last known pods stay, and the problem ends when the
// server is back. client-go reports nothing of it.
func TestViewServerGoesAway(t *testing.T) {
	for name, away := range map[string]struct {
		begin, end func(*testing.T, endable, *atomic.Bool) endable
		want       string
	}{
		"no connection": {
			begin: func(_ *testing.T, s endable, _ *atomic.Bool) endable { s.stop(); return s },
			end: func(t *testing.T, s endable, busy *atomic.Bool) endable {
				t.Helper()
				return podServer(t, s.Listener.Addr().String(), busy)
			},
			want: "connection refused",
		},
		"too busy": {
			begin: func(_ *testing.T, s endable, busy *atomic.Bool) endable {
				busy.Store(true)
				s.CloseClientConnections()
				return s
			},
			end: func(_ *testing.T, s endable, busy *atomic.Bool) endable {
				busy.Store(false)
				return s
			},
			want: "(?i)too many requests",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var busy atomic.Bool
			server := podServer(t, "127.0.0.1:0", &busy)
			clients, err := NewClients(&rest.Config{Host: server.URL, QPS: -1, ContentConfig: rest.ContentConfig{}})
			require.NoError(t, err)
			v, err := NewView(clients, ViewOptions{Pods: PodsOptions{Node: "n1"}})
			require.NoError(t, err)
			v.Start()
			defer v.Stop()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			require.True(t, v.WaitSynced(ctx))
			assert.Empty(t, v.Problems())

			server = away.begin(t, server, &busy)
			want := regexp.MustCompile(away.want)
			var problem gpu.Problem
			eventually(t, func() bool { // the first attempts may still see the connections close
				problems := v.Problems()
				if len(problems) != 1 {
					return false
				}
				problem = problems[0]
				return want.MatchString(problem.Err.Error())
			})
			assert.Equal(t, "pods", problem.What)
			require.ErrorContains(t, problem.Err, "kube: watch pods of node n1: ")
			require.ErrorContains(t, problem.Err, "the last known state is used until the API server answers")
			assert.NotNil(t, v.Pods.ByUID("u1"))

			server = away.end(t, server, &busy)
			require.Eventually(t, func() bool { return len(v.Problems()) == 0 }, time.Minute, 10*time.Millisecond)
			assert.NotNil(t, v.Pods.ByUID("u1"))
			server.stop()
		})
	}
}

// emptyInformer returns an Informer that has listed nothing and is not started.
func emptyInformer(subject string) *Informer {
	return &Informer{SharedIndexInformer: cache.NewSharedIndexInformer(nil, nil, 0, nil), subject: subject, now: time.Now}
}

// A watch that is not granted remains a problem although the list is granted.
func TestInformerAnswered(t *testing.T) {
	i := emptyInformer("pods")
	i.answered(true, 0, errors.New("no route"))
	require.ErrorContains(t, i.Err(), "no route")
	i.answered(false, http.StatusOK, nil)
	require.Error(t, i.Err())
	i.answered(true, http.StatusForbidden, nil)
	require.ErrorContains(t, i.Err(), "no route", "watchFailed learns it")
	i.answered(true, http.StatusOK, nil)
	require.NoError(t, i.Err())
	i.answered(false, http.StatusServiceUnavailable, nil)
	require.ErrorContains(t, i.Err(), "the API server answers 503 Service Unavailable")
}

// watched answers a watch immediately, but ends only after a time, or with the request.
func watched(r *http.Request, end time.Duration) (*http.Response, error) {
	body, writer := io.Pipe()
	go func() {
		_, _ = io.WriteString(writer, "first")
		select {
		case <-r.Context().Done():
			_ = writer.CloseWithError(r.Context().Err())
		case <-time.After(end):
			_, _ = io.WriteString(writer, " last")
			_ = writer.Close()
		}
	}()
	return &http.Response{StatusCode: http.StatusOK, Body: body}, nil
}

// The wait for an API server that never answers ends and is reported. A watch takes longer than that.
func TestNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := true
		client := withStatus(&http.Client{Transport: roundTripFunc(func(r *http.Request) (*http.Response, error) {
			if silent {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			return watched(r, 2*longestWait)
		})}, longestWait)
		i := emptyInformer("pods")
		get := func() (string, error) {
			request, err := http.NewRequestWithContext(withObserver(t.Context(), i), http.MethodGet, "http://localhost/?watch=1", http.NoBody)
			require.NoError(t, err)
			response, err := client.Do(request)
			if err != nil {
				return "", err
			}
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			return string(body), err
		}
		_, err := get()
		require.ErrorContains(t, err, "no answer in 1m10s")
		require.ErrorContains(t, i.Err(), "kube: watch pods: no answer in 1m10s; check the address of the API server, and the network to it; nothing is known until it answers")

		silent = false
		body, err := get()
		require.NoError(t, err)
		assert.Equal(t, "first last", body)
		require.NoError(t, i.Err())
	})
}

// The wait for a list that starts and never ends is over after a while and is reported.
func TestHalfAList(t *testing.T) {
	server := start(httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"apiVersion": "v1", "kind": "PodList", "items": [`))
		w.(http.Flusher).Flush() //nolint:forcetypeassert // the server's own
		<-r.Context().Done()
	})))
	defer server.stop()
	client := withStatus(&http.Client{Transport: &http.Transport{}}, time.Second)
	defer client.CloseIdleConnections()
	typed, err := kubernetes.NewForConfigAndClient(&rest.Config{Host: server.URL, QPS: -1}, client)
	require.NoError(t, err)
	v, err := NewView(&Clients{Kubernetes: typed}, ViewOptions{})
	require.NoError(t, err)
	v.Start()
	defer v.Stop()
	eventually(t, func() bool { // on a busy machine an answer may not even start in time, and the list is requested again
		problems := v.Problems()
		return len(problems) == 1 && strings.Contains(problems[0].Err.Error(), "the answer has begun but does not end")
	})
}
