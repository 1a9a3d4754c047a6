// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// fuzzPod has a part of everything that is kept of a pod.
func fuzzPod() *corev1.Pod {
	always, isController, claim := corev1.ContainerRestartPolicyAlways, true, "claim-1"
	devices := corev1.ResourceRequirements{
		Limits: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("2")},
		Claims: []corev1.ResourceClaim{{Name: "gpu", Request: "one"}},
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ml", Name: "train-0", UID: "uid", Labels: map[string]string{"team": "a"},
			Annotations: map[string]string{"team": "b", staticHash: "hash", staticMirror: "hash"},
			OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "v1", Kind: "Node", Name: "n1", UID: "u1", Controller: &isController},
			},
		},
		Spec: corev1.PodSpec{
			NodeName: "n1", ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &claim}},
			InitContainers: []corev1.Container{{Name: "init", Resources: devices}, {Name: "side", Resources: devices, RestartPolicy: &always}},
			Containers:     []corev1.Container{{Name: "main", Resources: devices}},
		},
		Status: corev1.PodStatus{
			Phase:             corev1.PodRunning,
			ContainerStatuses: []corev1.ContainerStatus{{Name: "main", ContainerID: "containerd://3f25"}},
			ExtendedResourceClaimStatus: &corev1.PodExtendedResourceClaimStatus{
				ResourceClaimName: "extended", RequestMappings: []corev1.ContainerExtendedResourceRequest{
					{ContainerName: "init", ResourceName: "nvidia.com/gpu", RequestName: "r"},
				},
			},
		},
	}
}

// Whatever a pod's object has, what is sent of it is bounded text. The API server sends pods in its binary form.
func FuzzPod(f *testing.F) {
	wire, err := fuzzPod().Marshal()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(wire)
	f.Add([]byte{})
	hostile := fuzzPod() // as a kubelet, or an account with its permissions, may write it
	hostile.Status.ContainerStatuses[0].Name, hostile.Status.ContainerStatuses[0].ContainerID = "main\xff", "x://"+strings.Repeat("\xfe", 300)
	if wire, err = hostile.Marshal(); err != nil {
		f.Fatal(err)
	}
	f.Add(wire)
	options := PodsOptions{Labels: []string{"team"}, Annotations: []string{"team"}, Metadata: func(string) bool { return true }}
	f.Fuzz(func(t *testing.T, data []byte) {
		var input corev1.Pod
		if input.Unmarshal(data) != nil {
			return
		}
		pod := &storePod(&input, &options).pod
		requireText(t, maxValue, pod.Attributes["k8s.pod.label.team"], pod.Attributes["k8s.pod.annotation.team"])
		for _, owner := range (*Owners)(nil).Of(pod) {
			requireText(t, maxName, owner.Kind, owner.Name, owner.UID)
		}
		for i := range pod.Containers {
			requireText(t, maxName, pod.Containers[i].Name, pod.Containers[i].ID)
			_ = pod.ContainerByID(pod.Containers[i].ID)
			_ = pod.ContainerID(pod.Containers[i].Name)
		}
		if m := pod.Metadata; m != nil {
			if len(m.Labels)+len(m.Annotations) > maxMetadata {
				t.Fatal("more than a scheduler writes")
			}
			for _, values := range []map[string]string{m.Labels, m.Annotations} {
				for _, value := range values {
					if len(value) > maxMetadataValue {
						t.Fatalf("%d bytes of a value", len(value))
					}
				}
			}
			for i := range m.Containers {
				requireText(t, maxName, m.Containers[i].Name)
			}
		}
		if pod.Init != nil {
			for resource, count := range pod.Init.Kept {
				if count <= 0 {
					t.Fatalf("%d of %q are kept", count, resource)
				}
			}
			for _, claim := range pod.Init.Claims {
				_ = pod.Requests(claim.Container, claim.Claim)
			}
		}
	})
}

