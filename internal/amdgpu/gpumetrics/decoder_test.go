// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpumetrics

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/plausible"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

// blankTables are tables in which the driver has nothing, of every fixed revision, with the sizes of the kernel's structures.
func blankTables() map[string]struct {
	table any
	size  int
} {
	type entry = struct {
		table any
		size  int
	}
	return map[string]entry{
		"1.0": {amdgpusim.Blank(&amdgpusim.MetricsV1x0{}, 1, 0), 80},
		"1.1": {amdgpusim.Blank(&amdgpusim.MetricsV1x1{}, 1, 1), 96},
		"1.2": {amdgpusim.Blank(&amdgpusim.MetricsV1x2{}, 1, 2), 104},
		"1.3": {amdgpusim.Blank(&amdgpusim.MetricsV1x3{}, 1, 3), 120},
		"1.4": {amdgpusim.Blank(&amdgpusim.MetricsV1x4{}, 1, 4), 288},
		"1.5": {amdgpusim.Blank(&amdgpusim.MetricsV1x5{}, 1, 5), 360},
		"1.6": {amdgpusim.Blank(&amdgpusim.MetricsV1x6{}, 1, 6), 1664},
		"1.7": {amdgpusim.Blank(&amdgpusim.MetricsV1x7{}, 1, 7), 2208},
		"1.8": {amdgpusim.Blank(&amdgpusim.MetricsV1x8{}, 1, 8), 3872},
		"2.0": {amdgpusim.Blank(&amdgpusim.MetricsV2x0{}, 2, 0), 120},
		"2.1": {amdgpusim.Blank(&amdgpusim.MetricsV2x1{}, 2, 1), 120},
		"2.2": {amdgpusim.Blank(&amdgpusim.MetricsV2x2{}, 2, 2), 128},
		"2.3": {amdgpusim.Blank(&amdgpusim.MetricsV2x3{}, 2, 3), 152},
		"2.4": {amdgpusim.Blank(&amdgpusim.MetricsV2x4{}, 2, 4), 168},
		"3.0": {amdgpusim.Blank(&amdgpusim.MetricsV3x0{}, 3, 0), 264},
	}
}

// TestAbsent: a value that the driver does not have is absent, in every revision.
func TestAbsent(t *testing.T) {
	d := NewDecoder()
	for name, blank := range blankTables() {
		t.Run(name, func(t *testing.T) {
			text := amdgpusim.Encode(blank.table)
			assert.Len(t, text, blank.size)
			m, err := d.Decode(text)
			require.NoError(t, err)
			assert.Equal(t, name, fmt.Sprintf("%d.%d", m.Revision.Format, m.Revision.Content))
			assert.Equal(t, Table{Revision: m.Revision}, m)
		})
	}
	assert.Len(t, d.layouts, len(blankTables())+1, "1.8 has two sizes")
}

func sensor(location string, value float64) gpu.SensorValue {
	return gpu.SensorValue{Location: location, Value: gpu.Some(value)}
}

func sensorsOf1() amdgpusim.Sensors1 {
	table := amdgpusim.Blank(&amdgpusim.MetricsV1x3{}, 1, 3)
	s := table.Sensors1
	s.Edge, s.Hotspot, s.Memory = 41, 52, 63
	s.GfxActivity, s.UMCActivity, s.SocketPower = 97, 31, 250
	s.Energy, s.SystemClock = 1<<40, 12345
	s.GfxClk, s.UClk, s.VClk0 = 1700, 1600, 1100
	s.LinkWidth, s.LinkSpeed = 16, 160
	s.HBM = [4]uint16{60, 0xffff, 71, 64}
	s.VRGfx, s.VRSoc, s.VRMem = 81, 0, 83
	s.MMActivity = 12
	return s
}

