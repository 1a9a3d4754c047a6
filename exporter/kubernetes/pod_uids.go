// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpukubernetesexporter // import "github.com/otelgpu/gpureceiver/exporter/kubernetes"

import (
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	maxPods = 20_000
	keepPod = time.Hour // after its last metric
)

// podUIDs has the UIDs of pods by their names, from the resources of metrics: a record names several pods without their UIDs, and an
// Event without one is not shown with its pod.
type podUIDs struct{ cache *cache.LRUExpireCache }

func newPodUIDs() *podUIDs { return &podUIDs{cache.NewLRUExpireCache(maxPods)} }

// learn takes the pod of a resource, if it has one. The last one of a name counts.
func (p *podUIDs) learn(resource pcommon.Map) {
	pod := podName{textOf(resource, "k8s.namespace.name"), textOf(resource, "k8s.pod.name")}
	if uid := textOf(resource, "k8s.pod.uid"); pod.valid() && validUID(uid) {
		p.cache.Add(pod, types.UID(uid), keepPod)
	}
}

// uid returns the UID of a pod; empty if it is not known.
func (p *podUIDs) uid(pod podName) types.UID {
	uid, _ := p.cache.Get(pod)
	known, _ := uid.(types.UID)
	return known
}

// podName is what a pod is called.
type podName struct{ namespace, name string }

func (p podName) valid() bool {
	return len(validation.IsDNS1123Label(p.namespace)) == 0 && len(validation.IsDNS1123Subdomain(p.name)) == 0
}

// validUID reports whether a text may be a UID: a hash for static pods, a UUID for other pods.
func validUID(uid string) bool { return len(uid) <= 63 && len(validation.IsDNS1123Label(uid)) == 0 }
