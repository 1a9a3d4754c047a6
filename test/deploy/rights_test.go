// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/internal/kube/cluster"
	"github.com/otelgpu/gpureceiver/internal/kubeexec"
)

// apiServer answers lists with no items and a single object with one that has an owner, keeps watches open, and records each request as
// account, verb and resource. Discovery is open to every account.
type apiServer struct {
	url   string
	kinds map[string][]metav1.APIResource // of owners, by API group

	mu      sync.Mutex
	queries map[string]bool
	wrong   []string
}

func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	s := &apiServer{queries: map[string]bool{}, kinds: map[string][]metav1.APIResource{}}
	for _, owner := range usualOwners {
		kind := schema.ParseGroupResource(owner.kind)
		s.kinds[kind.Group] = append(s.kinds[kind.Group], metav1.APIResource{Name: kind.Resource, Kind: owner.Kind, Namespaced: true})
	}
	server := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *apiServer) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case r.URL.Path == "/apis/resource.k8s.io":
		_, _ = w.Write([]byte(`{"kind":"APIGroup","apiVersion":"v1","name":"resource.k8s.io","versions":[{"groupVersion":"resource.k8s.io/v1","version":"v1"}],
			"preferredVersion":{"groupVersion":"resource.k8s.io/v1","version":"v1"}}`))
		return
	case r.URL.Path == "/apis/resource.k8s.io/v1":
		_, _ = w.Write([]byte(`{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"resource.k8s.io/v1",
			"resources":[{"name":"resourceslices","kind":"ResourceSlice","namespaced":false,"verbs":["list","watch"]},
			{"name":"resourceclaims","kind":"ResourceClaim","namespaced":true,"verbs":["get"]}]}`))
		return
	case path[0] == "apis" && len(path) == 2:
		_ = json.NewEncoder(w).Encode(&metav1.APIGroup{Name: path[1], PreferredVersion: metav1.GroupVersionForDiscovery{Version: "v1"}})
		return
	case path[0] == "apis" && len(path) == 3:
		_ = json.NewEncoder(w).Encode(&metav1.APIResourceList{APIResources: s.kinds[path[1]]})
		return
	case r.Method == http.MethodGet && r.URL.RawQuery == "" && (len(path) == 7 && path[0] == "apis" && path[3] == "namespaces" ||
		len(path) == 6 && path[0] == "api" && path[4] == "pods"):
		resource := path[len(path)-2]
		if path[0] == "apis" {
			resource += "." + path[1]
		}
		s.mu.Lock()
		s.queries["get "+resource] = true
		s.mu.Unlock()
		_ = json.NewEncoder(w).Encode(&metav1.PartialObjectMetadata{
			TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"},
			ObjectMeta: metav1.ObjectMeta{
				Namespace: path[len(path)-3], Name: path[len(path)-1], UID: "uid",
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "a/v1", Kind: "Top", Name: "top", UID: "top"}},
			},
		})
		return
	case r.Method == http.MethodGet && len(path) == 4 && path[0] == "api" && path[2] == "nodes" && r.URL.RawQuery == "":
		s.mu.Lock()
		s.queries["get nodes"] = true
		s.mu.Unlock()
		_ = json.NewEncoder(w).Encode(&metav1.PartialObjectMetadata{
			TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"}, ObjectMeta: metav1.ObjectMeta{Name: path[3], UID: "uid"},
		})
		return
	case strings.HasPrefix(r.URL.Path, "/api/v1/nodes/") && strings.HasSuffix(r.URL.Path, "/status"):
		s.mu.Lock()
		s.queries[strings.ToLower(r.Method)+" nodes/status"] = true
		s.mu.Unlock()
		_ = json.NewEncoder(w).Encode(&corev1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: path[3]}})
		return
	case (r.Method == http.MethodPost || r.Method == http.MethodPatch) && len(path) >= 5 && path[4] == "events":
		s.mu.Lock()
		s.queries[map[string]string{http.MethodPost: "create", http.MethodPatch: "patch"}[r.Method]+" events"] = true
		s.mu.Unlock()
		_ = json.NewEncoder(w).Encode(&corev1.Event{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Event"}, ObjectMeta: metav1.ObjectMeta{Namespace: path[3], Name: "taken"},
		})
		return
	case r.Method != http.MethodGet || len(path) < 3 || len(path) > 5 || len(path) == 5 && path[2] != "namespaces":
		s.mu.Lock()
		s.wrong = append(s.wrong, r.Method+" "+r.URL.String())
		s.mu.Unlock()
		w.WriteHeader(http.StatusForbidden)
		return
	}
	resource, watch := path[len(path)-1], r.URL.Query().Get("watch") != ""
	if path[0] == "apis" {
		resource += "." + path[1]
	}
	s.mu.Lock()
	if watch {
		s.queries["watch "+resource] = true
	} else {
		s.queries["list "+resource] = true
	}
	s.mu.Unlock()
	if watch {
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		return
	}
	kind, version := "List", strings.Join(path[1:min(len(path)-1, 3)], "/")
	if path[0] == "api" {
		version = path[1]
	}
	if strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList") {
		kind, version = "PartialObjectMetadataList", "meta.k8s.io/v1"
	}
	_, _ = w.Write([]byte(`{"kind":"` + kind + `","apiVersion":"` + version + `","metadata":{"resourceVersion":"1"},"items":[]}`))
}