func checkSensors1(t *testing.T, m *Table) {
	t.Helper()
	assert.Equal(t, gpu.Some(41.0), m.Temperature[gpu.SensorEdge])
	assert.Equal(t, gpu.Some(52.0), m.Temperature[gpu.SensorHotspot])
	assert.Equal(t, gpu.Some(0.97), m.GFXActivity)
	assert.Equal(t, gpu.Some(0.31), m.UMCActivity)
	assert.Equal(t, gpu.Some(250.0), m.AveragePower)
	assert.False(t, m.CurrentPower.Known())
	assert.Equal(t, gpu.Some[uint64](12345), m.ClockCounter)
	assert.Equal(t, gpu.Some(1700e6), m.GFXClock)
	assert.Equal(t, gpu.Some(1600e6), m.MemoryClock)
	assert.Equal(t, gpu.Some(1100e6), m.VideoClock)
	assert.Equal(t, gpu.Some[int64](4), m.LinkGen)
	assert.Equal(t, gpu.Some[int64](16), m.LinkWidth)
}

func TestDiscreteRevisions(t *testing.T) {
	d := NewDecoder()
	decode := func(t *testing.T, table any) *Table {
		t.Helper()
		m, err := d.Decode(amdgpusim.Encode(table))
		require.NoError(t, err)
		return &m
	}
	t.Run("1.0", func(t *testing.T) {
		table := amdgpusim.Blank(&amdgpusim.MetricsV1x0{}, 1, 0)
		table.Edge, table.Hotspot, table.Memory = 41, 52, 63
		table.GfxActivity, table.UMCActivity, table.SocketPower = 97, 31, 250
		table.Energy, table.SystemClock = 1<<30, 12345
		table.GfxClk, table.UClk, table.VClk0 = 1700, 1600, 1100
		table.LinkWidth, table.LinkSpeed = 16, 160
		m := decode(t, table)
		checkSensors1(t, m)
		assert.Equal(t, gpu.Some(63.0), m.Temperature[gpu.SensorMemory])
		assert.Equal(t, gpu.Some[uint64](1<<30), m.Energy)
	})
	later := map[string]any{}
	v1 := amdgpusim.Blank(&amdgpusim.MetricsV1x1{}, 1, 1)
	v1.Sensors1 = sensorsOf1()
	later["1.1"] = v1
	v2 := amdgpusim.Blank(&amdgpusim.MetricsV1x2{}, 1, 2)
	v2.Sensors1 = sensorsOf1()
	later["1.2"] = v2
	v3 := amdgpusim.Blank(&amdgpusim.MetricsV1x3{}, 1, 3)
	v3.Sensors1, v3.IndependentThrottle = sensorsOf1(), 1<<34
	v3.VoltageGfx, v3.VoltageSoc, v3.VoltageMem = 912, 0, 1250
	later["1.3"] = v3
	for name, table := range later {
		t.Run(name, func(t *testing.T) {
			m := decode(t, table)
			checkSensors1(t, m)
			assert.Equal(t, gpu.Some(71.0), m.Temperature[gpu.SensorMemory], "the hottest stack")
			assert.Equal(t, gpu.Some[uint64](1<<40), m.Energy)
			assert.Equal(t, gpu.Some(0.12), m.Video)
			assert.Equal(t, []gpu.SensorValue{sensor("hbm0", 60), sensor("hbm2", 71), sensor("hbm3", 64), sensor("vr_gfx", 81), sensor("vr_mem", 83)}, m.Details,
				"0 °C is no sensor")
			if name == "1.3" {
				assert.Equal(t, []gpu.SensorValue{sensor("gfx", 0.912), sensor("mem", 1.25)}, m.Voltages, "0 V is none")
			}
			assert.Equal(t, name == "1.3", m.Throttle.Known())
		})
	}
	assert.Equal(t, gpu.Some[uint64](1<<34), decode(t, v3).Throttle)
}

