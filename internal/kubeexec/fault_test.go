// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/kubeexec/exec"
)

// spoiling is an executor that panics for one pod.
type spoiling struct {
	exec.Executor
	pod string
}

func (s spoiling) Exec(ctx context.Context, container exec.Container, argv []string, out *exec.Output) (int, error) {
	if container.Pod == s.pod {
		var nowhere []byte
		return int(nowhere[len(argv)]), nil
	}
	return s.Executor.Exec(ctx, container, argv, out)
}

// A bug of the receiver that the output of one node triggers is an error of that node and does not affect the others.
func TestPanicIsOfOneNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c, machines, s, plans := bare(1, 3)
		c.executor = spoiling{machines, "node-1"}
		c.follow(ctx, plans)
		time.Sleep(3 * interval)
		synctest.Wait()
		for name := range plans {
			good, failed, _, err := s.state("c/" + name)
			if name == "node-1" {
				assert.Zero(t, good)
				assert.Positive(t, failed)
				require.ErrorContains(t, err, "kubernetes_exec: read node node-1 in container nvidia-driver-ctr of pod gpu-operator/node-1: "+
					"a bug in gpureceiver, please report it: runtime error: index out of range")
				require.ErrorContains(t, err, "fault_test.go", "where it was")
				continue
			}
			assert.Greater(t, good, 1, name)
			assert.Zero(t, failed, name)
		}
		for _, n := range c.stats().Nodes {
			assert.Equal(t, n.Node != "node-1", n.Success, n.Node)
		}
		c.executor = machines // the known state of the node may be incomplete: it is read again
		c.mu.Lock()
		for _, n := range c.running {
			assert.Equal(t, n.name != "node-1", len(n.readers) == 1, n.name)
		}
		c.mu.Unlock()
		cancel()
		c.reading.Wait()
	})
}
