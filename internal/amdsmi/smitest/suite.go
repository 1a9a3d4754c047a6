// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smitest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Suite tests what the source of either tool does when its tool fails. There are two GPUs, 000000000000000c and 000000000000000d.
type Suite struct {
	New    func(command.Runner) gpu.Source // reads every 30 s, by the clock
	Tool   func() *Tool                    // lists the two
	Option string                          // an option of the tool …
	Refuse func() (command.Result, error)  // … and how a version that does not know it refuses it
	First  []string                        // the queries that are made once, and after a reset
}

// Run runs the tests.
func (s *Suite) Run(t *testing.T) {
	t.Helper()
	for name, test := range map[string]func(*testing.T){
		"tool does not run": s.toolThatDoesNotRun, "place is not reached": s.placeThatIsNotReached,
		"not permitted any more": s.notPermittedAnyMore, "nothing identifies the GPUs": s.nothingIdentifiesTheGPUs, "hangs after a refusal": s.hangsAfterRefusal, "reset": s.reset,
	} {
		t.Run(name, test)
	}
}

// The GPUs stay in the metrics when the tool does not run or does not end, which says nothing about them.
func (suite *Suite) toolThatDoesNotRun(t *testing.T) {
	t.Helper()
	t.Parallel()
	for _, tt := range []struct {
		name   string
		err    error
		reason gpu.FailureReason
	}{
		{"hangs", fmt.Errorf("amd-smi: %w: killed", command.ErrTimeout), gpu.FailureTimeout},
		{"is still running", fmt.Errorf("amd-smi: %w: since noon", command.ErrBusy), gpu.FailureTimeout},
		{"is not there", fmt.Errorf("%w: no amd-smi", command.ErrNotFound), gpu.FailureToolMissing},
		{"cannot be started", fmt.Errorf("%w: too many open files", command.ErrShortage), gpu.FailureOther},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tool := suite.Tool()
			s := suite.New(tool)
			answer := tool.Answer
			require.Empty(t, Read(t, s).Devices[0].Faults)
			tool.Answer = func(string) (command.Result, error) { return command.Result{}, tt.err }
			for range 3 {
				node := Read(t, s)
				RequireUnread(t, node, tt.reason, tt.err.Error())
				assert.Len(t, node.Problems, 1)
			}
			tool.Answer = answer
			node := Read(t, s)
			assert.Nil(t, node.Failure)
			require.Len(t, node.Devices, 2)
			for i := range node.Devices {
				assert.Empty(t, node.Devices[i].Faults)
				assert.True(t, node.Devices[i].Utilization[gpu.TaskGeneral].Known())
			}
			RequireValue(t, int64(2), node.Presence[gpu.Visible], "visible")
			RequireValue(t, int64(0), node.Presence[gpu.Missing], "missing")
		})
	}
}

// An error that says nothing about the GPUs does not make them failed.
func (suite *Suite) placeThatIsNotReached(t *testing.T) {
	t.Helper()
	t.Parallel()
	for _, reason := range []error{errors.New("the API server is away"), context.Canceled} {
		t.Run(reason.Error(), func(t *testing.T) {
			t.Parallel()
			tool := suite.Tool()
			s := suite.New(tool)
			Read(t, s)
			answer := tool.Answer
			tool.Answer = func(string) (command.Result, error) { return command.Result{}, reason }
			_, err := s.Read(t.Context())
			require.ErrorIs(t, err, reason)
			tool.Answer = func(args string) (command.Result, error) { // in the middle
				if strings.HasPrefix(args, "list") {
					return answer(args)
				}
				return command.Result{}, reason
			}
			_, err = s.Read(t.Context())
			require.ErrorIs(t, err, reason)
		})
	}
}

func (suite *Suite) notPermittedAnyMore(t *testing.T) {
	t.Helper()
	t.Parallel()
	tool := suite.Tool()
	s := suite.New(tool)
	Read(t, s)
	tool.Answer = func(string) (command.Result, error) { return Fails(8, "", "STATUS_NO_PERM: Permission denied\n") }
	for range 4 {
		node := Read(t, s)
		RequireUnread(t, node, gpu.FailurePermission, "groups render and video")
	}
}

