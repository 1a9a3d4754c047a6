// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/otelgpu/gpureceiver/internal/kube"
)

// apiServer is as much of a Kubernetes API server as is asked of one: it lists and watches pods and nodes, and runs
// commands in boxes over WebSocket and SPDY.
type apiServer struct {
	*httptest.Server
	t   testing.TB
	dir string

	mu       sync.Mutex
	changed  *sync.Cond
	objects  map[string]map[string]runtime.Object // by resource, by namespace/name
	events   []event
	boxes    map[string]box // by the pod's name
	token    string         // the only one that is taken
	requests map[string]int // execs by method
	lists    map[string]int
	resumed  int // execs over a TLS session that was resumed
	exec     execBehaviour
	down     bool
	forbid   map[string]bool          // paths that may not be listed
	held     map[string]chan struct{} // paths that are not answered before it is closed
}

type execBehaviour struct {
	denyGet, denyCreate bool          // by RBAC
	noWebSocket         bool          // as before 1.30
	throttle            int           // how many are answered 429
	retryAfter          string        // with them
	freeze              chan struct{} // requests hang until it is closed
}

type event struct {
	resource string
	Type     string         `json:"type"`
	Object   runtime.Object `json:"object"`
}

func newAPIServer(t testing.TB) *apiServer {
	t.Helper()
	s := &apiServer{
		t: t, dir: t.TempDir(), token: "first", objects: map[string]map[string]runtime.Object{}, boxes: map[string]box{},
		requests: map[string]int{}, lists: map[string]int{},
	}
	s.changed = sync.NewCond(&s.mu)
	s.Server = httptest.NewUnstartedServer(s)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(func() {
		s.set(func() { s.down = true }) // ends the watches
		s.Close()
	})
	s.write("token", s.token)
	s.write("ca.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})))
	return s
}

func (s *apiServer) write(name, content string) {
	require.NoError(s.t, os.WriteFile(filepath.Join(s.dir, name), []byte(content), 0o600))
}

// cluster is the configuration by which the server is reached.
func (s *apiServer) cluster(name string) ClusterConfig {
	return ClusterConfig{Name: name, API: kube.Config{
		Endpoint: s.URL, TokenFile: filepath.Join(s.dir, "token"), CAFile: filepath.Join(s.dir, "ca.crt"), QPS: 1000, Burst: 1000,
	}}
}

// set changes the server's behaviour and wakes what waits for it.
func (s *apiServer) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	s.changed.Broadcast()
}

func (s *apiServer) count(what map[string]int, key string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return what[key]
}

// put adds or changes an object; remove takes it away.
func (s *apiServer) put(object runtime.Object)    { s.change(object, false) }
func (s *apiServer) remove(object runtime.Object) { s.change(object, true) }

func (s *apiServer) change(object runtime.Object, remove bool) {
	s.set(func() {
		resource, key := "pods", ""
		switch o := object.(type) {
		case *corev1.Pod:
			o.TypeMeta = metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}
			key = o.Namespace + "/" + o.Name
			o.ResourceVersion = strconv.Itoa(len(s.events) + 1)
		case *corev1.Node:
			o.TypeMeta = metav1.TypeMeta{Kind: "Node", APIVersion: "v1"}
			resource, key = "nodes", o.Name
			o.ResourceVersion = strconv.Itoa(len(s.events) + 1)
		}
		if s.objects[resource] == nil {
			s.objects[resource] = map[string]runtime.Object{}
		}
		kind := "ADDED"
		if s.objects[resource][key] != nil {
			kind = "MODIFIED"
		}
		s.objects[resource][key] = object.DeepCopyObject()
		if remove {
			kind = "DELETED"
			delete(s.objects[resource], key)
		}
		s.events = append(s.events, event{resource: resource, Type: kind, Object: object.DeepCopyObject()})
	})
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	down, token, forbidden, held := s.down, s.token, s.forbid[r.URL.Path], s.held[r.URL.Path]
	s.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-r.Context().Done():
		}
	}
	if down {
		panic(http.ErrAbortHandler)
	}
	if r.Header.Get("Authorization") != "Bearer "+token {
		fail(w, http.StatusUnauthorized, "Unauthorized", "")
		return
	}
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case forbidden:
		fail(w, http.StatusForbidden, metav1.StatusReasonForbidden, "forbidden: cannot list")
	case path[len(path)-1] == "exec":
		s.serveExec(w, r, path[len(path)-2])
	case r.URL.Query().Get("sendInitialEvents") != "":
		fail(w, http.StatusUnprocessableEntity, "Invalid", "not here")
	case path[0] == "apis":
		s.serve(w, r, path[len(path)-1], "")
	case path[2] == "namespaces":
		s.serve(w, r, path[4], path[3])
	default:
		s.serve(w, r, path[2], "")
	}
}

