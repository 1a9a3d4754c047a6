// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpusim

// Clocks2 are the powers, clocks and states of the tables of APUs.
type Clocks2 struct {
	SocketPower, CPUPower, SocPower, GfxPower uint16
	CorePower                                 [8]uint16
	AverageClocks                             [6]uint16
	GfxClk, SocClk, UClk, FClk, VClk, DClk    uint16
	CoreClk                                   [8]uint16
	L3Clk                                     [2]uint16
	Throttle                                  uint32
	FanPWM                                    uint16
}

// Sensors2 are the temperatures and activities of the tables of APUs.
type Sensors2 struct {
	Gfx, Soc                uint16
	Core                    [8]uint16
	L3                      [2]uint16
	GfxActivity, MMActivity uint16
}

// MetricsV2x0 is gpu_metrics_v2_0.
type MetricsV2x0 struct {
	Header
	Pad0        uint32
	SystemClock uint64
	Sensors2
	Clocks2
	Pad1 uint16
}

// MetricsV2x1 is gpu_metrics_v2_1.
type MetricsV2x1 struct {
	Header
	Sensors2
	SystemClock uint64
	Clocks2
	Pad [3]uint16
}

// MetricsV2x2 is gpu_metrics_v2_2.
type MetricsV2x2 struct {
	Header
	Sensors2
	SystemClock uint64
	Clocks2
	Pad                 [3]uint16
	IndependentThrottle uint64
}

// MetricsV2x3 is gpu_metrics_v2_3.
type MetricsV2x3 struct {
	Header
	Sensors2
	SystemClock uint64
	Clocks2
	Pad                 [3]uint16
	IndependentThrottle uint64
	AverageTemperatures [12]uint16
}

// MetricsV2x4 is gpu_metrics_v2_4.
type MetricsV2x4 struct {
	Header
	Sensors2
	SystemClock uint64
	Clocks2
	Pad                 [3]uint16
	IndependentThrottle uint64
	AverageTemperatures [12]uint16
	Voltages, Currents  [3]uint16
	Pad1                uint32
}

// MetricsV3x0 is gpu_metrics_v3_0.
type MetricsV3x0 struct {
	Header
	Gfx, Soc                                    uint16
	Core                                        [16]uint16
	Skin                                        uint16
	GfxActivity, VCNActivity                    uint16
	IPUActivity                                 [8]uint16
	CoreC0                                      [16]uint16
	DRAMReads, DRAMWrites, IPUReads, IPUWrites  uint16
	PadClock                                    uint16
	SystemClock                                 uint64
	SocketPower                                 uint32
	IPUPower, Pad0                              uint16
	APUPower, GfxPower, DGPUPower, AllCorePower uint32
	CorePower                                   [16]uint16
	SystemPower, STAPMLimit, CurrentSTAPMLimit  uint16
	GfxClk, SocClk, VPEClk, IPUClk, FClk, VClk  uint16
	UClk, MPIPUClk                              uint16
	CoreClk                                     [16]uint16
	CoreMax, GfxMax                             uint16
	Pad1                                        uint16
	Residencies                                 [7]uint32
	FilterConstant                              uint32
	Pad2                                        uint32
}
