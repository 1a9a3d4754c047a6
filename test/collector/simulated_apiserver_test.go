// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// kinds are the kinds that it serves, by their resources.
var kinds = map[string]string{
	"pods": "Pod", "nodes": "Node", "namespaces": "Namespace", "replicasets.apps": "ReplicaSet", "jobs.batch": "Job",
}

// apiServer is a minimal API server: it lists its objects, with field selectors on the node, gets an object by name and namespace, and
// offers watches without changes. It records the requests as verb and resource.
type apiServer struct {
	kubeconfig string

	objects map[string][]any // by resource, "pods" or "replicasets.apps"

	mu      sync.Mutex
	queries map[string]bool
}

func newAPIServer(t *testing.T, objects map[string][]any) *apiServer {
	t.Helper()
	s := &apiServer{objects: objects, queries: map[string]bool{}, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	server := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	require.NoError(t, os.WriteFile(s.kubeconfig, fmt.Appendf(nil, `{"apiVersion": "v1", "kind": "Config", "current-context": "test",
		"clusters": [{"name": "test", "cluster": {"server": %q}}], "users": [{"name": "test", "user": {}}],
		"contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}]}`, server.URL), 0o600))
	return s
}

// requests returns the requests received so far.
func (s *apiServer) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.queries))
}

func (s *apiServer) serve(w http.ResponseWriter, r *http.Request) {
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if i := slices.Index(path, "namespaces"); r.Method == http.MethodGet && i > 0 && len(path) == i+4 {
		s.get(w, r, path[i+1], path[i+2], path[i+3])
		return
	}
	if r.Method != http.MethodGet || len(path) < 3 || len(path) > 4 {
		s.note(r.Method + " " + r.URL.Path)
		http.NotFound(w, r)
		return
	}
	resource, version := path[len(path)-1], strings.Join(path[1:len(path)-1], "/")
	if path[0] == "apis" {
		resource += "." + path[1]
	}
	query := r.URL.Query()
	partial := strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadata")
	items := s.items(resource, version, query.Get("fieldSelector"), partial)
	w.Header().Set("Content-Type", "application/json")
	if query.Get("watch") == "" {
		s.note("list " + resource)
		kind := kinds[resource] + "List"
		if partial {
			kind, version = "PartialObjectMetadataList", "meta.k8s.io/v1"
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"kind": kind, "apiVersion": version, "metadata": map[string]any{"resourceVersion": "1"}, "items": items,
		})
		return
	}
	s.note("watch " + resource)
	if query.Get("sendInitialEvents") == "true" { // the list comes as events, closed by a bookmark
		for _, item := range items {
			_ = json.NewEncoder(w).Encode(map[string]any{"type": "ADDED", "object": item})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"type": "BOOKMARK", "object": map[string]any{
			"apiVersion": version, "kind": kinds[resource], "metadata": map[string]any{
				"resourceVersion": "1", "annotations": map[string]string{"k8s.io/initial-events-end": "true"},
			},
		}})
	}
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

// get returns the object of a resource with a name.
func (s *apiServer) get(w http.ResponseWriter, r *http.Request, namespace, resource, name string) {
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	version := path[1]
	if path[0] == "apis" {
		resource += "." + path[1]
		version += "/" + path[2]
	}
	s.note("get " + resource)
	w.Header().Set("Content-Type", "application/json")
	for _, item := range s.items(resource, version, "", strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadata")) {
		if metadata, ok := item["metadata"].(map[string]any); ok && metadata["namespace"] == namespace && metadata["name"] == name {
			_ = json.NewEncoder(w).Encode(item)
			return
		}
	}
	w.WriteHeader(http.StatusNotFound)
	_ = json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: http.StatusNotFound,
		Reason: metav1.StatusReasonNotFound, Message: resource + " " + name + " not found",
	})
}

func (s *apiServer) note(request string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queries[request] = true
}

