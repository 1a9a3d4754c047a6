// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"slices"
	"strconv"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// deviceIndex finds the devices of a node by all the names that an allocation may use. It is built anew when the devices
// change, as they do when a GPU is lost or partitioned.
type deviceIndex struct {
	built  []deviceNames
	byKey  map[string][]int
	leaves [][]int // of each device: itself, or its partitions
	// unnamed tells of each device that not all names are known by which an allocation may call it, so that an id which is not
	// found may be its.
	unnamed []bool
	// together tells of each device that it is one of several compute instances of a GPU instance, which have one memory.
	together []bool
}

// deviceNames is what the index was built from.
type deviceNames struct {
	id, name, parent, pci string
	index, gi, ci         gpu.Opt[int]
	partition             gpu.Opt[int]
	aliases               []string
}

func namesOf(d *gpu.Device) deviceNames {
	return deviceNames{
		id: d.ID, name: d.Name, parent: d.Parent, pci: d.Info.PCIAddress,
		index: d.Index, gi: d.GPUInstance, ci: d.ComputeInstance, partition: d.Partition, aliases: d.Aliases,
	}
}

func (n *deviceNames) equal(o *deviceNames) bool {
	return n.id == o.id && n.name == o.name && n.parent == o.parent && n.pci == o.pci &&
		n.index == o.index && n.gi == o.gi && n.ci == o.ci && n.partition == o.partition && slices.Equal(n.aliases, o.aliases)
}

// update makes the index one of these devices.
func (x *deviceIndex) update(devices []gpu.Device) {
	same := len(devices) == len(x.built) && x.byKey != nil
	for i := 0; same && i < len(devices); i++ {
		names := namesOf(&devices[i])
		same = names.equal(&x.built[i])
	}
	if same {
		return
	}
	x.built = make([]deviceNames, len(devices))
	x.byKey = make(map[string][]int, 6*len(devices))
	x.leaves = make([][]int, len(devices))
	x.unnamed = make([]bool, len(devices))
	x.together = make([]bool, len(devices))
	byID := make(map[string]int, len(devices))
	for i := range devices {
		x.built[i] = namesOf(&devices[i])
		x.built[i].aliases = slices.Clone(devices[i].Aliases)
		byID[devices[i].ID] = i
	}
	for i := range devices {
		x.leaves[i] = []int{i}
	}
	for i := range devices {
		if parent, ok := byID[devices[i].Parent]; ok && devices[i].Parent != "" {
			if x.leaves[parent][0] == parent {
				x.leaves[parent] = nil
			}
			x.leaves[parent] = append(x.leaves[parent], i)
		}
	}
	for i := range devices {
		x.add(devices, i, byID)
		x.together[i] = slices.ContainsFunc(x.built, x.built[i].sibling)
	}
}

// sibling tells whether another device is of the same GPU instance.
func (n *deviceNames) sibling(o deviceNames) bool {
	return n.parent != "" && n.parent == o.parent && n.gi.Known() && n.gi == o.gi && n.id != o.id
}

func (x *deviceIndex) add(devices []gpu.Device, i int, byID map[string]int) {
	d := &devices[i]
	x.key(strings.ToLower(d.ID), i)
	if d.Name != "" {
		x.key(d.Name, i)
	}
	for _, alias := range d.Aliases {
		x.key(alias, i)
	}
	if d.Parent == "" {
		x.addWhole(devices, i)
		return
	}
	parent, ok := byID[d.Parent]
	if d.Vendor != gpu.NVIDIA {
		return
	}
	gi, ci, known := instanceNumbers(d)
	if !ok || !known {
		x.unnamed[i] = true
		return
	}
	x.unnamed[i] = !strings.HasPrefix(d.ID, "MIG-") || !named(&devices[parent])
	if name := nodeName(&devices[parent]); name != "" {
		key := name + "/gi" + strconv.Itoa(gi)
		x.key(key, i)
		x.key(key+"/ci"+strconv.Itoa(ci), i)
	}
	x.key(strings.ToLower(d.Parent)+"/"+strconv.Itoa(gi)+"/"+strconv.Itoa(ci), i)
}

// addWhole adds the keys of a GPU that is not a partition.
func (x *deviceIndex) addWhole(devices []gpu.Device, i int) {
	d := &devices[i]
	if d.Vendor == gpu.NVIDIA {
		if name := nodeName(d); name != "" {
			x.key(name, i)
		}
		if isUUID(d.ID) { // without GPU- before it: a Jetson's
			x.key(tegra, i)
		}
		x.unnamed[i] = !named(d)
		if n, ok := d.Index.Get(); ok {
			x.key(indexKey(strconv.Itoa(n)), i)
		}
	}
	if d.Info.PCIAddress == "" {
		return
	}
	// On AMD the PCI function of a partitioned GPU is its first partition; the others are platform devices.
	if first := x.leaves[i][0]; d.Vendor == gpu.AMD && first != i {
		for _, leaf := range x.leaves[i] {
			if devices[leaf].Partition == gpu.Some(0) {
				first = leaf
			}
		}
		x.key(pciKey(d.Info.PCIAddress), first)
		return
	}
	x.key(pciKey(d.Info.PCIAddress), i)
}

// key adds a name of a device. The same device is added once.
func (x *deviceIndex) key(key string, i int) {
	if !slices.Contains(x.byKey[key], i) {
		x.byKey[key] = append(x.byKey[key], i)
	}
}

// nodeName returns the name of an NVIDIA GPU's device node, or nothing where it is not known. The index does not tell it: the
// node of that number may be another GPU's.
func nodeName(d *gpu.Device) string {
	if hasNumber(d.Name, "nvidia") {
		return d.Name
	}
	return ""
}

// named tells whether an NVIDIA GPU is known by all its names. Of one that was never read it is neither.
func named(d *gpu.Device) bool { return nodeName(d) != "" && strings.HasPrefix(d.ID, "GPU-") }

// instanceNumbers returns the numbers of a MIG instance, also from an id of the form <parent>/<gi>/<ci>.
func instanceNumbers(d *gpu.Device) (gi, ci int, ok bool) {
	gi, ok1 := d.GPUInstance.Get()
	ci, ok2 := d.ComputeInstance.Get()
	if ok1 && ok2 {
		return gi, ci, true
	}
	rest, found := strings.CutPrefix(d.ID, d.Parent+"/")
	first, second, cut := strings.Cut(rest, "/")
	if !found || !cut || !isNumber(first) || !isNumber(second) {
		return 0, 0, false
	}
	gi, _ = strconv.Atoi(first)
	ci, _ = strconv.Atoi(second)
	return gi, ci, true
}

// find returns the leaf devices that a key stands for.
func (x *deviceIndex) find(key string) []int {
	found := x.byKey[key]
	if len(found) == 1 {
		return x.leaves[found[0]]
	}
	var leaves []int
	for _, i := range found {
		leaves = append(leaves, x.leaves[i]...)
	}
	return leaves
}

// isLeaf tells whether a device has no partitions.
func (x *deviceIndex) isLeaf(i int) bool { return x.leaves[i][0] == i }