// Objects of dynamic resource allocation are read without a schema: each part may be of any type.
func FuzzAllocation(f *testing.F) {
	f.Add([]byte(`{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"s"},"spec":{"driver":"gpu.nvidia.com",
		"pool":{"name":"n1","generation":3},"devices":[{"name":"gpu-0","attributes":{"uuid":{"string":"GPU-1"},"index":{"int":0}}},
		{"name":"gpu-1","basic":{"attributes":{"gpu.nvidia.com/uuid":{"string":"GPU-2"}}}}]}}`))
	f.Add([]byte(`{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":"c"},"status":{"allocation":{"devices":{"results":[
		{"driver":"gpu.nvidia.com","pool":"n1","device":"gpu-0","request":"one/first","adminAccess":true},7,null]}}}}`))
	f.Add([]byte(`{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":"c"},"spec":{"devices":{"requests":[{"name":"a",
		"exactly":{"deviceClassName":"gpu","count":2}},{"name":"b","firstAvailable":[{"name":"c","deviceClassName":"gpu"},7]},{"name":"d","deviceClassName":"x","count":1}]}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var object unstructured.Unstructured
		if object.UnmarshalJSON(data) != nil {
			return
		}
		for _, attributes := range storeSlice(&object).devices {
			for _, value := range attributes {
				if value == "" || len(value) > maxAttribute {
					t.Fatalf("%d bytes of a value", len(value))
				}
			}
		}
		for _, device := range givenDevices(&object) {
			_ = device.holds([]string{device.request})
		}
		for _, request := range requestedClaim(&object, func(string) bool { return true }).Requests {
			if request.Class == "" {
				t.Fatal("a request for no class")
			}
		}
	})
}

func requireText(t *testing.T, most int, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if len(text) > most || !utf8.ValidString(text) {
			t.Fatalf("%d bytes: %q", len(text), text[:min(len(text), 100)])
		}
	}
}

// chainSource has the owner of each owner of a chain.
type chainSource struct {
	ownerSource

	chain []metav1.OwnerReference
}

func (s chainSource) ownersOf(_ string, reference *metav1.OwnerReference) ([]metav1.OwnerReference, bool) {
	for i := range s.chain[:len(s.chain)-1] {
		if s.chain[i].UID == reference.UID {
			return s.chain[i+1:], true
		}
	}
	return nil, true
}

// Whatever owners a pod claims, the walk ends, nothing is requested that is not one of the kinds, and only the nearest owner of a kind of Kubernetes
// itself has the attributes of that kind.
func FuzzOwners(f *testing.F) {
	for _, p := range platforms(f) {
		f.Add(strings.Join(p.Chain, "\n"))
	}
	f.Add("batch/v1 Job a\nbatch/v1 Job a")
	f.Add("apps/v1/x Deployment ../secrets\n/ Job\n\xff")
	clients := &Clients{Kubernetes: fake.NewClientset()}
	f.Fuzz(func(t *testing.T, text string) {
		var chain []metav1.OwnerReference
		for _, line := range strings.SplitN(text, "\n", 3*maxDepth) {
			part := strings.SplitN(line+"  ", " ", 3)
			chain = append(chain, metav1.OwnerReference{APIVersion: part[0], Kind: part[1], Name: strings.TrimSpace(part[2]), UID: types.UID(line)})
		}
		got := (&Owners{chainSource{chain: chain}}).Of(&Pod{Namespace: "ml", Owners: chain[:1]})
		if len(got) == 0 || len(got) > maxDepth {
			t.Fatalf("%d owners of %d", len(got), len(chain))
		}
		for kind, owner := range gpu.NearestOwners(got) {
			first := slices.IndexFunc(got, func(o gpu.Owner) bool {
				group, _, _ := strings.Cut(o.APIVersion, "/")
				return o.Kind == gpu.OwnerKind(kind).String() && strings.Contains(o.APIVersion, "/") && (group == "apps" || group == "batch") &&
					(group == "batch") == strings.HasSuffix(o.Kind, "Job")
			})
			if (owner == nil) != (first < 0) || owner != nil && owner != &got[first] {
				t.Fatalf("%s: %v of %v", gpu.OwnerKind(kind), owner, got)
			}
		}
		owners := AskOwners(clients, DefaultKinds())
		for i := range chain {
			owners.Of(&Pod{Namespace: "ml", Owners: chain[i : i+1]})
		}
		source := owners.ownerSource.(*askedOwners) //nolint:forcetypeassert // it is
		for key := range source.known {
			if key.kind.String() != "Job.batch" && key.kind.String() != "ReplicaSet.apps" || strings.Contains(key.name, "/") || key.name == "" {
				t.Fatalf("%+v is requested", key)
			}
		}
	})
}