// TestEnergyNotCounted: if the firmware does not count, the driver writes 32 ones into the field of 64 bits.
func TestEnergyNotCounted(t *testing.T) {
	v1 := amdgpusim.Blank(&amdgpusim.MetricsV1x1{}, 1, 1)
	v2 := amdgpusim.Blank(&amdgpusim.MetricsV1x2{}, 1, 2)
	v3 := amdgpusim.Blank(&amdgpusim.MetricsV1x3{}, 1, 3)
	v4 := amdgpusim.Blank(&amdgpusim.MetricsV1x4{}, 1, 4)
	for _, test := range []struct {
		table  any
		energy *uint64
		counts bool // 64 bits
	}{{v1, &v1.Energy, false}, {v2, &v2.Energy, false}, {v3, &v3.Energy, false}, {v4, &v4.Energy, true}} {
		for units, known := range map[uint64]bool{
			math.MaxUint32 - 1: true, math.MaxUint32: test.counts, math.MaxUint32 + 1: true, math.MaxUint64: false,
		} {
			*test.energy = units
			m, err := NewDecoder().Decode(amdgpusim.Encode(test.table))
			require.NoError(t, err)
			assert.Equal(t, known, m.Energy.Known(), "%T: %d", test.table, units)
		}
	}
}

// accelerator fills what 1.4 and later have in common.
func accelerator(s *amdgpusim.Sensors4, l *amdgpusim.Links4, p *amdgpusim.PCIe4, read, written *[8]uint64, c *amdgpusim.Clocks4) {
	*s = amdgpusim.Sensors4{Hotspot: 52, Memory: 63, VRSoc: 40, SocketPower: 610, GfxActivity: 97, UMCActivity: 31}
	l.LinkWidth, l.LinkSpeed, l.XGMIWidth, l.XGMISpeed = 16, 320, 16, 32
	p.L0ToRecovery, p.Replays, p.ReplayRollovers = 5, 77, 3
	read[2], written[2], read[7] = 1000, 2000, 5
	c.GfxClk[0], c.GfxClk[5] = 132, 2100
	c.VClk0[3] = 800
	c.UClk = 1300
}

func checkAccelerator(t *testing.T, m *Table) {
	t.Helper()
	assert.Equal(t, gpu.Some(52.0), m.Temperature[gpu.SensorHotspot])
	assert.Equal(t, gpu.Some(63.0), m.Temperature[gpu.SensorMemory])
	assert.False(t, m.Temperature[gpu.SensorEdge].Known())
	assert.Equal(t, gpu.Some(0.97), m.GFXActivity)
	assert.Equal(t, gpu.Some(0.31), m.UMCActivity)
	assert.Equal(t, gpu.Some(610.0), m.CurrentPower)
	assert.False(t, m.AveragePower.Known())
	assert.Equal(t, gpu.Some[uint64](9_000_000_000), m.Energy)
	assert.Equal(t, gpu.Some[uint64](12345), m.ClockCounter)
	assert.Equal(t, gpu.Some(2100e6), m.GFXClock)
	assert.Equal(t, gpu.Some(1300e6), m.MemoryClock)
	assert.Equal(t, gpu.Some(800e6), m.VideoClock)
	assert.Equal(t, gpu.Some[int64](5), m.LinkGen)
	assert.Equal(t, gpu.Some[int64](16), m.LinkWidth)
	assert.Equal(t, gpu.Some[uint64](77), m.PCIe.Replays)
	assert.Equal(t, gpu.Some[uint64](3), m.PCIe.Rollovers)
	assert.Equal(t, gpu.Some[uint64](5), m.PCIe.Recoveries)
	assert.Equal(t, gpu.Some[uint64](16), m.XGMIWidth)
	assert.Equal(t, gpu.Some[uint64](32), m.XGMISpeed)
	assert.Equal(t, []gpu.SensorValue{sensor("vr_soc", 40)}, m.Details)
	assert.Empty(t, m.Voltages)
	assert.Equal(t, gpu.Some[uint64](1000), m.XGMIRead[2])
	assert.Equal(t, gpu.Some[uint64](2000), m.XGMIWritten[2])
	assert.Equal(t, gpu.Some[uint64](5), m.XGMIRead[7])
	assert.False(t, m.XGMIRead[1].Known())
	assert.False(t, m.XGMIWritten[7].Known())
}

