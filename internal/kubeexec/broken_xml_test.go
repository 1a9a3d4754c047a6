// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"io"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/exec/exectest"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi"
)

// A tool that crashes in -q -x is read by its table in a pod as well, whether there is a shell or not. The container runtime reports the
// signal as 128 plus its number.
func TestFleetUsesTheTableIfXMLCrashes(t *testing.T) {
	s := exectest.NewServer(t)
	crashing := func(m *exectest.Machine, shell bool) exectest.Box {
		whole := m.Box()
		commands := exectest.Commands(func(argv []string, stdout, stderr io.Writer, done <-chan struct{}) int {
			if slices.Contains(argv, "-x") {
				_, _ = io.WriteString(stdout, "<?xml version=\"1.0\" ?>\n<nvidia_smi_log>\n<gpu id=\"0000")
				return 139
			}
			code, _ := whole(argv, stdout, stderr, done)
			return code
		})
		return func(argv []string, stdout, stderr io.Writer, done <-chan struct{}) (int, error) {
			if argv[0] != "nvidia-smi" && !shell {
				return 0, exectest.NotStarted(argv[0])
			}
			return commands(argv, stdout, stderr, done)
		}
	}
	for name, shell := range map[string]bool{"shell": true, "plain": false} {
		m := &exectest.Machine{UUID: "GPU-" + name}
		s.Add(name, m)
		s.Boxes["driver-"+name] = crashing(m, shell)
	}
	config := configOf(clusterOf(s, "prod"))
	config.Targets = []TargetConfig{{LabelSelector: classicDriver, Query: nvidiasmi.QueryFull}}
	_, got, problems := start(t, config)
	for _, name := range []string{"shell", "plain"} {
		node := readTimes(t, got, "prod/"+name, 2)
		assert.Nil(t, node.Failure, name)
		if assert.Len(t, node.Devices, 1, name) {
			assert.Equal(t, "GPU-"+name, node.Devices[0].ID)
			assert.Equal(t, gpu.Some(0.42), node.Devices[0].Utilization[gpu.TaskGeneral])
		}
		assert.True(t, slices.ContainsFunc(node.Problems, func(p gpu.Problem) bool { return p.What == "full query" }), name)
	}
	assert.Empty(t, problems.lines("prod"))
}
