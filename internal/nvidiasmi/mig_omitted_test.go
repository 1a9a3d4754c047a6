// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// nvidia-smi -q -x omits a MIG device if one of its values cannot be read. The order of -L then does not identify the others.
func TestOmittedMIGDevice(t *testing.T) {
	f := migTool(t)
	f.xml.stdout = strings.Replace(f.xml.stdout, "<index>1</index>", "<index>2</index>", 1)
	f.list.stdout = strings.Replace(f.list.stdout, "  MIG 1g", "  MIG 2g.20gb Device 1: (UUID: MIG-other)\n  MIG 1g", 1)
	f.list.stdout = strings.Replace(f.list.stdout, "Device  1:", "Device  2:", 1)
	all := f.xml.stdout
	for name, index := range map[string]string{"first": "0", "last": "2"} {
		t.Run(name, func(t *testing.T) {
			f.xml.stdout = strings.Replace(all, "<index>2</index>", "<index>"+index+"</index>", 1)
			node := read(t, newReader(t, QueryFull, f, newClock()))
			assert.Equal(t, []string{a100MIG, a100MIG + "/1/0", a100MIG + "/5/0", a100Plain}, ids(node), "the omitted one is unknown")
			assert.Contains(t, problems(node), "1 of the 3 MIG devices of "+a100MIG)
		})
	}
}

func TestMIGDeviceIDStable(t *testing.T) {
	f := migTool(t)
	r := newReader(t, QueryFull, f, newClock())
	read(t, r)
	first := strings.Index(f.xml.stdout, "<mig_device>")
	second := first + strings.Index(f.xml.stdout[first:], "</mig_device>") + len("</mig_device>")
	f.xml.stdout = f.xml.stdout[:first] + f.xml.stdout[second:]
	node := read(t, r)
	assert.Equal(t, []string{a100MIG, migSmall, a100Plain}, ids(node))
	assert.Equal(t, "1g.20gb", deviceOf(t, node, migSmall).Info.Profile)
	assert.Contains(t, problems(node), "1 of the 2 MIG devices of "+a100MIG)
}

// The numbers of two compute instances of one GPU instance distinguish them.
func TestComputeInstanceIDStable(t *testing.T) {
	f := migTool(t)
	f.xml.stdout = strings.Replace(f.xml.stdout, "<gpu_instance_id>5</gpu_instance_id>\n\t\t\t\t<compute_instance_id>0<",
		"<gpu_instance_id>1</gpu_instance_id>\n\t\t\t\t<compute_instance_id>1<", 1)
	r := newReader(t, QueryFull, f, newClock())
	read(t, r)
	first := strings.Index(f.xml.stdout, "<mig_device>")
	second := first + strings.Index(f.xml.stdout[first:], "</mig_device>") + len("</mig_device>")
	f.xml.stdout = f.xml.stdout[:first] + f.xml.stdout[second:]
	assert.Equal(t, []string{a100MIG, migSmall, a100Plain}, ids(read(t, r)))
}