func TestAcceleratorRevisions(t *testing.T) {
	v4 := amdgpusim.Blank(&amdgpusim.MetricsV1x4{}, 1, 4)
	accelerator(&v4.Sensors4, &v4.Links4, &v4.PCIe4, &v4.XGMIRead, &v4.XGMIWritten, &v4.Clocks4)
	v4.Energy, v4.SystemClock = 9_000_000_000, 12345
	v5 := amdgpusim.Blank(&amdgpusim.MetricsV1x5{}, 1, 5)
	accelerator(&v5.Sensors4, &v5.Links4, &v5.PCIe4, &v5.XGMIRead, &v5.XGMIWritten, &v5.Clocks4)
	v5.Energy, v5.SystemClock = 9_000_000_000, 12345
	v5.JPEG[0], v5.JPEG[31] = 10, 30
	v4.VCN[0], v4.VCN[3] = 40, 80
	v5.VCN[0], v5.VCN[3] = 40, 80
	v5.NAKSent, v5.NAKReceived = 8, 9
	residencies := amdgpusim.Residencies{
		SystemClock: 12345, Accumulations: 100, Prochot: 1, PPT: 2, SocketThermal: 3, VRThermal: 4, HBMTemp: 5,
	}
	v6 := amdgpusim.Blank(&amdgpusim.MetricsV1x6{}, 1, 6)
	accelerator(&v6.Sensors4, &v6.Links4, &v6.PCIe4, &v6.XGMIRead, &v6.XGMIWritten, &v6.Clocks4)
	v6.Energy, v6.Residencies, v6.Partitions = 9_000_000_000, residencies, 8
	v6.Shares[3].GfxBusy[0], v6.Shares[3].JPEG[1], v6.Shares[3].VCN[1] = 33, 11, 22
	v6.NAKSent, v6.NAKReceived = 8, 9
	v7 := amdgpusim.Blank(&amdgpusim.MetricsV1x7{}, 1, 7)
	accelerator(&v7.Sensors4, &v7.Links4, &v7.PCIe4, &v7.XGMIRead, &v7.XGMIWritten, &v7.Clocks4)
	v7.Energy, v7.Residencies, v7.Partitions = 9_000_000_000, residencies, 8
	v7.Shares[3].GfxBusy[0], v7.Shares[3].JPEG[1], v7.Shares[3].VCN[1] = 33, 11, 22
	v7.NAKSent, v7.NAKReceived = 8, 9
	v7.XGMIStatus[0], v7.XGMIStatus[1], v7.XGMIStatus[6] = 0, 1, 2
	v8 := amdgpusim.Blank(&amdgpusim.MetricsV1x8{}, 1, 8)
	accelerator(&v8.Sensors4, &v8.Links4, &v8.PCIe4, &v8.XGMIRead, &v8.XGMIWritten, &v8.Clocks4)
	v8.Energy, v8.Residencies, v8.Partitions = 9_000_000_000, residencies, 8
	v8.Shares[3].GfxBusy[0], v8.Shares[3].JPEG[1], v8.Shares[3].VCN[1] = 33, 11, 22
	v8.Shares[3].BelowPPT[0], v8.Shares[3].BelowThermal[0], v8.Shares[3].LowUse[0] = 44, 55, 66
	v8.NAKSent, v8.NAKReceived = 8, 9
	v8.XGMIStatus = v7.XGMIStatus
	d := NewDecoder()
	for name, table := range map[string]any{"1.4": v4, "1.5": v5, "1.6": v6, "1.7": v7, "1.8": v8} {
		t.Run(name, func(t *testing.T) {
			m, err := d.Decode(amdgpusim.Encode(table))
			require.NoError(t, err)
			checkAccelerator(t, &m)
			if name == "1.5" {
				assert.Equal(t, gpu.Some(0.2), m.JPEG)
			}
			assert.Equal(t, name > "1.4", m.PCIe.NAKsSent == gpu.Some[uint64](8))
			assert.Equal(t, name > "1.4", m.PCIe.NAKsReceived == gpu.Some[uint64](9))
			wantUp := [MaxLinks]gpu.Opt[bool]{}
			if name > "1.6" {
				wantUp = [MaxLinks]gpu.Opt[bool]{gpu.Some(false), gpu.Some(true)}
			}
			assert.Equal(t, wantUp, m.XGMIUp, "a status that is not available is absent")
			if name < "1.6" {
				assert.Equal(t, gpu.Some(0.6), m.Video)
				assert.Nil(t, m.XCCs)
				assert.False(t, m.Accumulations.Known())
				return
			}
			xccs := make([]XCC, 4)
			xccs[3].Busy = gpu.Some(0.33)
			if name == "1.8" {
				xccs[3].BelowPower, xccs[3].BelowThermal, xccs[3].LowUse = gpu.Some[uint64](44), gpu.Some[uint64](55), gpu.Some[uint64](66)
			}
			assert.Equal(t, xccs, m.XCCs, "each partition has one")
			assert.Equal(t, gpu.Some[uint64](8), m.Partitions)
			assert.Equal(t, gpu.Some[uint64](100), m.Accumulations)
			for i := range m.Residencies {
				assert.Equal(t, gpu.Some(uint64(i+1)), m.Residencies[i])
			}
			assert.Equal(t, PartitionActivity{}, m.Activity[2])
			assert.Equal(t, PartitionActivity{GFX: gpu.Some(0.33), JPEG: gpu.Some(0.11), Video: gpu.Some(0.22)}, m.Activity[3])
		})
	}
}

