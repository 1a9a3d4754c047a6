// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// pageServer is an API server that lists pods like a real one: all of them if it may answer from its cache, regardless of the limit, else
// in pages.
type pageServer struct {
	pods      int
	transform atomic.Int64 // how many objects were stripped so far

	mu      sync.Mutex
	expire  int      // how many further pages are gone when they are requested
	lists   []string // query by query
	watches []string
	whole   int64 // the most objects that were sent and not stripped yet
	bytes   int64
}

func (s *pageServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	w.Header().Set("Content-Type", "application/json")
	s.mu.Lock()
	if query.Get("watch") != "" {
		s.watches = append(s.watches, query.Get("resourceVersion"))
		s.mu.Unlock()
		w.(http.Flusher).Flush() //nolint:forcetypeassert // the server's own
		<-r.Context().Done()
		return
	}
	defer s.mu.Unlock()
	s.lists = append(s.lists, requestKind(query))
	start, _ := strconv.Atoi(query.Get("continue"))
	end := s.pods
	if limit, _ := strconv.Atoi(query.Get("limit")); limit > 0 && query.Get("resourceVersion") != "0" {
		end = min(end, start+limit)
	}
	if start > 0 && s.expire > 0 {
		s.expire--
		w.WriteHeader(http.StatusGone)
		_ = json.NewEncoder(w).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Code: http.StatusGone,
			Reason: metav1.StatusReasonExpired, Message: "The provided continue parameter is too old",
		})
		return
	}
	list := corev1.PodList{
		TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, ListMeta: metav1.ListMeta{ResourceVersion: "7"},
	}
	if end < s.pods {
		list.Continue = strconv.Itoa(end)
	}
	for i := start; i < end; i++ {
		name := fmt.Sprintf("pod-%d", i)
		list.Items = append(list.Items, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: name, UID: types.UID("uid-" + name)}})
	}
	s.whole = max(s.whole, s.bytes-s.transform.Load()+int64(end-start))
	s.bytes += int64(end - start)
	_ = json.NewEncoder(w).Encode(list)
}

func requestKind(query url.Values) string {
	return fmt.Sprintf("%s %s %s", query.Get("limit"), query.Get("resourceVersion"), query.Get("continue"))
}

// informer returns an informer of the server's pods that keeps their names.
func (s *pageServer) informer(t *testing.T, tweak func(*metav1.ListOptions)) *Informer {
	t.Helper()
	server := start(httptest.NewUnstartedServer(s))
	t.Cleanup(server.stop)
	clients, err := NewClients(&rest.Config{Host: server.URL, QPS: -1})
	require.NoError(t, err)
	informer, err := NewInformer(Paged(clients.Kubernetes.CoreV1().Pods(""), &corev1.Pod{}, cache.Indexers{}, tweak), "pods",
		func(object any) (any, error) {
			pod, ok := object.(*corev1.Pod)
			if !ok {
				return object, nil
			}
			s.transform.Add(1)
			return &storedPod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}}, nil
		})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		informer.RunWithContext(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return informer
}

// A list is read in pages, each transformed before the next is requested. The watch continues from the list.
func TestPaged(t *testing.T) {
	s := &pageServer{pods: 2200}
	informer := s.informer(t, nil)
	eventually(t, informer.HasSynced)
	eventually(t, func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.watches) == 1 })
	s.mu.Lock()
	defer s.mu.Unlock()
	assert.Equal(t, []string{"1000  ", "1000  1000", "1000  2000"}, s.lists)
	assert.Equal(t, []string{"7"}, s.watches)
	assert.EqualValues(t, pageSize, s.whole, "whole objects at a time")
	objects := informer.GetStore().List()
	require.Len(t, objects, 2200)
	for _, object := range objects {
		require.IsType(t, &storedPod{}, object)
	}
	_, exists, err := informer.GetStore().GetByKey("ml/pod-2199")
	require.NoError(t, err)
	assert.True(t, exists)
	assert.NoError(t, informer.Err())
}

// A list with a field selector is short, and only the API server's cache has an index for it.
func TestPagedWithFieldSelector(t *testing.T) {
	s := &pageServer{pods: 3}
	informer := s.informer(t, func(list *metav1.ListOptions) { list.FieldSelector = "spec.nodeName=n1" })
	eventually(t, informer.HasSynced)
	assert.Len(t, informer.GetStore().List(), 3)
	s.mu.Lock()
	defer s.mu.Unlock()
	assert.Equal(t, []string{"500 0 "}, s.lists)
}

// A list that expires while it is read is read again, a few times.
func TestPagedExpired(t *testing.T) {
	s := &pageServer{pods: 2200, expire: maxExpired - 1}
	informer := s.informer(t, nil)
	eventually(t, informer.HasSynced)
	assert.Len(t, informer.GetStore().List(), 2200)
	s.mu.Lock()
	assert.Equal(t, []string{"1000  ", "1000  1000", "1000  ", "1000  1000", "1000  ", "1000  1000", "1000  2000"}, s.lists)
	s.mu.Unlock()

	never := &pageServer{pods: 2200, expire: 1 << 30}
	informer = never.informer(t, nil)
	eventually(t, func() bool { return informer.Err() != nil })
	require.ErrorContains(t, informer.Err(), "the list expired 3 times before its end was read: The provided continue parameter is too old")
	assert.False(t, informer.HasSynced())
}

func TestPages(t *testing.T) {
	page := func(more string) func(metav1.ListOptions) (runtime.Object, error) {
		return func(metav1.ListOptions) (runtime.Object, error) {
			return &corev1.PodList{ListMeta: metav1.ListMeta{Continue: more}, Items: []corev1.Pod{*podObject("a", "u1")}}, nil
		}
	}
	same := func(object any) (any, error) { return object, nil }
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for want, call := range map[string]func() (runtime.Object, error){
		"no way": func() (runtime.Object, error) {
			return pages(t.Context(), func(any) (any, error) { return nil, errors.New("no way") }, page(""))
		},
		"*v1.Pod was transformed to string, which has no metadata": func() (runtime.Object, error) {
			return pages(t.Context(), func(any) (any, error) { return "a", nil }, page(""))
		},
		"context canceled": func() (runtime.Object, error) { return pages(ended, same, page("more")) },
		"no answer": func() (runtime.Object, error) {
			return pages(t.Context(), same, func(metav1.ListOptions) (runtime.Object, error) { return nil, errors.New("no answer") })
		},
	} {
		_, err := call()
		require.ErrorContains(t, err, want)
	}
}
