// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package deviceid

import (
	"bytes"
	"io"
	"os"
	"path"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// DefaultMIGMinors is the file in which the NVIDIA driver lists the minor numbers of the device nodes that guard MIG instances.
const DefaultMIGMinors = "/proc/driver/nvidia-caps/mig-minors"

// maxMinors bounds the size of that list in bytes.
const maxMinors = 4 << 20

// DeviceNodes finds GPUs by their device nodes. It is not safe for concurrent use.
type DeviceNodes struct {
	minors string
	table  map[int]instance // MIG instances by the minor number of their guard
}

// instance is a MIG instance that a device node guards.
type instance struct {
	key     string // nvidia0/gi1 or nvidia0/gi1/ci0
	compute bool   // a compute instance, not the whole GPU instance
}

// NewDeviceNodes returns a DeviceNodes that reads the driver's list of MIG instances from a file, when it first needs it.
func NewDeviceNodes(minors string) *DeviceNodes { return &DeviceNodes{minors: minors} }

// Keys returns the keys of the GPU that a container can use through these device nodes, for any root of the driver's files: nvidia0, card1
// or renderD129 for a GPU, nvidia0/gi1/ci0 for a MIG instance. The guard of a MIG compute instance comes with the node of its GPU, which
// then does not represent the GPU. An unknown guard leaves no key, because the container cannot use the whole GPU.
func (d *DeviceNodes) Keys(nodes []string) []string {
	var gpus, instances []string
	guarded := false
	for _, file := range nodes {
		dir, name := path.Split(file)
		if path.Base(dir) == "nvidia-caps" {
			minor, ok := number(name, "nvidia-cap")
			if !ok {
				continue
			}
			guarded = true
			if i, known := d.instance(minor); known && i.compute {
				instances = append(instances, i.key)
			}
			continue
		}
		for _, prefix := range []string{nvidiaNode, "card", "renderD"} {
			if hasNumber(name, prefix) {
				gpus = append(gpus, name)
			}
		}
	}
	if guarded {
		return instances
	}
	return gpus
}

// VendorOfKey returns the vendor whose GPU a key of Keys or CDIKey means; empty for a DRM device, which any vendor's may be.
func VendorOfKey(key string) gpu.Vendor {
	if strings.HasPrefix(key, nvidiaNode) || hasUUIDPrefix(strings.ToUpper(key)) {
		return gpu.NVIDIA
	}
	return ""
}

// instance looks up a guard by its minor number. The driver's list does not change while the driver is loaded.
func (d *DeviceNodes) instance(minor int) (instance, bool) {
	if i, ok := d.table[minor]; ok {
		return i, true
	}
	file, err := os.Open(d.minors)
	if err != nil {
		return instance{}, false
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, maxMinors))
	if err != nil {
		return instance{}, false
	}
	d.table = parseMinors(data)
	i, ok := d.table[minor]
	return i, ok
}

// parseMinors parses lines such as gpu0/gi1/ci0/access 12 and gpu0/gi1/access 11. The GPU's number is the number of its device node.
func parseMinors(data []byte) map[int]instance {
	table := make(map[int]instance)
	for line := range bytes.Lines(data) {
		fields := strings.Fields(string(line))
		if len(fields) != 2 {
			continue
		}
		minor, ok := number(fields[1], "")
		name, access := strings.CutSuffix(fields[0], "/access")
		parts := strings.Split(name, "/")
		if !ok || !access || len(parts) < 2 || len(parts) > 3 {
			continue
		}
		valid := true
		for i, prefix := range []string{"gpu", "gi", "ci"}[:len(parts)] {
			valid = valid && hasNumber(parts[i], prefix)
		}
		if valid {
			key := nvidiaNode + strings.TrimPrefix(name, "gpu")
			table[minor] = instance{key: key, compute: len(parts) == 3}
		}
	}
	return table
}