// TestEarlierSize: earlier kernels have one array less in each partition's share of 1.8.
func TestEarlierSize(t *testing.T) {
	table := amdgpusim.Blank(&amdgpusim.MetricsV1x8{}, 1, 8)
	table.Shares[0].GfxBusy[0] = 12
	table.Shares[1].LowUse[2] = 99
	long := amdgpusim.Encode(table)
	const sharesAt, share, tail = 344, 440, 8
	text := append([]byte{}, long[:sharesAt]...)
	for i := range 8 {
		text = append(text, long[sharesAt+i*share:sharesAt+(i+1)*share-64]...)
	}
	text = append(text, long[len(long)-tail:]...)
	binary.LittleEndian.PutUint16(text, uint16(len(text)))
	m, err := NewDecoder().Decode(text)
	require.NoError(t, err)
	assert.Len(t, text, 3360)
	assert.Equal(t, gpu.Some(0.12), m.Activity[0].GFX)
	assert.False(t, m.Activity[1].GFX.Known())
	require.Len(t, m.XCCs, 6)
	assert.Equal(t, XCC{Busy: gpu.Some(0.12)}, m.XCCs[0])
	assert.Equal(t, XCC{LowUse: gpu.Some[uint64](99)}, m.XCCs[5], "the third of the second partition; each has three")
}

func TestUnifiedRevisions(t *testing.T) {
	d := NewDecoder()
	v2 := amdgpusim.Blank(&amdgpusim.MetricsV2x2{}, 2, 2)
	v2.Gfx, v2.GfxActivity, v2.SocketPower = 4300, 900, 15000
	v2.GfxClk, v2.UClk, v2.VClk, v2.IndependentThrottle = 800, 1000, 400, 1<<46
	m, err := d.Decode(amdgpusim.Encode(v2))
	require.NoError(t, err)
	assert.Equal(t, gpu.Some(800e6), m.GFXClock)
	assert.Equal(t, gpu.Some(1000e6), m.MemoryClock)
	assert.Equal(t, gpu.Some(400e6), m.VideoClock)
	assert.Equal(t, gpu.Some[uint64](1<<46), m.Throttle)
	assert.False(t, m.GFXActivity.Known(), "in no documented unit")
	assert.False(t, m.AveragePower.Known(), "in no documented unit")

	v3 := amdgpusim.Blank(&amdgpusim.MetricsV3x0{}, 3, 0)
	v3.GfxActivity, v3.GfxClk, v3.VClk, v3.UClk, v3.SystemClock = 44, 2900, 1200, 1000, 99
	m, err = d.Decode(amdgpusim.Encode(v3))
	require.NoError(t, err)
	assert.Equal(t, gpu.Some(0.44), m.GFXActivity)
	assert.Equal(t, gpu.Some(2900e6), m.GFXClock)
	assert.Equal(t, gpu.Some(1200e6), m.VideoClock)
	assert.Equal(t, gpu.Some(1000e6), m.MemoryClock)
	assert.Equal(t, gpu.Some[uint64](99), m.ClockCounter)
}