// items returns the objects of a resource that a field selector on the node selects.
func (s *apiServer) items(resource, version, selector string, partial bool) []map[string]any {
	items := []map[string]any{}
	node, ofNode := strings.CutPrefix(selector, "spec.nodeName=")
	for _, object := range s.objects[resource] {
		if pod, ok := object.(*corev1.Pod); ok && ofNode && pod.Spec.NodeName != node {
			continue
		}
		text, err := json.Marshal(object)
		var item map[string]any
		if err != nil || json.Unmarshal(text, &item) != nil {
			panic(fmt.Sprintf("%T", object))
		}
		item["apiVersion"] = version
		item["kind"] = kinds[resource]
		if partial {
			item = map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": item["metadata"]}
		}
		items = append(items, item)
	}
	return items
}

func ownedBy(kind, apiVersion, name string) []metav1.OwnerReference {
	controller := true
	return []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: name, UID: types.UID("uid-of-" + name), Controller: &controller}}
}

// workloadObjects are the API objects behind the workloads: two servers of a Deployment, a notebook of a StatefulSet, training
// of a Job, the others of nothing; each of a team. One pod more waits for all GPUs of a node.
func workloadObjects() map[string][]any {
	const gpus = corev1.ResourceName("nvidia.com/gpu")
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-a", UID: "uid-of-node-a", ResourceVersion: "1"}}
	node.Status.Capacity = corev1.ResourceList{gpus: resource.MustParse("8"), "nvidia.com/mig-3g.40gb": resource.MustParse("2")}
	node.Status.Allocatable = node.Status.Capacity
	pod := func(w workload, team, nodeName string, request corev1.ResourceName, owner []metav1.OwnerReference) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ml", Name: w.pod, UID: types.UID(w.uid()), ResourceVersion: "1",
			Labels: map[string]string{"team": team}, OwnerReferences: owner,
		}}
		if len(owner) > 0 && owner[0].Kind == "ReplicaSet" {
			p.Labels["pod-template-hash"] = owner[0].Name[strings.LastIndex(owner[0].Name, "-")+1:]
		}
		p.Spec.NodeName = nodeName
		p.Spec.Containers = []corev1.Container{{Name: w.container, Image: "registry.example/" + w.pod + ":1.0"}}
		if request != "" {
			one := corev1.ResourceList{request: resource.MustParse("1")}
			p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: one, Limits: one}
		}
		if nodeName == "" {
			most := corev1.ResourceList{request: node.Status.Allocatable[request]} // some of them are in use
			p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: most, Limits: most}
			p.Status.Phase = corev1.PodPending
			p.Status.Conditions = []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
				Message: "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.",
			}}
			return p
		}
		p.Status.Phase, p.Status.PodIP = corev1.PodRunning, fmt.Sprintf("10.0.0.%d", w.number)
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: w.container, ContainerID: "containerd://" + w.id(), Ready: true,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		}}
		return p
	}
	server := ownedBy("ReplicaSet", "apps/v1", "server-5d9c7b6f44")
	return map[string][]any{
		"nodes":      {node},
		"namespaces": {&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ml", UID: "uid-of-ml", ResourceVersion: "1"}}},
		"pods": {
			pod(training, "language", "node-a", gpus, ownedBy("Job", "batch/v1", "train")),
			pod(notebook, "vision", "node-a", gpus, ownedBy("StatefulSet", "apps/v1", "notebook")),
			pod(stowaway, "vision", "node-a", "", nil),
			pod(serverA, "language", "node-a", gpus, server),
			pod(serverB, "language", "node-a", gpus, server),
			pod(sliced, "vision", "node-a", "nvidia.com/mig-3g.40gb", nil),
			pod(workload{7, "waiting-0", "main"}, "vision", "", gpus, nil),
			pod(workload{8, "elsewhere-0", "main"}, "vision", "node-b", gpus, nil),
		},
		"replicasets.apps": {&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ml", Name: "server-5d9c7b6f44", UID: "uid-of-server-5d9c7b6f44", ResourceVersion: "1",
			OwnerReferences: ownedBy("Deployment", "apps/v1", "server"),
		}}},
		"jobs.batch": {&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "train", UID: "uid-of-train", ResourceVersion: "1"}}},
	}
}
