// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// If -q -x breaks off and the table works, the table is read, and one problem says so. -q -x is tried again with a back-off.
func TestBrokenXML(t *testing.T) {
	xml := minorsXML("1", "0")
	for name, broken := range map[string]answer{
		"killed":                    {exit: -1},
		"crash in the first GPU":    {stdout: xml.stdout[:120], exit: -1},
		"crash after the first GPU": {stdout: firstOnly(xml.stdout), exit: -1},
		"cut off":                   {stdout: firstOnly(xml.stdout)},
		"garbage":                   {stdout: "<html>502</html>"},
		"empty":                     {},
		"another exit code":         {stderr: "something else\n", exit: 255},
		"unknown option":            {stdout: "Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n", exit: 2},
	} {
		for _, known := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, known %t", name, known), func(t *testing.T) {
				f := tableTool(t, allNames())
				f.list = answer{stdout: "GPU 0: A (UUID: GPU-a)\nGPU 1: A (UUID: GPU-b)\n"}
				c := newClock()
				r := newReader(t, QueryFull, f, c)
				if known {
					read(t, r)
				}
				f.xml = broken
				f.batches = nil
				for range 3 {
					node := read(t, r)
					assert.Nil(t, node.Failure)
					assert.Equal(t, []string{"GPU-a", "GPU-b"}, ids(node))
					assert.Equal(t, counts(2, 0), presence(node))
					d := deviceOf(t, node, "GPU-a")
					assert.Equal(t, gpu.Some(50.0), d.Temperature[gpu.SensorGPU])
					assert.Equal(t, gpu.StateOK, d.State())
					assert.False(t, d.Unread)
					assert.Len(t, node.Processes, 3)
					assert.Equal(t, 1, count(node, "full query"), problems(node))
					if known {
						assert.Len(t, node.Problems, 1, problems(node))
						assert.Equal(t, "nvidia1", d.Name)
					}
				}
				assert.Equal(t, 1, f.calls("xml"), "it is not tried again during the back-off: %v", f.batches)
				c.pass(retryPolicy.First)
				read(t, r)
				assert.Equal(t, 2, f.calls("xml"))
				c.pass(retryPolicy.First)
				read(t, r)
				assert.Equal(t, 2, f.calls("xml"), "the back-off grows")

				f.xml = xml
				c.pass(retryPolicy.Max)
				node := read(t, r)
				assert.Empty(t, problems(node))
				assert.Equal(t, []string{"GPU-a", "GPU-b"}, ids(node))
			})
		}
	}
}

// firstOnly cuts XML after its first GPU.
func firstOnly(xml string) string { return xml[:strings.Index(xml, "</gpu>")+len("</gpu>")] }

// count counts the problems of a kind of quantity.
func count(node *gpu.Node, subject string) (n int) {
	for _, p := range node.Problems {
		if p.What == subject {
			n++
		}
	}
	return n
}

// If neither query lists a GPU, the reason comes from -q -x, and each read tries both.
func TestXMLAndTableBreak(t *testing.T) {
	f := tableTool(t, allNames())
	c := newClock()
	r := newReader(t, QueryFull, f, c)
	before := ids(read(t, r))
	table := f.table
	f.xml, f.table = answer{exit: -1}, func([]string) answer { return answer{stderr: "broken, too", exit: 1} }
	for range 2 {
		f.batches = nil
		node := read(t, r)
		assert.Equal(t, gpu.FailureToolFailed, failureOf(node))
		require.ErrorContains(t, node.Failure, "-q -x: exit code -1")
		assert.Equal(t, before, ids(node))
		assert.True(t, node.Devices[0].Unread)
		assert.Equal(t, 1, f.calls("xml"))
		c.pass(time.Second)
	}
	f.table = table
	assert.Nil(t, read(t, r).Failure, "the table works again")
}

// MIG devices are in XML only. While it breaks off, those that were seen stay without readings.
func TestBrokenXMLWithMIG(t *testing.T) {
	f := migTool(t)
	for _, query := range []string{QueryFull, QueryFast} {
		t.Run(query, func(t *testing.T) {
			r := newReader(t, query, f, newClock())
			whole := f.xml
			f.help = answer{stdout: "\"uuid\"\n\n\"mig.mode.current\"\n\n\"memory.used\"\n"}
			f.table = func([]string) answer {
				return answer{stdout: "uuid, memory.used [MiB], mig.mode.current\n" + a100MIG + ", 100 MiB, Enabled\n" + a100Plain + ", 200 MiB, Disabled\n"}
			}
			f.apps = answer{stdout: "pid, gpu_uuid, used_gpu_memory [MiB], process_name\n7, " + a100MIG + ", 5 MiB, a\n8, " + a100Plain + ", 5 MiB, b\n"}
			before := read(t, r)
			require.Contains(t, ids(before), migBig)
			f.xml = answer{exit: -1}
			node := read(t, r)
			f.xml = whole
			assert.Nil(t, node.Failure)
			assert.Equal(t, ids(before), ids(node))
			assert.True(t, deviceOf(t, node, migBig).Unread)
			d := deviceOf(t, node, a100MIG)
			assert.Equal(t, gpu.Some(int64(100<<20)), d.Memory.Usage)
			assert.False(t, d.Unread)
			assert.True(t, d.ProcessesUnread, "its processes belong to MIG devices")
			require.Len(t, node.Processes, 1)
			assert.Equal(t, a100Plain, node.Processes[0].DeviceID)
		})
	}
}

// A machine on which no process can be started says nothing about its GPUs.
func TestNoProcessCanBeStarted(t *testing.T) {
	f := h100Tool(t)
	r := newReader(t, QueryFull, f, newClock())
	read(t, r)
	f.xml = answer{err: fmt.Errorf("%w: too many open files", command.ErrShortage)}
	node := read(t, r)
	assert.Equal(t, gpu.FailureOther, failureOf(node))
	assert.Equal(t, []string{h100First, h100Second}, ids(node))
	assert.True(t, node.Devices[0].Unread)

	f.xml = answer{err: errors.New("dial tcp: connection refused")}
	_, err := r.Read(t.Context())
	require.Error(t, err, "the machine was not reached")
}