// TestGFXPower: tables 3.0 have mW. Tables 2.x have mW or W, which the power of the socket shows.
func TestGFXPower(t *testing.T) {
	power := func(table any, whole gpu.Opt[float64]) gpu.Opt[float64] {
		m, err := NewDecoder().Decode(amdgpusim.Encode(table))
		require.NoError(t, err)
		return m.GFXPower(whole)
	}
	v3 := amdgpusim.Blank(&amdgpusim.MetricsV3x0{}, 3, 0)
	assert.False(t, power(v3, gpu.Some(9.087)).Known())
	v3.GfxPower, v3.AllCorePower = 1536, 2499
	assert.Equal(t, gpu.Some(1.536), power(v3, gpu.Some(9.087)))
	assert.Equal(t, gpu.Some(1.536), power(v3, gpu.Opt[float64]{}))

	v2 := amdgpusim.Blank(&amdgpusim.MetricsV2x1{}, 2, 1)
	v2.GfxPower = 585
	assert.False(t, power(v2, gpu.Some(3.103)).Known(), "in no known unit")
	v2.SocketPower = 2900
	assert.Equal(t, gpu.Some(0.585), power(v2, gpu.Some(3.103)))
	assert.False(t, power(v2, gpu.Opt[float64]{}).Known(), "in no known unit")
	v2.SocketPower, v2.GfxPower = 16, 5
	assert.Equal(t, gpu.Some(5.0), power(v2, gpu.Some(15.2)), "W")
	v2.GfxPower = 0xffff
	assert.False(t, power(v2, gpu.Some(15.2)).Known())
}

func TestRefusedTables(t *testing.T) {
	good := amdgpusim.Encode(amdgpusim.Blank(&amdgpusim.MetricsV1x3{}, 1, 3))
	longer := append(append([]byte{}, good...), 0)
	longer[0] = byte(len(longer))
	alien := append([]byte{}, good...)
	alien[2], alien[3] = 4, 2
	for name, test := range map[string]struct {
		text []byte
		want error
	}{
		"nothing":                  {nil, ErrFormat},
		"half a header":            {good[:3], ErrFormat},
		"cut off":                  {good[:100], ErrFormat},
		"of no size":               {[]byte{0, 0, 1, 3}, ErrFormat},
		"longer than its revision": {longer, ErrFormat},
		"unknown revision":         {alien, ErrRevision},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewDecoder().Decode(test.text)
			require.ErrorIs(t, err, test.want)
		})
	}
}

func FuzzTable(f *testing.F) {
	for _, blank := range blankTables() {
		f.Add(amdgpusim.Encode(blank.table))
	}
	f.Add(oneAttribute(1, 9, attributeGFXClock, amdgpusim.AttributeU16, 700))
	f.Add(oneAttribute(1, 9, attributeLowUse, amdgpusim.AttributeU64, 1, 2, 3))
	f.Add(oneAttribute(1, 9, attributeXCD, amdgpusim.AttributeU8, make([]uint64, 1000)...))
	d := NewDecoder()
	f.Fuzz(func(t *testing.T, text []byte) {
		m, _ := d.Decode(text)
		fractions := []gpu.Opt[float64]{m.GFXActivity, m.UMCActivity, m.JPEG, m.Video}
		for i := range m.XCCs {
			fractions = append(fractions, m.XCCs[i].Busy)
		}
		for _, v := range fractions {
			if f, ok := v.Get(); ok && (f < 0 || f > 1) {
				t.Error("no fraction:", f)
			}
		}
		if len(m.XCCs) > MaxXCCs || len(m.Details) > 4*maxSensors+3 || len(m.Voltages) > 3 {
			t.Error("too many:", len(m.XCCs), len(m.Details), len(m.Voltages))
		}
		for _, s := range append(m.Details, m.Voltages...) {
			if v, ok := s.Value.Get(); !ok || v == 0 || v > plausible.Hottest {
				t.Error("no value:", s)
			}
		}
		if s, err := d.DecodePartition(text); err == nil {
			if f, ok := s.GFX.Get(); ok && (f < 0 || f > 1) {
				t.Error("no fraction:", f)
			}
		}
	})
}