func fail(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: reason, Code: int32(code), Message: message,
	})
}

func selects(r *http.Request, namespace string, object runtime.Object) bool {
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		return false
	}
	m := object.(metav1.Object)
	return selector.Matches(labels.Set(m.GetLabels())) && (namespace == "" || m.GetNamespace() == namespace)
}

// serve lists or watches.
func (s *apiServer) serve(w http.ResponseWriter, r *http.Request, resource, namespace string) {
	w.Header().Set("Content-Type", "application/json")
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.URL.Query().Get("watch") == "" {
		s.lists[resource]++
		items := []runtime.Object{}
		for _, object := range s.objects[resource] {
			if selects(r, namespace, object) {
				items = append(items, object)
			}
		}
		kind := map[string]string{"pods": "PodList", "nodes": "NodeList"}[resource]
		version := "v1"
		if kind == "" {
			kind, version = "PartialObjectMetadataList", "meta.k8s.io/v1"
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"kind": kind, "apiVersion": version, "items": items,
			"metadata": map[string]string{"resourceVersion": strconv.Itoa(len(s.events))},
		})
		return
	}
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-r.Context().Done():
			s.changed.Broadcast()
		case <-stop:
		}
	}()
	w.(http.Flusher).Flush()
	next, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	for r.Context().Err() == nil && !s.down {
		for ; next < len(s.events); next++ {
			if e := s.events[next]; e.resource == resource && selects(r, namespace, e.Object) {
				_ = json.NewEncoder(w).Encode(e)
				w.(http.Flusher).Flush()
			}
		}
		s.changed.Wait()
	}
	if s.down {
		panic(http.ErrAbortHandler)
	}
}

// driver returns a driver pod of a node that is ready, and the node.
func driver(node string) (*corev1.Pod, *corev1.Node) {
	created := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: defaultNamespace, Name: "driver-" + node, UID: "00000000-0000-4000-8000-000000000001", CreationTimestamp: created,
			Labels: map[string]string{"app": "nvidia-driver-daemonset"},
		},
		Spec: corev1.PodSpec{NodeName: node, HostPID: true, Containers: []corev1.Container{{Name: driverContainer}}},
		Status: corev1.PodStatus{
			Phase:      corev1.PodRunning,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			ContainerStatuses: []corev1.ContainerStatus{{
				Name: driverContainer, ContainerID: "containerd://" + node, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
			}},
		},
	}
	return pod, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: node, Labels: map[string]string{"zone": "a", "nvidia.com/gpu.product": "H100"}},
		Status:     corev1.NodeStatus{Capacity: corev1.ResourceList{"nvidia.com/gpu": quantity("8")}},
	}
}

// add adds a node with its driver pod and what runs in it.
func (s *apiServer) add(node string, m *machine) (*corev1.Pod, *corev1.Node) {
	if m.uuid == "" {
		m.uuid = fmt.Sprintf("GPU-%s-0000-4000-8000-000000000001", node)
	}
	pod, n := driver(node)
	s.set(func() { s.boxes[pod.Name] = m.box() })
	s.put(n)
	s.put(pod)
	return pod, n
}
