// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	podresourcesv1 "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/otelgpu/gpureceiver/internal/attribution/podresources/kubelettest"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// storeSizes returns how much an Attributor remembers, by what.
func storeSizes(a *Attributor) map[string]int {
	c := a.containers
	sizes := map[string]int{"users": len(c.users), "holders": len(c.holders), "known": len(c.known)}
	for vendor, h := range a.histories {
		for name, size := range map[string]int{
			"totals": len(h.accounting.totals.containers), "meters": len(h.accounting.totals.meters), "sharing": len(h.sharing), "running": len(h.running),
		} {
			sizes[string(vendor)+" "+name] = size
		}
	}
	return sizes
}

// After twenty thousand pods, an Attributor remembers the pods of the last reads, and nothing after all have gone.
func TestChurn(t *testing.T) {
	const pods, reads = 20, 1000
	for _, tt := range []struct {
		name string
		new  func(t *testing.T) *machine
	}{
		{"on the node", func(t *testing.T) *machine { t.Helper(); return newMachine(t, noAPI).start() }},
		{"from outside", func(t *testing.T) *machine { t.Helper(); return remote(t) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := tt.new(t)
			for i := range reads {
				node := nodeOf(device(0), device(1))
				var known []*podresourcesv1.PodResources
				for j := range pods {
					c := testContainer{fmt.Sprintf("job-%d-%d", i, j), "main"}
					run(node, int64(i*pods+j+1), uuid(j%2), c, 1e9, 0.01)
					known = append(known, kubelettest.Pod(c.pod, kubelettest.Container(c.name, resource, fmt.Sprint(uuid(j%2), "::", j))))
				}
				m.kubelet.Set(known...)
				m.apply(node, 10)
				require.GreaterOrEqual(t, len(node.Containers), pods)
			}
			for subject, size := range storeSizes(m.attributor) {
				assert.LessOrEqual(t, size, (2*keepContainers+1)*2*pods, subject) // users and holders
			}
			m.kubelet.Set()
			for range 2*keepContainers + 1 {
				m.apply(nodeOf(), 10)
			}
			for subject, size := range storeSizes(m.attributor) {
				assert.Zero(t, size, subject)
			}
			assert.Contains(t, storeSizes(m.attributor), string(gpu.NVIDIA)+" totals")
		})
	}
}
