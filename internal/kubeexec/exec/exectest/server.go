// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package exectest

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
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/otelgpu/gpureceiver/internal/kube"
)

// Server is the part of a Kubernetes API server that pods/exec and informers need: it lists and watches pods and nodes, and
// runs commands in boxes over WebSocket and SPDY.
type Server struct {
	*httptest.Server
	Dir string // has its certificate and token

	mu        sync.Mutex
	denied    []string
	t         testing.TB
	changed   *sync.Cond
	objects   map[string]map[string]runtime.Object // by resource, by namespace/name
	events    []event
	Boxes     map[string]Box // by the pod's name
	Token     string         // the only one that is accepted
	Requests  map[string]int // execs by method
	Lists     map[string]int // by resource
	Resumed   int            // execs over a resumed TLS session
	Exec      Behaviour
	Down      bool
	Forbidden map[string]bool          // paths that must not be listed
	Held      map[string]chan struct{} // paths that are answered when the channel is closed
}

// Behaviour is how the server serves pods/exec.
type Behaviour struct {
	DenyGet, DenyCreate bool          // by RBAC
	NoWebSocket         bool          // as before 1.30
	Throttle            int           // the number of requests that are answered by 429
	RetryAfter          string        // with them
	Freeze              chan struct{} // requests hang until it is closed
}

type event struct {
	resource string
	Type     string         `json:"type"`
	Object   runtime.Object `json:"object"`
}

// NewServer starts a server that ends with the test.
func NewServer(t testing.TB) *Server {
	t.Helper()
	s := &Server{
		t: t, Dir: t.TempDir(), Token: "first", objects: map[string]map[string]runtime.Object{}, Boxes: map[string]Box{},
		Requests: map[string]int{}, Lists: map[string]int{},
	}
	s.changed = sync.NewCond(&s.mu)
	s.Server = httptest.NewUnstartedServer(s)
	s.Server.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(func() {
		s.Set(func() { s.Down = true }) // ends the watches
		s.Close()
	})
	s.Write("token", s.Token)
	s.Write("ca.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})))
	return s
}

// Write writes a file in the server's directory, such as ca.crt or token.
func (s *Server) Write(name, content string) {
	require.NoError(s.t, os.WriteFile(filepath.Join(s.Dir, name), []byte(content), 0o600))
}

// Config is the configuration by which the server is reached.
func (s *Server) Config() kube.Config {
	return kube.Config{
		Endpoint: s.URL, TokenFile: filepath.Join(s.Dir, "token"), CAFile: filepath.Join(s.Dir, "ca.crt"), QPS: 1000, Burst: 1000,
	}
}

// Set changes the server's behaviour and wakes the watches.
func (s *Server) Set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	s.changed.Broadcast()
}

// Count returns a count that may still change.
func (s *Server) Count(counts map[string]int, key string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return counts[key]
}

// Put adds or changes an object.
func (s *Server) Put(object runtime.Object) { s.change(object, false) }

// Remove removes an object.
func (s *Server) Remove(object runtime.Object) { s.change(object, true) }

func (s *Server) change(object runtime.Object, remove bool) {
	s.Set(func() {
		kindOf, key := "pods", ""
		switch o := object.(type) {
		case *corev1.Pod:
			o.TypeMeta = metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}
			key = o.Namespace + "/" + o.Name
			o.ResourceVersion = strconv.Itoa(len(s.events) + 1)
		case *corev1.Node:
			o.TypeMeta = metav1.TypeMeta{Kind: "Node", APIVersion: "v1"}
			kindOf, key = "nodes", o.Name
			o.ResourceVersion = strconv.Itoa(len(s.events) + 1)
		}
		if s.objects[kindOf] == nil {
			s.objects[kindOf] = map[string]runtime.Object{}
		}
		kind := "ADDED"
		if s.objects[kindOf][key] != nil {
			kind = "MODIFIED"
		}
		s.objects[kindOf][key] = object.DeepCopyObject()
		if remove {
			kind = "DELETED"
			delete(s.objects[kindOf], key)
		}
		s.events = append(s.events, event{resource: kindOf, Type: kind, Object: object.DeepCopyObject()})
	})
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	down, token, forbidden, release := s.Down, s.Token, s.Forbidden[r.URL.Path], s.Held[r.URL.Path]
	s.mu.Unlock()
	if release != nil {
		select {
		case <-release:
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
	case path[len(path)-1] == reviewPath:
		s.serveReview(w, r)
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
func (s *Server) serve(w http.ResponseWriter, r *http.Request, resources, namespace string) {
	w.Header().Set("Content-Type", "application/json")
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.URL.Query().Get("watch") == "" {
		s.Lists[resources]++
		items := []runtime.Object{}
		for _, object := range s.objects[resources] {
			if selects(r, namespace, object) {
				items = append(items, object)
			}
		}
		kind := map[string]string{"pods": "PodList", "nodes": "NodeList"}[resources]
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
	for r.Context().Err() == nil && !s.Down {
		for ; next < len(s.events); next++ {
			if e := s.events[next]; e.resource == resources && selects(r, namespace, e.Object) {
				_ = json.NewEncoder(w).Encode(e)
				w.(http.Flusher).Flush()
			}
		}
		s.changed.Wait()
	}
	if s.Down {
		panic(http.ErrAbortHandler)
	}
}

// The place of the driver pods of the NVIDIA GPU operator.
const (
	Namespace       = "gpu-operator"
	DriverContainer = "nvidia-driver-ctr"
)

// Driver returns the driver pod of a node, ready, and the node.
func Driver(node string) (*corev1.Pod, *corev1.Node) {
	created := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: Namespace, Name: "driver-" + node, UID: "00000000-0000-4000-8000-000000000001", CreationTimestamp: created,
			Labels: map[string]string{"app": "nvidia-driver-daemonset"},
		},
		Spec: corev1.PodSpec{NodeName: node, HostPID: true, Containers: []corev1.Container{{Name: DriverContainer}}},
		Status: corev1.PodStatus{
			Phase:      corev1.PodRunning,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			ContainerStatuses: []corev1.ContainerStatus{{
				Name: DriverContainer, ContainerID: "containerd://" + node, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
			}},
		},
	}
	return pod, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: node, Labels: map[string]string{"zone": "a", "nvidia.com/gpu.product": "H100"}},
		Status:     corev1.NodeStatus{Capacity: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8")}},
	}
}

// Add adds a node with its driver pod, in which m runs.
func (s *Server) Add(node string, m *Machine) (*corev1.Pod, *corev1.Node) {
	if m.UUID == "" {
		m.UUID = fmt.Sprintf("GPU-%s-0000-4000-8000-000000000001", node)
	}
	pod, n := Driver(node)
	s.Set(func() { s.Boxes[pod.Name] = m.Box() })
	s.Put(n)
	s.Put(pod)
	return pod, n
}
