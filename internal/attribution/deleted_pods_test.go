// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/otelgpu/gpureceiver/internal/attribution/podresources/kubelettest"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// A pod that was deleted by force is gone from the API while its process runs on. The log files say less than the API did, because the
// kubelet removes the log files of containers first. The API's answer stays.
func TestGoneByForce(t *testing.T) {
	pod := podOf(train)
	yes := true
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "train", UID: "u", Controller: &yes}}
	want := train.joined()
	want.Owners = []gpu.Owner{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "train", UID: "u"}}
	for name, allocated := range map[string]bool{"held": true, "taken back": false} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, nil, pod).start()
			m.log(train)
			use(t, m.apply(holdAndRun(m, train)), want, uuid(0))
			watched(t, &m.client.Fake, "pods")
			require.NoError(t, m.client.CoreV1().Pods("ml").Delete(t.Context(), train.pod, metav1.DeleteOptions{}))
			require.Eventually(t, func() bool { return m.attributor.view.Pods.ByUID(train.uid()) == nil }, time.Minute, time.Millisecond)
			for range 2 {
				node := holdAndRun(m, train)
				if !allocated {
					m.kubelet.Set(kubelettest.Pod("other"))
				}
				m.apply(node, 10)
				assert.Equal(t, gpu.Some(allocated), use(t, node, want, uuid(0)).Allocated)
				assert.Equal(t, want, node.Processes[0].Container)
				require.NoError(t, os.RemoveAll(filepath.Join(m.logs, "containers")))
			}
		})
	}
}
