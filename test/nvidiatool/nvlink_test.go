// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvidiatool

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

const linked = `gpus = 2
time = manual
[gpu *]
board = %s
links = 4
nvlink.tx.bytes = counter(5000000, 3M)
nvlink.rx.bytes = counter(7000000, 40G)
nvlink.replay = counter(3, 1)
nvlink.recovery = 2
nvlink.crc_flit = counter(5, 2)
`

// TestToolNVLink compares the traffic and the errors of each NVLink at two times. NVLink 5 has other errors, which this version of the tool
// does not know.
func TestToolNVLink(t *testing.T) {
	library, err := nvmlsim.Build()
	if errors.Is(err, nvmlsim.ErrNoCompiler) {
		t.Skip(err)
	}
	require.NoError(t, err)
	real := newTool(t, library.Dir)
	for board, quantities := range map[string]int{"a100": 5, "h100": 5, "b200": 2} {
		t.Run(board, func(t *testing.T) {
			control := nvmlsim.Use(t, fmt.Sprintf(linked, board))
			config := nvml.DefaultConfig()
			config.LibraryPath = library.Full
			source := nvml.New(&config, gpu.GroupAll, nvml.WithSysRoot(t.TempDir()), nvml.WithProcRoot(t.TempDir()))
			t.Cleanup(func() { require.NoError(t, source.Close()) })
			_, err := source.Read(t.Context())
			require.NoError(t, err)
			for _, now := range []string{"10s", "45s"} {
				require.NoError(t, control.Set("now = "+now))
				node, err := source.Read(t.Context())
				require.NoError(t, err)
				theirs := linksOfTool(t, real)
				require.Len(t, theirs, 2*4*quantities)
				ours := linksOf(node)
				for name, value := range theirs {
					assert.Equal(t, value, ours[name], name)
				}
			}
		})
	}
}

var linkLine = regexp.MustCompile(`^\s+Link (\d+): (.+): (\d+)( KiB)?$`)

// linksOfTool returns the tool's values of each link, by GPU, link and quantity.
func linksOfTool(t *testing.T, real tool) map[string]int64 {
	t.Helper()
	results, err := real.Run(t.Context(),
		command.Command{Tool: command.NvidiaSMI, Args: []string{"nvlink", "-gt", "d"}},
		command.Command{Tool: command.NvidiaSMI, Args: []string{"nvlink", "-e"}})
	require.NoError(t, err)
	values := map[string]int64{}
	for _, result := range results {
		var id string
		for line := range strings.Lines(string(result.Stdout)) {
			if _, rest, ok := strings.Cut(line, "(UUID: "); ok {
				id, _, _ = strings.Cut(rest, ")")
			}
			if m := linkLine.FindStringSubmatch(strings.TrimRight(line, " \n")); m != nil {
				value, err := strconv.ParseInt(m[3], 10, 64)
				require.NoError(t, err)
				if m[4] != "" {
					value *= 1024
				}
				values[id+" "+m[1]+" "+m[2]] = value
			}
		}
	}
	return values
}

// linksOf returns the same from a read.
func linksOf(n *gpu.Node) map[string]int64 {
	names := map[gpu.LinkErrorType]string{gpu.LinkErrorReplay: "Replay Errors", gpu.LinkErrorRecovery: "Recovery Errors", gpu.LinkErrorCRC: "CRC Errors"}
	values := map[string]int64{}
	for i := range n.Devices {
		for _, link := range n.Devices[i].Interconnect.Links {
			prefix := n.Devices[i].ID + " " + link.Name + " "
			values[prefix+"Data Tx"], _ = link.Transmitted.Get()
			values[prefix+"Data Rx"], _ = link.Received.Get()
			for kind, name := range names {
				values[prefix+name], _ = link.Errors[kind].Get()
			}
		}
	}
	return values
}
