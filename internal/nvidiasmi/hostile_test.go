// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// inventing is a tool that shows other GPUs each time, as a driver does that tells what lies in its memory, and a node that is
// not to be trusted.
type inventing struct{ reads int }

func (i *inventing) Run(_ context.Context, commands ...command.Command) ([]command.Result, error) {
	results := make([]command.Result, len(commands))
	for c := range commands {
		if args := strings.Join(commands[c].Args, " "); !strings.HasPrefix(args, "-q -x") {
			continue
		}
		i.reads++
		var out strings.Builder
		out.WriteString("<nvidia_smi_log><driver_version>580.1</driver_version><attached_gpus>100</attached_gpus>")
		for g := range 100 {
			fmt.Fprintf(&out, `<gpu id="%08X:%02X:00.0"><uuid>GPU-%d-%d</uuid></gpu>`, i.reads, g, i.reads, g)
		}
		out.WriteString("</nvidia_smi_log>")
		results[c].Stdout = []byte(out.String())
	}
	return results, nil
}

func TestGPUsThatAreRememberedAreBounded(t *testing.T) {
	r := New(Config{Query: QueryFull}, &inventing{}, gpu.GroupAll)
	const maxAbsent = 64 // of the inventory
	var node *gpu.Node
	for range 50 {
		var err error
		node, err = r.Read(t.Context())
		require.NoError(t, err)
	}
	assert.LessOrEqual(t, len(node.Devices), 100+maxAbsent)
	assert.LessOrEqual(t, len(r.known.inventory.All()), 100+maxAbsent)
	var present int
	for i := range node.Devices {
		if node.Devices[i].State() == gpu.StateOK {
			present++
		}
	}
	assert.Equal(t, 100, present, "those that are there are all told")
	assert.Equal(t, gpu.Some[int64](100), node.Presence[gpu.Visible])
}
