// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/golden"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/view"
)

// What golden files of the receiver show: a line for each GPU, "-" for what is absent.
func TestGoldenFiles(t *testing.T) {
	for file, want := range map[string][]string{
		"nvidia_smi_mig.yaml": {
			"GPU-53500000-0000-4000-8000-000000000001 nvidia0 of - profile - status ok [] busy - used 12647923712/85899345920 watts 95.11 gpu=44 memory=51 processes 0",
			"MIG-53500000-aaaa-5000-8000-000000000001 nvidia0/gi1/ci0 of GPU-53500000-0000-4000-8000-000000000001 profile 3g.40gb status ok [] busy - used 12621709312/42144366592 watts - processes 1",
			"MIG-53500000-aaaa-5000-8000-000000000002 nvidia0/gi5/ci0 of GPU-53500000-0000-4000-8000-000000000001 profile 1g.20gb status ok [] busy - used 26214400/20937965568 watts - processes 0",
			"GPU-53500000-0000-4000-8000-000000000002 nvidia1 of - profile - status failed [drain reset_required] busy 0 used 7340032/85899345920 watts - gpu=30 processes 0",
		},
		"amdgpu_mi300x_cpx.yaml": {
			"a1b2c3d4e5f60000 card1 of - profile CPX status ok [] busy 0.35 used 36000000000/206141652992 watts 318 hotspot=44 memory=38 processes 0",
			"a1b2c3d4e5f60000/0 card1 of a1b2c3d4e5f60000 profile CPX status ok [] busy 0 used 1000000000/25767706624 watts - processes 1",
			"a1b2c3d4e5f60000/1 card2 of a1b2c3d4e5f60000 profile CPX status ok [] busy 0.1 used 2000000000/25767706624 watts - processes 0",
			"a1b2c3d4e5f60000/2 card3 of a1b2c3d4e5f60000 profile CPX status ok [] busy 0.2 used 3000000000/25767706624 watts - processes 0",
			"a1b2c3d4e5f60000/3 card4 of a1b2c3d4e5f60000 profile CPX status ok [] busy 0.3 used 4000000000/25767706624 watts - processes 1",
			"a1b2c3d4e5f60000/4 card5 of a1b2c3d4e5f60000 profile CPX status ok [] busy 0.4 used 5000000000/25767706624 watts - processes 0",
			"a1b2c3d4e5f60000/5 card6 of a1b2c3d4e5f60000 profile CPX status ok [] busy 0.5 used 6000000000/25767706624 watts - processes 0",
			"a1b2c3d4e5f60000/6 card7 of a1b2c3d4e5f60000 profile CPX status ok [] busy 0.6 used 7000000000/25767706624 watts - processes 0",
			"a1b2c3d4e5f60000/7 card8 of a1b2c3d4e5f60000 profile CPX status ok [] busy 0.7 used 8000000000/25767706624 watts - processes 0",
		},
		"nvml_lost.yaml": {
			"GPU-6f1c2a00-5eed-4a11-8c0d-0000c0ffee00 nvidia0 of - profile - status ok [] busy 0.6317 used 2147483648/85520809984 watts 330 gpu=52 memory=61 processes 1",
			"GPU-6f1c2a01-5eed-4a11-8c0d-0000c0ffee01 nvidia1 of - profile - status failed [lost] busy - used -/- watts - processes 0",
		},
		"remote.yaml": {
			"GPU-a nvidia0 of - profile - status ok [] busy 0.9 used 73400320000/85520809984 watts 600 gpu=61 processes 2",
			"GPU-b nvidia1 of - profile - status predicted_failure [remap_pending] busy 0 used 524288000/85520809984 watts - gpu=30 processes 1",
		},
	} {
		t.Run(file, func(t *testing.T) {
			node := onlyNode(t, goldenFleet(t, filepath.Join("..", "..", "..", "testdata", "golden", file)))
			var got []string
			for _, g := range node.GPUs {
				got = append(got, line(g))
			}
			assert.Equal(t, want, got)
		})
	}
}

// Whatever a golden file has is shown: its node, each of its GPUs once with a tile, and nothing of it is unknown or invalid.
func TestEveryGoldenFile(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "testdata", "golden", "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			f := goldenFleet(t, file)
			node := onlyNode(t, f)
			require.NotEmpty(t, node.GPUs)
			require.NotNil(t, node.GPUCount)
			packages, ids := 0, map[string]bool{}
			for _, g := range node.GPUs {
				assert.False(t, ids[g.ID], "%s is there twice", g.ID)
				ids[g.ID] = true
				if g.Parent == nil {
					packages++
				} else {
					assert.True(t, ids[*g.Parent], "%s is not behind its package", g.ID)
				}
			}
			assert.Equal(t, *node.GPUCount+*node.Missing, packages)
			assert.Len(t, f.Tiles(0, "").Tiles, len(node.GPUs))
			for why := dropInvalid; why < drops; why++ {
				assert.Zero(t, f.state.dropped.counts[why])
			}
		})
	}
}

func goldenFleet(t *testing.T, file string) *Fleet {
	t.Helper()
	metrics, err := golden.ReadMetrics(file)
	require.NoError(t, err)
	f, _ := newTestFleet(Settings{})
	f.ConsumeMetrics(metrics)
	return f
}

func onlyNode(t *testing.T, f *Fleet) *view.Node {
	t.Helper()
	nodes := f.Snapshot().Nodes
	require.Len(t, nodes, 1)
	return nodes[0]
}

func line(g *view.GPU) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s of %s profile %s status %s %v busy %s used %s/%s watts %s", g.ID, shown(g.Name), shown(g.Parent), shown(g.PartitionProfile),
		shown(g.Status), g.Faults, shown(g.Utilization.General), shown(g.Memory.Used), shown(g.Memory.Total), shown(g.Power.Watts))
	for _, sensor := range g.Temperatures {
		fmt.Fprintf(&b, " %s=%s", sensor.Sensor, shown(sensor.Celsius))
	}
	fmt.Fprintf(&b, " processes %d", len(g.Processes))
	return b.String()
}

func shown[T any](v *T) string {
	switch v := any(v).(type) {
	case *string:
		if v != nil {
			return *v
		}
	case *float64:
		if v != nil {
			return fmt.Sprintf("%.15g", *v)
		}
	}
	return "-"
}
