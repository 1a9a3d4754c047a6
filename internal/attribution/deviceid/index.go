// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package deviceid

import (
	"slices"
	"strconv"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Index finds the devices of a node by the keys of all names that an allocation may use. Devices are numbered by their place in
// gpu.Node.Devices.
type Index struct {
	devices []gpu.Device
	byID    map[string]int
	byKey   map[string][]int
	leaves  [][]int // of each device: itself, or its partitions
	named   []bool  // of each device: all names are known by which an allocation may mean it
}

// NewIndex returns an index of a node's devices, which must not change while it is in use.
func NewIndex(devices []gpu.Device) *Index {
	x := &Index{
		devices: devices,
		byID:    make(map[string]int),
		byKey:   make(map[string][]int),
		leaves:  make([][]int, len(devices)),
		named:   make([]bool, len(devices)),
	}
	for i := range devices {
		x.byID[devices[i].ID] = i
	}
	for i := range devices {
		if parent, ok := x.parent(i); ok {
			x.leaves[parent] = append(x.leaves[parent], i)
		}
	}
	for i := range devices {
		if len(x.leaves[i]) == 0 {
			x.leaves[i] = []int{i}
		}
	}
	for i := range devices {
		x.addNames(i)
	}
	return x
}

func (x *Index) parent(i int) (int, bool) {
	parent, ok := x.byID[x.devices[i].Parent]
	return parent, ok && x.devices[i].Parent != ""
}

// addNames adds the keys of a device's names.
func (x *Index) addNames(i int) {
	d := &x.devices[i]
	x.add(idKey(d.ID), i)
	if d.Name != "" {
		x.add(d.Name, i)
	}
	for _, alias := range d.Aliases {
		x.add(alias, i)
	}
	x.named[i] = true
	switch {
	case d.Parent != "" && d.Vendor == gpu.NVIDIA:
		x.named[i] = x.addInstance(i)
	case d.Parent != "":
	case d.Vendor == gpu.NVIDIA:
		x.named[i] = x.addNVIDIA(i)
		x.addAddress(d.Info.PCIAddress, i)
	case d.Vendor == gpu.AMD:
		x.addAddress(d.Info.PCIAddress, x.firstPartition(i))
	default:
		x.addAddress(d.Info.PCIAddress, i)
	}
}

// addNVIDIA adds the keys of a whole NVIDIA GPU and reports whether all its names are known. A GPU that was never read has neither
// a name nor a UUID.
func (x *Index) addNVIDIA(i int) bool {
	d := &x.devices[i]
	if isUUID(d.ID) { // a Jetson's UUID has no GPU- before it
		x.add(tegraKey, i)
	}
	if n, ok := d.Index.Get(); ok {
		x.add(indexKey(strconv.Itoa(n)), i)
	}
	return isNamed(d)
}

// addInstance adds the keys of a MIG instance and reports whether all its names are known.
func (x *Index) addInstance(i int) bool {
	d := &x.devices[i]
	parent, ok := x.parent(i)
	gi, ci, known := instanceNumbers(d)
	if !ok || !known {
		return false
	}
	if node := nodeName(&x.devices[parent]); node != "" {
		key := node + "/gi" + strconv.Itoa(gi)
		x.add(key, i)
		x.add(key+"/ci"+strconv.Itoa(ci), i)
	}
	x.add(instanceKey(d.Parent, gi, ci), i)
	return strings.HasPrefix(d.ID, "MIG-") && isNamed(&x.devices[parent])
}

// firstPartition returns the first partition of an AMD GPU, whose PCI function the GPU's address is. The other partitions are platform
// devices. A GPU without partitions represents itself.
func (x *Index) firstPartition(i int) int {
	for _, leaf := range x.leaves[i] {
		if x.devices[leaf].Partition == gpu.Some(0) {
			return leaf
		}
	}
	return x.leaves[i][0]
}

func (x *Index) addAddress(address string, i int) {
	if address != "" {
		x.add(pciKey(address), i)
	}
}

// add adds a key of a device, once.
func (x *Index) add(key string, i int) {
	if !slices.Contains(x.byKey[key], i) {
		x.byKey[key] = append(x.byKey[key], i)
	}
}

// Find returns the leaf devices of every device that has a key.
func (x *Index) Find(key string) []int {
	var leaves []int
	for _, i := range x.byKey[key] {
		leaves = append(leaves, x.leaves[i]...)
	}
	return leaves
}

// ByID returns the device with an hw.id.
func (x *Index) ByID(id string) (int, bool) {
	i, ok := x.byID[id]
	return i, ok
}

// Leaves returns a device's partitions, or the device itself if it is not partitioned.
func (x *Index) Leaves(i int) []int { return x.leaves[i] }

// IsLeaf reports whether a device has no partitions.
func (x *Index) IsLeaf(i int) bool { return x.leaves[i][0] == i }

// IsNamed reports whether all names are known that an allocation may use for a device. Otherwise an ID that is not in the index may belong
// to the device.
func (x *Index) IsNamed(i int) bool { return x.named[i] }

// SharesMemory reports whether a device is one of several MIG compute instances of a GPU instance, which have one memory.
func (x *Index) SharesMemory(i int) bool {
	d := &x.devices[i]
	return d.Parent != "" && d.GPUInstance.Known() && slices.ContainsFunc(x.devices, func(o gpu.Device) bool {
		return o.Parent == d.Parent && o.GPUInstance == d.GPUInstance && o.ID != d.ID
	})
}

// isNamed reports whether an NVIDIA GPU is known by its device node and its UUID.
func isNamed(d *gpu.Device) bool { return nodeName(d) != "" && strings.HasPrefix(d.ID, "GPU-") }

// nodeName returns the name of an NVIDIA GPU's device node; empty if it is unknown. The index does not replace it: the node of that number
// may be another GPU's.
func nodeName(d *gpu.Device) string {
	if hasNumber(d.Name, nvidiaNode) {
		return d.Name
	}
	return ""
}

// instanceNumbers returns the numbers of a MIG instance, from an ID of the form <parent>/<gi>/<ci> if the source does not set them.
func instanceNumbers(d *gpu.Device) (gi, ci int, ok bool) {
	gi, ok1 := d.GPUInstance.Get()
	ci, ok2 := d.ComputeInstance.Get()
	if ok1 && ok2 {
		return gi, ci, true
	}
	rest, found := strings.CutPrefix(d.ID, d.Parent+"/")
	first, second, cut := strings.Cut(rest, "/")
	gi, ok1 = number(first, "")
	ci, ok2 = number(second, "")
	return gi, ci, found && cut && ok1 && ok2
}
