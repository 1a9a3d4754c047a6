// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/internal/kube/cluster"
)

const (
	many = 20000
	page = 1000
)

func named(i int) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: fmt.Sprint("team-", i%200), Name: fmt.Sprintf("service-%d-6f7d8b9c5d", i), ResourceVersion: "5",
		UID:         types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", i)),
		Labels:      map[string]string{"app": fmt.Sprint("service-", i), "pod-template-hash": "6f7d8b9c5d"},
		Annotations: map[string]string{"checksum/config": strings.Repeat("c", 64)},
		ManagedFields: []metav1.ManagedFieldsEntry{
			{Manager: "kube-controller-manager", FieldsV1: &metav1.FieldsV1{Raw: []byte(strings.Repeat("f:x,", 400))}},
			{Manager: "kubelet", Subresource: "status", FieldsV1: &metav1.FieldsV1{Raw: []byte(strings.Repeat("f:y,", 300))}},
		},
	}
}

func ordinaryPod(i int) corev1.Pod {
	pod := corev1.Pod{ObjectMeta: named(i), Spec: corev1.PodSpec{NodeName: fmt.Sprint("node-", i%500)}}
	for _, name := range []string{"main", "proxy"} {
		c := corev1.Container{Name: name, Image: "registry.example/" + name + ":1.2.3"}
		for v := range 8 {
			c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprint("SOME_VARIABLE_", v), Value: fmt.Sprint("a value of an ordinary length ", i)})
		}
		pod.Spec.Containers = append(pod.Spec.Containers, c)
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: name, ContainerID: "containerd://" + strings.Repeat("a", 64), ImageID: "registry.example/" + name + "@sha256:" + strings.Repeat("b", 64),
		})
	}
	return pod
}

// write writes a list of objects, from a number on, as the API server sends it.
func write(b *testing.B, file string, list interface{ Marshal() ([]byte, error) }, version, kind string) {
	b.Helper()
	raw, err := list.Marshal()
	require.NoError(b, err)
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: version, Kind: kind}, Raw: raw}
	body, err := unknown.Marshal()
	require.NoError(b, err)
	require.NoError(b, os.WriteFile(file, append([]byte("k8s\x00"), body...), 0o600))
}

// prepare writes the pages of a list and the whole list.
func prepare(b *testing.B, make func(start, end int, meta metav1.ListMeta) (interface{ Marshal() ([]byte, error) }, string, string)) string {
	b.Helper()
	directory := b.TempDir()
	for start := 0; start < many; start += page {
		meta := metav1.ListMeta{ResourceVersion: "5"}
		if start+page < many {
			meta.Continue = strconv.Itoa(start + page)
		}
		list, version, kind := make(start, start+page, meta)
		write(b, filepath.Join(directory, strconv.Itoa(start)), list, version, kind)
	}
	list, version, kind := make(0, many, metav1.ListMeta{ResourceVersion: "5"})
	write(b, filepath.Join(directory, "whole"), list, version, kind)
	return directory
}

// served is an API server that answers from files: with pages if the client requests them and may have them.
func served(b *testing.B, directory string) *kube.Clients {
	b.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		switch {
		case query.Get("watch") != "":
			w.(http.Flusher).Flush() //nolint:forcetypeassert // the server's own
			<-r.Context().Done()
		case strings.HasSuffix(r.URL.Path, "/nodes"):
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[]}`)
		case strings.HasSuffix(r.URL.Path, "/v1"):
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"kind":"APIResourceList","groupVersion":"apps/v1","resources":[{"name":"replicasets","kind":"ReplicaSet","namespaced":true}]}`)
		case strings.HasSuffix(r.URL.Path, "/apps"):
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"kind":"APIGroup","apiVersion":"v1","name":"apps","versions":[{"groupVersion":"apps/v1","version":"v1"}],"preferredVersion":{"groupVersion":"apps/v1","version":"v1"}}`)
		default:
			name := "whole"
			if query.Get("limit") != "" && query.Get("resourceVersion") != "0" {
				name = "0" + query.Get("continue")
				name = strconv.Itoa(must(strconv.Atoi(name)))
			}
			w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf")
			http.ServeFile(w, r, filepath.Join(directory, name))
		}
	}))
	b.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	clients, err := kube.NewClients(&rest.Config{Host: server.URL, QPS: -1})
	require.NoError(b, err)
	return clients
}

func must(n int, err error) int {
	if err != nil {
		panic(err)
	}
	return n
}

func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// measure reports the most memory that an informer takes until it is synced, and what it has after that.
func measure(b *testing.B, start func(), synced func() bool) {
	b.Helper()
	debug.FreeOSMemory()
	before, peak := heap(), uint64(0)
	start()
	for deadline := time.Now().Add(time.Minute); !synced(); time.Sleep(time.Millisecond) {
		peak = max(peak, heap())
		require.False(b, time.Now().After(deadline), "not synced")
	}
	debug.FreeOSMemory()
	b.ReportMetric(float64(peak-before)/(1<<20), "MiB-peak")
	b.ReportMetric(float64(heap()-before)/(1<<20), "MiB-after")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkFirstList measures the first lists of a large cluster: 20,000 pods of the cluster view, 20,000 ReplicaSets of an agent.
func BenchmarkFirstList(b *testing.B) {
	b.Run("pods", func(b *testing.B) {
		directory := prepare(b, func(start, end int, meta metav1.ListMeta) (interface{ Marshal() ([]byte, error) }, string, string) {
			list := &corev1.PodList{ListMeta: meta}
			for i := start; i < end; i++ {
				list.Items = append(list.Items, ordinaryPod(i))
			}
			return list, "v1", "PodList"
		})
		for b.Loop() {
			v, err := cluster.New(served(b, directory).Kubernetes, cluster.DefaultResources(), nil)
			require.NoError(b, err)
			measure(b, v.Start, v.Synced)
			v.Stop()
		}
	})
	b.Run("replicasets", func(b *testing.B) {
		directory := prepare(b, func(start, end int, meta metav1.ListMeta) (interface{ Marshal() ([]byte, error) }, string, string) {
			list := &metav1.PartialObjectMetadataList{ListMeta: meta}
			for i := start; i < end; i++ {
				list.Items = append(list.Items, metav1.PartialObjectMetadata{ObjectMeta: named(i)})
				list.Items[i-start].OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: fmt.Sprint("service-", i), UID: "u"}}
			}
			return list, "meta.k8s.io/v1", "PartialObjectMetadataList"
		})
		for b.Loop() {
			owners := kube.WatchOwners(served(b, directory), []string{"replicasets.apps"})
			ctx, cancel := context.WithCancel(b.Context())
			done := make(chan struct{})
			run := func() {
				defer close(done)
				owners.Run(ctx)
			}
			measure(b, func() { go run() }, owners.Synced)
			cancel()
			<-done
		}
	})
}
