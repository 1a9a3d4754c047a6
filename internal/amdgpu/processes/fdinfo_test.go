// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/plausible"
)

func TestParseFDInfo(t *testing.T) {
	c := parseFDInfo("pos:\t0\nflags:\t02100002\nmnt_id:\t26\nino:\t1067\n" +
		"drm-driver:\tamdgpu\ndrm-client-id:\t17\ndrm-pdev:\t0000:03:00.0\npasid:\t32770\n" +
		"drm-total-vram:\t9000 KiB\ndrm-shared-vram:\t0\ndrm-resident-vram:\t4096 KiB\ndrm-memory-vram:\t4000 KiB\n" +
		"drm-memory-gtt: \t77 KiB\namd-requested-vram:\t9000 KiB\n" +
		"drm-engine-gfx:\t1500 ns\ndrm-engine-compute:\t20 ns\ndrm-engine-dma:\t9 ns\ndrm-engine-dec:\t3 ns\n" +
		"drm-engine-enc:\t4 ns\ndrm-engine-enc_1:\t5 ns\ndrm-engine-jpeg:\t6 ns\n")
	assert.Equal(t, client{
		amdgpu: true, address: "0000:03:00.0", id: 17, idKnown: true, memory: 4096 << 10, memoryKnown: true,
		system: 77 << 10, systemKnown: true,
		engines: [numEngines]uint64{engineGFX: 1500, engineCompute: 20, engineDecode: 3, engineEncode: 5, engineJPEG: 6, engineVideo: 4},
		used:    [numEngines]bool{true, true, true, true, true, true},
	}, c)
}

func TestParseFDInfoDialects(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want client
	}{
		"older name of the memory": {"drm-driver: amdgpu\ndrm-memory-vram: 5 MiB\n", client{amdgpu: true, memory: 5 << 20, memoryKnown: true}},
		"older name after newer":   {"drm-resident-vram: 1 KiB\ndrm-memory-vram: 5 MiB\n", client{memory: 1 << 10, memoryKnown: true}},
		"system memory":            {"drm-resident-gtt:\t30 GiB\ndrm-memory-gtt:\t1 KiB\n", client{system: 30 << 30, systemKnown: true}},
		"older name of it":         {"drm-memory-gtt:\t1 KiB\n", client{system: 1 << 10, systemKnown: true}},
		"no system memory":         {"drm-resident-gtt:\t0\n", client{systemKnown: true}},
		"bytes":                    {"drm-memory-vram: 12\n", client{memory: 12, memoryKnown: true}},
		"another driver":           {"drm-driver:\ti915\ndrm-client-id:\t3\n", client{id: 3, idKnown: true}},
		"kernel 5.14": {
			"pos:\t0\npdev:\t0000:03:00.0\npasid:\t32770\nvram mem:\t123 kB\ngtt mem:\t77 kB\ncpu mem:\t5 kB\ngfx0:\t12.50%\n",
			client{
				amdgpu: true, address: "0000:03:00.0", id: 32770, idKnown: true, memory: 123 << 10, memoryKnown: true,
				system: 77 << 10, systemKnown: true, untimed: true,
			},
		},
		"kernel 5.14 without an address space": {
			"pdev:\t0000:03:00.0\npasid:\t0\nvram mem:\t1 kB\n",
			client{amdgpu: true, address: "0000:03:00.0", memory: 1 << 10, memoryKnown: true, untimed: true},
		},
		"no unit of time":     {"drm-engine-gfx:\t15\n", client{}},
		"no number":           {"drm-engine-gfx:\t-1 ns\ndrm-memory-vram:\tmany KiB\ndrm-client-id:\t\n", client{}},
		"more than there is":  {"drm-memory-vram:\t99999999999999999 KiB\n", client{}},
		"unknown unit":        {"drm-memory-vram:\t5 pages\n", client{}},
		"capacity is no time": {"drm-engine-capacity-gfx:\t2\n", client{}},
		"no end of line":      {"drm-memory-vram:\t5 KiB", client{memory: 5 << 10, memoryKnown: true}},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, test.want, parseFDInfo(test.text)) })
	}
}

func FuzzFDInfo(f *testing.F) {
	f.Add([]byte("drm-driver:\tamdgpu\ndrm-client-id:\t17\ndrm-memory-vram:\t4000 KiB\ndrm-engine-gfx:\t1500 ns\n"))
	f.Add([]byte("drm-resident-vram:\t1 GiB\n:\n\ndrm-engine-:\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if c := parseFDInfo(string(text)); c.memory > plausible.MostBytes || c.system > plausible.MostBytes {
			t.Error(c.memory, c.system)
		}
	})
}