func (s *apiServer) requests() (list, wrong []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.queries)), slices.Clone(s.wrong)
}

// granted returns the permissions of ClusterRoles and Roles, as verb and resource, except the permissions on pods/exec, which require a
// pod.
func granted(t *testing.T, names ...string) []string {
	t.Helper()
	var rights []string
	for _, o := range all(t) {
		if !slices.Contains(names, o.GetName()) {
			continue
		}
		var rules []rbacv1.PolicyRule
		switch role := o.typed.(type) {
		case *rbacv1.ClusterRole:
			rules = role.Rules
		case *rbacv1.Role:
			rules = role.Rules
		}
		for _, rule := range rules {
			for _, resource := range resources(rule) {
				for _, verb := range rule.Verbs {
					if resource != "pods/exec" {
						rights = append(rights, verb+" "+resource)
					}
				}
			}
		}
	}
	require.NotEmpty(t, rights)
	slices.Sort(rights)
	return slices.Compact(rights)
}

// The roles grant exactly the API requests of the code: no request without a permission, no permission without a request.
func TestRightsAreThoseThatAreUsed(t *testing.T) {
	kube.LogTo(zap.NewNop()) // before the first client of a parallel test is in use
	t.Parallel()
	for name, c := range map[string]struct {
		roles []string
		start func(t *testing.T, clients *kube.Clients, url string)
	}{
		"agent with owners and claims": {
			[]string{"gpureceiver-agent-owners", "gpureceiver-agent-dra"},
			func(t *testing.T, clients *kube.Clients, _ string) {
				t.Helper()
				view, err := kube.NewView(clients, kube.ViewOptions{
					Pods: kube.PodsOptions{Node: "node-a"}, Kinds: []string{"replicasets.apps", "jobs.batch"}, Devices: true,
				})
				require.NoError(t, err)
				view.Start()
				t.Cleanup(view.Stop)
				view.Slices.Want()
				view.Claims.Get(t.Context(), kube.Claim{Namespace: "ml", Name: "c"})
				require.NoError(t, view.Claims.Err())
				for _, owner := range []metav1.OwnerReference{
					{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "a", UID: "uid"}, {APIVersion: "batch/v1", Kind: "Job", Name: "b", UID: "uid"},
				} {
					pod := &kube.Pod{Namespace: "ml", Owners: []metav1.OwnerReference{owner}}
					require.Eventually(t, func() bool { return len(view.Owners.Of(pod)) == 2 }, time.Minute, 10*time.Millisecond)
				}
			},
		},
		"agent with node labels": {
			[]string{"gpureceiver-agent-node-labels"},
			func(t *testing.T, clients *kube.Clients, _ string) {
				t.Helper()
				labels := kube.NewNodeLabels(clients, "node-a", []string{"*"})
				labels.Start(t.Context())
				t.Cleanup(labels.Stop)
				assert.Empty(t, labels.Problems())
			},
		},
		"agent with Kubernetes Events": {
			[]string{"gpureceiver-agent-kubernetes-events"},
			func(t *testing.T, _ *kube.Clients, url string) {
				t.Helper()
				poster := startPoster(t, map[string]any{"endpoint": url, "auth_type": "none", "events": map[string]any{}})
				for range 2 { // the second one is counted
					poster.record(t, "node-a", map[string]any{"hw.id": "GPU-1"})
				}
			},
		},
		"agent with the node condition": {
			[]string{"gpureceiver-agent-node-condition"},
			func(t *testing.T, _ *kube.Clients, url string) {
				t.Helper()
				startPoster(t, map[string]any{"endpoint": url, "auth_type": "none", "node_name": "node-a", "node_condition": map[string]any{}})
			},
		},
		"agent with the usual kinds of owners": {
			[]string{"gpureceiver-agent-owners", "gpureceiver-agent-owner-kinds"},
			func(t *testing.T, clients *kube.Clients, _ string) {
				t.Helper()
				kinds := kindsOf(t, "owner-kinds.yaml", "attribution", "owners")
				view, err := kube.NewView(clients, kube.ViewOptions{Pods: kube.PodsOptions{Node: "node-a"}, Kinds: kinds})
				require.NoError(t, err)
				view.Start()
				t.Cleanup(view.Stop)
				for _, owner := range usualOwners {
					pod := &kube.Pod{Namespace: "ml", Owners: []metav1.OwnerReference{{APIVersion: owner.version, Kind: owner.Kind, Name: "a", UID: "uid"}}}
					require.Eventually(t, func() bool { return len(view.Owners.Of(pod)) == 2 }, time.Minute, 10*time.Millisecond, owner.kind)
				}
			},
		},
		"attribution from outside with the usual kinds of owners": {
			[]string{"gpureceiver-exec-attribution", "gpureceiver-exec-owner-kinds"},
			func(t *testing.T, clients *kube.Clients, _ string) {
				t.Helper()
				view, err := kube.NewView(clients, kube.ViewOptions{Kinds: kindsOf(t, "exec-owner-kinds.yaml", "scrapers", "kubernetes_exec", "owners")})
				require.NoError(t, err)
				view.Start()
				t.Cleanup(view.Stop)
			},
		},
		"cluster with the usual kinds of owners": {
			[]string{"gpureceiver-cluster", "gpureceiver-cluster-owner-kinds"},
			func(t *testing.T, clients *kube.Clients, _ string) {
				t.Helper()
				kinds := kindsOf(t, "cluster-owner-kinds.yaml", "scrapers", "kubernetes_cluster", "owners")
				view, err := cluster.New(clients.Kubernetes, cluster.DefaultResources(), kube.WatchOwners(clients, kinds))
				require.NoError(t, err)
				view.Start()
				t.Cleanup(view.Stop)
			},
		},
		"attribution from outside": {
			[]string{"gpureceiver-exec-attribution"},
			func(t *testing.T, clients *kube.Clients, _ string) {
				t.Helper()
				view, err := kube.NewView(clients, kube.ViewOptions{Kinds: []string{"replicasets.apps", "jobs.batch"}})
				require.NoError(t, err)
				view.Start()
				t.Cleanup(view.Stop)
			},
		},
		"from outside": {
			[]string{"gpureceiver-exec", "gpureceiver-exec-nodes"},
			func(t *testing.T, _ *kube.Clients, url string) {
				t.Helper()
				config := kubeexec.DefaultConfig()
				config.AttributePods = false
				config.Clusters = []kubeexec.ClusterConfig{{Name: "a", API: kube.Config{Endpoint: url, QPS: 1000, Burst: 1000}}}
				fleet, err := kubeexec.New(&config, kubeexec.Options{Interval: time.Minute, Timeout: time.Minute, CloseWait: time.Minute})
				require.NoError(t, err)
				fleet.Start()
				t.Cleanup(func() { assert.NoError(t, fleet.Close()) })
			},
		},
		"cluster": {
			[]string{"gpureceiver-cluster"},
			func(t *testing.T, clients *kube.Clients, _ string) {
				t.Helper()
				view, err := cluster.New(clients.Kubernetes, cluster.DefaultResources(), nil)
				require.NoError(t, err)
				view.Start()
				t.Cleanup(view.Stop)
			},
		},
		"cluster with claims": {
			[]string{"gpureceiver-cluster", "gpureceiver-cluster-claims"},
			func(t *testing.T, clients *kube.Clients, _ string) {
				t.Helper()
				view, err := cluster.New(clients.Kubernetes, cluster.DefaultResources(), nil)
				require.NoError(t, err)
				require.NoError(t, view.WatchClaims(clients, []string{"gpu.nvidia.com"}))
				view.Start()
				t.Cleanup(view.Stop)
			},
		},
		"cluster with events": {
			[]string{"gpureceiver-cluster", "gpureceiver-cluster-events"},
			func(t *testing.T, clients *kube.Clients, _ string) {
				t.Helper()
				view, err := cluster.New(clients.Kubernetes, cluster.DefaultResources(), kube.WatchOwners(clients, kube.DefaultKinds()))
				require.NoError(t, err)
				view.Start()
				t.Cleanup(view.Stop)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newAPIServer(t)
			clients, err := kube.NewClients(&rest.Config{Host: server.url, QPS: -1})
			require.NoError(t, err)
			c.start(t, clients, server.url)
			want := granted(t, c.roles...)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			for got, _ := server.requests(); len(got) < len(want) && ctx.Err() == nil; got, _ = server.requests() {
				time.Sleep(10 * time.Millisecond)
			}
			got, wrong := server.requests()
			assert.Equal(t, want, got)
			assert.Empty(t, wrong)
		})
	}
}