// A tool that prints GPUs without anything that distinguishes them has not read the known ones.
func (suite *Suite) nothingIdentifiesTheGPUs(t *testing.T) {
	t.Helper()
	t.Parallel()
	tool := suite.Tool()
	s := suite.New(tool)
	Read(t, s)
	tool.Answer = func(args string) (command.Result, error) {
		switch {
		case strings.HasPrefix(args, "list"):
			return Prints(`[{"gpu": 0, "bdf": "N/A", "uuid": "N/A"}, {"gpu": 1}]`)
		case strings.HasPrefix(args, "--json"):
			return Prints(`{"card0": {"GPU use (%)": "5"}, "card1": {}}`)
		}
		return Prints("[]")
	}
	RequireUnread(t, Read(t, s), gpu.FailureOutput, "neither a unique id nor a PCI address of any GPU")
}

// A call with a refused option is repeated without it. If the second call hangs, or another one with it, the problem is the hang and not
// the refusal.
func (suite *Suite) hangsAfterRefusal(t *testing.T) {
	t.Helper()
	t.Parallel()
	for name, hang := range map[string]func(args string) bool{
		"in the same call": func(string) bool { return true },
		"in the next": func(args string) bool {
			return strings.HasPrefix(args, "list --json") || strings.HasPrefix(args, "--json")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool := suite.Tool()
			s := suite.New(tool)
			Read(t, s)
			answer := tool.Answer
			refused := false
			tool.Answer = func(args string) (command.Result, error) {
				switch {
				case refused && hang(args):
					return command.Result{}, command.ErrTimeout
				case strings.Contains(args, "--showtoponuma"):
					refused = true
					return Fails(2, "", "error: unrecognized arguments: --showtoponuma\n")
				case strings.HasPrefix(args, "list -e"):
					refused = true
					return Prints(`{"error": "Parameter '-e' is invalid.", "code": -2}`)
				}
				return answer(args)
			}
			RequireUnread(t, Read(t, s), gpu.FailureTimeout, "did not end in time")
		})
	}
}

// Another container may have another version of the tool: what the tool refuses, its version and the numbers of its GPUs are found out
// again, and a tool that found no driver is run again immediately.
func (suite *Suite) reset(t *testing.T) {
	t.Helper()
	t.Parallel()
	type resetter interface {
		gpu.Source
		Reset()
	}
	tool := suite.Tool()
	s := suite.New(tool)
	var commandLines []string
	answer, refuse := tool.Answer, true
	tool.Answer = func(args string) (command.Result, error) {
		commandLines = append(commandLines, args)
		switch {
		case !refuse || !strings.Contains(args, suite.Option):
			return answer(args)
		default:
			return suite.Refuse()
		}
	}
	calls := func() string {
		commandLines = nil
		require.Len(t, Read(t, s).Devices, 2)
		return strings.Join(commandLines, "\n")
	}
	_ = calls()
	require.NotContains(t, calls(), suite.Option)
	refuse = false
	s.(resetter).Reset()
	again := calls()
	assert.Contains(t, again, suite.Option, "it may know the option")
	for _, call := range suite.First {
		assert.Contains(t, again, call)
	}

	tool.Answer = func(string) (command.Result, error) {
		return Fails(255, "", "ERROR:root:Driver not initialized (amdgpu not found in modules)\n")
	}
	for range 4 {
		_, _ = s.Read(t.Context())
	}
	tool.Answer = answer
	s.(resetter).Reset()
	assert.Empty(t, Read(t, s).Devices[0].Faults)
}

// RequireUnread checks that both GPUs are in a node that could not be read, by their identity only.
func RequireUnread(t *testing.T, node *gpu.Node, reason gpu.FailureReason, message string) {
	t.Helper()
	require.Equal(t, []string{"000000000000000c", "000000000000000d"}, IDs(node))
	require.NotNil(t, node.Failure)
	assert.Equal(t, reason, node.Failure.Reason)
	require.ErrorContains(t, node.Failure, message)
	assert.Equal(t, [gpu.NumPresences]gpu.Opt[int64]{}, node.Presence)
	for i := range node.Devices {
		d := &node.Devices[i]
		assert.True(t, d.Unread)
		assert.Empty(t, d.Faults, "its failure is not reported")
		assert.True(t, d.ProcessesUnread, "its processes are unknown")
		assert.Equal(t, "MI210", d.Model)
		assert.False(t, d.Utilization[gpu.TaskGeneral].Known())
	}
	assert.Contains(t, Problems(node), message)
}
