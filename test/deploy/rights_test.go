// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"context"
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
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"

	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/internal/kube/cluster"
)

// apiServer answers lists with nothing, keeps watches open, and notes who asks for what, as verb and resource. Discovery is
// open to every account.
type apiServer struct {
	url string

	mu    sync.Mutex
	asked map[string]bool
	wrong []string
}

func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	s := &apiServer{asked: map[string]bool{}}
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
			"resources":[{"name":"resourceslices","kind":"ResourceSlice","namespaced":false,"verbs":["list","watch"]}]}`))
		return
	case r.Method != http.MethodGet || !slices.Contains([]int{3, 4}, len(path)):
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
		s.asked["watch "+resource] = true
	} else {
		s.asked["list "+resource] = true
	}
	s.mu.Unlock()
	if watch {
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		return
	}
	kind, version := "List", strings.Join(path[1:len(path)-1], "/")
	if strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList") {
		kind, version = "PartialObjectMetadataList", "meta.k8s.io/v1"
	}
	_, _ = w.Write([]byte(`{"kind":"` + kind + `","apiVersion":"` + version + `","metadata":{"resourceVersion":"1"},"items":[]}`))
}

func (s *apiServer) requests() (asked, wrong []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.asked)), slices.Clone(s.wrong)
}

// granted are the rights of ClusterRoles, as verb and resource.
func granted(t *testing.T, names ...string) []string {
	t.Helper()
	var rights []string
	for _, o := range all(t) {
		role, ok := o.typed.(*rbacv1.ClusterRole)
		if !ok || !slices.Contains(names, role.Name) {
			continue
		}
		for _, rule := range role.Rules {
			for _, resource := range resources(rule) {
				for _, verb := range rule.Verbs {
					rights = append(rights, verb+" "+resource)
				}
			}
		}
	}
	require.NotEmpty(t, rights)
	slices.Sort(rights)
	return rights
}

// What the code asks an API server for is what the roles grant: no request without a right, no right without a request.
func TestRightsAreThoseThatAreUsed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		roles []string
		start func(t *testing.T, clients *kube.Clients)
	}{
		"agent with owners and claims": {
			[]string{"gpureceiver-agent-owners", "gpureceiver-agent-dra"},
			func(t *testing.T, clients *kube.Clients) {
				t.Helper()
				view, err := kube.NewView(clients, kube.ViewOptions{
					Pods: kube.PodsOptions{Node: "node-a"}, Kinds: []string{"replicasets.apps", "jobs.batch"}, Devices: true,
				})
				require.NoError(t, err)
				view.Start()
				t.Cleanup(view.Stop)
				view.Slices.Want()
			},
		},
		"attribution from outside": {
			[]string{"gpureceiver-exec-attribution"},
			func(t *testing.T, clients *kube.Clients) {
				t.Helper()
				view, err := kube.NewView(clients, kube.ViewOptions{Kinds: []string{"replicasets.apps", "jobs.batch"}})
				require.NoError(t, err)
				view.Start()
				t.Cleanup(view.Stop)
			},
		},
		"cluster": {
			[]string{"gpureceiver-cluster"},
			func(t *testing.T, clients *kube.Clients) {
				t.Helper()
				view, err := cluster.New(clients.Kubernetes, cluster.DefaultResources())
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
			c.start(t, clients)
			want := granted(t, c.roles...)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			for asked, _ := server.requests(); len(asked) < len(want) && ctx.Err() == nil; asked, _ = server.requests() {
				time.Sleep(10 * time.Millisecond)
			}
			asked, wrong := server.requests()
			assert.Equal(t, want, asked)
			assert.Empty(t, wrong)
		})
	}
}
