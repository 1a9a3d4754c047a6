// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// fourGPUs is a machine whose GPU with index 1 is lost after the first read. -q -x then breaks off with a message.
type fourGPUs struct {
	*tool
	message string // in the place of the lost GPU and of those after it
	single  map[int]answer
}

func fourXML(gpus ...int) string {
	var b strings.Builder
	b.WriteString("<nvidia_smi_log>\n<driver_version>550.1</driver_version>\n<attached_gpus>4</attached_gpus>\n")
	for _, i := range gpus {
		fmt.Fprintf(&b, "<gpu id=\"00000000:%02X:00.0\">\n<uuid>GPU-%c</uuid>\n<minor_number>%d</minor_number>\n"+
			"<temperature><gpu_temp>%d C</gpu_temp></temperature>\n</gpu>\n", 0x0a+i, 'a'+i, i, 40+i)
	}
	return b.String()
}

func newFourGPUs(message string) *fourGPUs {
	f := &fourGPUs{tool: &tool{}, message: message, single: map[int]answer{}}
	f.xml = answer{stdout: fourXML(0, 1, 2, 3) + "</nvidia_smi_log>\n"}
	f.list = answer{stdout: "GPU 0: A (UUID: GPU-a)\nGPU 1: A (UUID: GPU-b)\nGPU 2: A (UUID: GPU-c)\nGPU 3: A (UUID: GPU-d)\n"}
	f.selected = func(kind, indices string, _ answer) answer {
		require.Equal(f.t, "xml", kind)
		i, err := strconv.Atoi(indices)
		require.NoError(f.t, err)
		if a, ok := f.single[i]; ok {
			return a
		}
		if i == 1 {
			return answer{stdout: "Unable to determine the device handle for GPU 0000:0B:00.0: GPU is lost.  Reboot the system to recover this GPU\n", exit: 15}
		}
		return answer{stdout: fourXML(i) + "</nvidia_smi_log>\n"}
	}
	return f
}

func (f *fourGPUs) lose() { f.xml = answer{stdout: fourXML(0) + f.message, exit: 15} }

// XML that breaks off at the message about a lost GPU costs the GPUs after it nothing: they are queried one by one.
func TestXMLBreaksOffAtALostGPU(t *testing.T) {
	const end = "</nvidia_smi_log>\n"
	for name, message := range map[string]string{
		"with index and address":        "Unable to determine the device handle for GPU1: 0000:0B:00.0: GPU is lost.  Reboot the system to recover this GPU\n",
		"with address":                  "Unable to determine the device handle for GPU 0000:0B:00.0: GPU is lost.  Reboot the system to recover this GPU\n",
		"with index":                    "Unable to determine the device handle for GPU1: GPU is lost.  Reboot the system to recover this GPU\n",
		"with nothing":                  "Unable to determine the PCI bus id for the target device: GPU is lost\n",
		"in an element":                 "<error_string>Unable to determine the PCI bus id for the target device: GPU is lost</error_string>\n",
		"in an element, the log closed": "<error_string>Unable to determine the PCI bus id for the target device: GPU is lost</error_string>\n" + end,
	} {
		for _, known := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, known %t", name, known), func(t *testing.T) {
				f := newFourGPUs(message)
				r := newReader(t, QueryFull, f.tool, newClock())
				if known {
					read(t, r)
				}
				f.lose()
				for range 3 {
					node := read(t, r)
					assert.Nil(t, node.Failure)
					assert.Empty(t, problems(node))
					assert.Equal(t, counts(3, 1), presence(node))
					require.Len(t, node.Devices, 4)
					for i, id := range []string{"GPU-a", "", "GPU-c", "GPU-d"} {
						if id == "" {
							continue
						}
						d := deviceOf(t, node, id)
						assert.Equal(t, gpu.Some(40+float64(i)), d.Temperature[gpu.SensorGPU])
						assert.Equal(t, gpu.Some(i), d.Index)
						assert.Equal(t, "nvidia"+strconv.Itoa(i), d.Name)
						assert.Equal(t, gpu.StateOK, d.State())
					}
					for i := range node.Devices {
						if d := &node.Devices[i]; d.State() != gpu.StateOK {
							assert.Equal(t, []gpu.FaultType{gpu.FaultLost}, faults(d))
							assert.Equal(t, known, d.ID == "GPU-b")
						}
					}
				}
				f.xml = answer{stdout: fourXML(0, 1, 2, 3) + end}
				node := read(t, r)
				assert.Equal(t, counts(4, 0), presence(node))
				assert.Len(t, node.Devices, 4)
			})
		}
	}
}

// A GPU that cannot be read alone either is not lost: nothing was said about it.
func TestSingleGPUCannotBeRead(t *testing.T) {
	f := newFourGPUs("Unable to determine the device handle for GPU1: 0000:0B:00.0: GPU is lost.\n")
	r := newReader(t, QueryFull, f.tool, newClock())
	read(t, r)
	f.lose()
	f.single[2] = answer{exit: -1}
	node := read(t, r)
	assert.Nil(t, node.Failure)
	assert.ElementsMatch(t, []string{"GPU-a", "GPU-b", "GPU-c", "GPU-d"}, ids(node))
	assert.Equal(t, []gpu.FaultType{gpu.FaultLost}, faults(deviceOf(t, node, "GPU-b")))
	assert.True(t, deviceOf(t, node, "GPU-c").Unread)
	assert.Equal(t, gpu.Some(43.0), deviceOf(t, node, "GPU-d").Temperature[gpu.SensorGPU])
	assert.Contains(t, problems(node), "1 of the 2 GPUs after it could not be read one by one (-i): -i 2: exit code -1")
	assert.Equal(t, [gpu.NumPresences]gpu.Opt[int64]{}, presence(node))

	f.single[2] = answer{err: fmt.Errorf("%w: killed", command.ErrTimeout)}
	node = read(t, r)
	assert.Nil(t, node.Failure)
	assert.True(t, deviceOf(t, node, "GPU-c").Unread)
	assert.True(t, deviceOf(t, node, "GPU-d").Unread)
	assert.Contains(t, problems(node), "2 of the 2 GPUs")
}

// The number of GPUs that are queried one by one is bounded, and so is their time.
func TestSingleGPUsAreBounded(t *testing.T) {
	f := newFourGPUs("Unable to determine the device handle for GPU1: 0000:0B:00.0: GPU is lost.\n")
	f.lose()
	f.xml.stdout = strings.Replace(f.xml.stdout, "<attached_gpus>4", "<attached_gpus>4000000", 1)
	node := read(t, newReader(t, QueryFull, f.tool, newClock()))
	assert.Equal(t, maxSingleGPUs, f.calls("xml -i"))
	assert.Contains(t, problems(node), "there are too many of them")

	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	part, stop := half(ctx)
	defer stop()
	deadline, _ := part.Deadline()
	assert.Less(t, time.Until(deadline), 31*time.Minute)
}
