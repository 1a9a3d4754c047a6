// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// A GPU has no handle for a moment, while it is being reset say, and has one again when -L is asked for the others.
func TestGPUWithoutAHandleForAMomentIsReadAgain(t *testing.T) {
	f := h100Tool(t)
	c := newClock()
	r := newReader(t, QueryFull, f, c)
	healthy := f.xml
	read(t, r)
	f.xml, f.selected = answer{stdout: noHandle, exit: 15}, spoiled(t).selected
	node := read(t, r)
	assert.NotEqual(t, gpu.StateFailed, deviceOf(t, node, h100First).State())
	assert.Equal(t, gpu.StateFailed, deviceOf(t, node, h100Second).State())

	f.batches = nil
	read(t, r)
	assert.Equal(t, [][]string{{"list", "xml -i 0", "pmon -i 0"}}, f.batches, "not all of them with every read")
	for i, asked := range []int{1, 0, 1, 0} { // less and less often
		c.pass(10 * time.Second)
		f.batches = nil
		read(t, r)
		require.NotEmpty(t, f.batches)
		assert.Equal(t, asked, strings.Count(strings.Join(f.batches[0], " ")+" ", "xml pmon "), "read %d: %v", i, f.batches)
	}
	f.xml = healthy
	c.pass(retryPolicy.Max)
	node = read(t, r)
	assert.NotEqual(t, gpu.StateFailed, deviceOf(t, node, h100Second).State())
	assert.Equal(t, counts(2, 0), presence(node))
	assert.Empty(t, problems(node))
}

// A GPU fails after it was listed and before pmon is called, which then refuses all: it is no lasting answer.
func TestPmonThatWasRefusedIsAskedAgain(t *testing.T) {
	f := h100Tool(t)
	c := newClock()
	r := newReader(t, QueryFull, f, c)
	supported := f.pmon
	f.pmon = answer{stdout: "Not supported on the device(s)\nFailed to process command line\n", exit: 255}
	assert.False(t, processOf(t, read(t, r), h100First, 990001).Utilization[gpu.TaskGeneral].Known())
	f.pmon = supported
	c.pass(retryPolicy.First)
	node := read(t, r)
	assert.Equal(t, gpu.Some(0.97), processOf(t, node, h100First, 990001).Utilization[gpu.TaskGeneral])
	assert.Empty(t, problems(node))
	read(t, r)
	assert.Equal(t, []string{"xml", "pmon"}, f.batches[2], "and from then on with every read")
}

// The GPUs come back: the read that sees -L list them has them all.
func TestSelectionIsGivenUpAtOnceWhenTheListChanges(t *testing.T) {
	healthy := h100Tool(t)
	f := spoiled(t)
	r := newReader(t, QueryFull, f, newClock())
	read(t, r)
	read(t, r)
	f.xml, f.pmon, f.list = healthy.xml, healthy.pmon, healthy.list
	node := read(t, r)
	assert.Equal(t, counts(2, 0), presence(node))
	assert.NotEqual(t, gpu.StateFailed, deviceOf(t, node, h100Second).State())
}
