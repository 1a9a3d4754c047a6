// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpusim

import (
	"bytes"
	"encoding/binary"
	"reflect"
)

// Header is at the start of every gpu_metrics table. The size is filled in when the table is written.
type Header struct {
	Size            uint16
	Format, Content uint8
}

// The tables have the fields of the kernel's kgd_pp_interface.h, padding included, one after the other.

// MetricsV1x0 is gpu_metrics_v1_0.
type MetricsV1x0 struct {
	Header
	Pad0                                              uint32
	SystemClock                                       uint64
	Edge, Hotspot, Memory, VRGfx, VRSoc, VRMem        uint16
	GfxActivity, UMCActivity, MMActivity, SocketPower uint16
	Energy                                            uint32
	AverageClocks                                     [7]uint16
	GfxClk, SocClk, UClk, VClk0, DClk0, VClk1, DClk1  uint16
	Throttle                                          uint32
	Fan                                               uint16
	LinkWidth, LinkSpeed                              uint8
	Pad1                                              uint32
}

// Sensors1 is the beginning of 1.1 to 1.3.
type Sensors1 struct {
	Edge, Hotspot, Memory, VRGfx, VRSoc, VRMem        uint16
	GfxActivity, UMCActivity, MMActivity, SocketPower uint16
	Energy, SystemClock                               uint64
	AverageClocks                                     [7]uint16
	GfxClk, SocClk, UClk, VClk0, DClk0, VClk1, DClk1  uint16
	Throttle                                          uint32
	Fan, LinkWidth, LinkSpeed, Pad                    uint16
	GfxActivityAcc, MemActivityAcc                    uint32
	HBM                                               [4]uint16
}

// MetricsV1x1 is gpu_metrics_v1_1.
type MetricsV1x1 struct {
	Header
	Sensors1
}

// MetricsV1x2 is gpu_metrics_v1_2.
type MetricsV1x2 struct {
	Header
	Sensors1
	FirmwareTime uint64
}

// MetricsV1x3 is gpu_metrics_v1_3.
type MetricsV1x3 struct {
	Header
	Sensors1
	FirmwareTime                       uint64
	VoltageSoc, VoltageGfx, VoltageMem uint16
	Pad1                               uint16
	IndependentThrottle                uint64
}

// Sensors4 is the beginning of 1.4 and later.
type Sensors4 struct {
	Hotspot, Memory, VRSoc, SocketPower uint16
	GfxActivity, UMCActivity            uint16
}

// Links4 are the links and PCIe counters of 1.4 and later.
type Links4 struct {
	LinkWidth, LinkSpeed, XGMIWidth, XGMISpeed uint16
	GfxActivityAcc, MemActivityAcc             uint32
}

// PCIe4 are the PCIe counters of 1.4 and later.
type PCIe4 struct {
	BandwidthAcc, BandwidthInst, L0ToRecovery, Replays, ReplayRollovers uint64
}

// Clocks4 are the clocks of 1.4 and later.
type Clocks4 struct {
	GfxClk               [8]uint16
	SocClk, VClk0, DClk0 [4]uint16
	UClk                 uint16
}

// Residencies are the throttle counters of 1.6 and later.
type Residencies struct {
	SystemClock                                                    uint64
	Accumulations, Prochot, PPT, SocketThermal, VRThermal, HBMTemp uint32
	GfxClkLock                                                     uint32
}

// MetricsV1x4 is gpu_metrics_v1_4.
type MetricsV1x4 struct {
	Header
	Sensors4
	VCN                  [4]uint16
	Energy, SystemClock  uint64
	Throttle, GfxClkLock uint32
	Links4
	PCIe4
	XGMIRead, XGMIWritten [8]uint64
	FirmwareTime          uint64
	Clocks4
	Pad  uint16
	Pad1 uint32
}

// MetricsV1x5 is gpu_metrics_v1_5.
type MetricsV1x5 struct {
	Header
	Sensors4
	VCN                  [4]uint16
	JPEG                 [32]uint16
	Energy, SystemClock  uint64
	Throttle, GfxClkLock uint32
	Links4
	PCIe4
	NAKSent, NAKReceived  uint32
	XGMIRead, XGMIWritten [8]uint64
	FirmwareTime          uint64
	Clocks4
	Pad  uint16
	Pad1 uint32
}

// ShareV6 is amdgpu_xcp_metrics.
type ShareV6 struct {
	GfxBusy    [8]uint32
	JPEG       [32]uint16
	VCN        [4]uint16
	GfxBusyAcc [8]uint64
}

// ShareV7 is amdgpu_xcp_metrics_v1_1.
type ShareV7 struct {
	ShareV6
	BelowLimit [8]uint64
}

// ShareV8 is amdgpu_xcp_metrics_v1_2.
type ShareV8 struct {
	GfxBusy                                  [8]uint32
	JPEG                                     [40]uint16
	VCN                                      [4]uint16
	GfxBusyAcc                               [8]uint64
	BelowPPT, BelowThermal, LowUse, BelowAny [8]uint64
}

// MetricsV1x6 is gpu_metrics_v1_6.
type MetricsV1x6 struct {
	Header
	Sensors4
	Energy uint64
	Residencies
	Links4
	Pad0 uint32
	PCIe4
	NAKSent, NAKReceived  uint32
	XGMIRead, XGMIWritten [8]uint64
	FirmwareTime          uint64
	Clocks4
	Partitions uint16
	Pad1       uint32
	Shares     [8]ShareV6
	Recoveries uint32
	Pad2       uint32
}

// MetricsV1x7 is gpu_metrics_v1_7.
type MetricsV1x7 struct {
	Header
	Sensors4
	MaxBandwidth, Energy uint64
	Residencies
	Links4
	Pad0 uint32
	PCIe4
	NAKSent, NAKReceived  uint32
	XGMIRead, XGMIWritten [8]uint64
	XGMIStatus            [8]uint16
	Pad1                  uint16
	Pad2                  [3]uint16
	FirmwareTime          uint64
	Clocks4
	Partitions uint16
	Pad3       uint32
	Shares     [8]ShareV7
	Recoveries uint32
	Pad4       uint32
}

// MetricsV1x8 is gpu_metrics_v1_8.
type MetricsV1x8 struct {
	Header
	Sensors4
	MaxBandwidth, Energy uint64
	Residencies
	Links4
	Pad0 uint32
	PCIe4
	NAKSent, NAKReceived  uint32
	XGMIRead, XGMIWritten [8]uint64
	XGMIStatus            [8]uint16
	Pad1                  uint16
	Pad2                  [3]uint16
	FirmwareTime          uint64
	Clocks4
	Partitions uint16
	Pad3       uint32
	Shares     [8]ShareV8
	Recoveries uint32
	Pad4       uint32
}

// Blank sets all bits of every value of a table, which is the driver's mark for an unsupported value, and sets the revision.
func Blank[T any](table *T, format, content uint8) *T {
	v := reflect.ValueOf(table).Elem()
	fill(v)
	h := Header{Format: format, Content: content}
	v.FieldByName("Header").Set(reflect.ValueOf(h))
	return table
}

func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(field)
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i))
		}
	default:
		v.SetUint(^uint64(0) >> (64 - v.Type().Bits()))
	}
}

// Encode writes a table as the driver does.
func Encode(table any) []byte {
	var b bytes.Buffer
	// It cannot fail: the tables are structures of fixed size.
	_ = binary.Write(&b, binary.LittleEndian, table)
	text := b.Bytes()
	binary.LittleEndian.PutUint16(text, uint16(len(text)))
	return text
}
