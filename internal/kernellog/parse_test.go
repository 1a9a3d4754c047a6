// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kernellog

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const gpuAddress = "0000:9b:00.0"

func TestNVIDIA(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]Event{
		"NVRM: Xid (PCI:0000:9b:00): 119, pid=2024380, name=nvidia-smi, Timeout after 6s of waiting for RPC response from GPU4 GSP!": {{
			Address: gpuAddress, XID: 119, PID: gpu.Some[int64](2024380), Process: "nvidia-smi", Text: "Timeout after 6s of waiting for RPC response from GPU4 GSP!",
		}},
		"NVRM: Xid (PCI:0000:9b:00): 48, pid='<unknown>', name=<unknown>, An uncorrectable double bit error (DBE), partition 2": {{Address: gpuAddress, XID: 48, Text: "An uncorrectable double bit error (DBE), partition 2"}},
		"NVRM: Xid (PCI:0000:9b:00): 79, pid=0, GPU has fallen off the bus.":                                                    {{Address: gpuAddress, XID: 79, Text: "GPU has fallen off the bus."}},
		"NVRM: Xid (PCI:0000:9b:00): 94, pid=<unknown>, name=<unknown>, Contained: SM (0x1).":                                   {{Address: gpuAddress, XID: 94, Text: "Contained: SM (0x1)."}},
		"NVRM: Xid (PCI:0000:9b:00): 79, GPU has fallen off the bus.":                                                           {{Address: gpuAddress, XID: 79, Text: "GPU has fallen off the bus."}},
		"NVRM: Xid (PCI:0000:9B:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.":                          {{Address: gpuAddress, XID: 79, Text: "GPU has fallen off the bus."}},
		"NVRM: Xid (0000:01:00): 31, Ch 0000000b, engmask 00000111, intr 10000000":                                              {{Address: "0000:01:00.0", XID: 31, Text: "Ch 0000000b, engmask 00000111, intr 10000000"}},
		"NVRM: Xid (PCI:0000:9b:00.0): 13, pid=7, name=a b.c":                                                                   {{Address: gpuAddress, XID: 13, PID: gpu.Some[int64](7), Process: "a b.c"}},
		"NVRM: Xid (PCI:00000000:9b:00): 62, 023f0f30 00000000":                                                                 {{Address: gpuAddress, XID: 62, Text: "023f0f30 00000000"}},
		"NVRM: Xid (PCI:10000:01:00): 8, Channel 00000001":                                                                      {{Address: "10000:01:00.0", XID: 8, Text: "Channel 00000001"}},
		"NVRM: Xid (PCI:0000:9b:00): 143":                                                                                       {{Address: gpuAddress, XID: 143}},
		"NVRM: Xid (PCI:0000:9b:00): 45, pid=18, name=python3, Ch 00000001 caused by previous Xid 149": {{
			Address: gpuAddress, XID: 45, PID: gpu.Some[int64](18), Process: "python3", CausedBy: gpu.Some[int64](149), Text: "Ch 00000001 caused by previous Xid 149",
		}},
		"NVRM: Xid (PCI:0000:9b:00): 13, pid=7, name=a,b, Graphics Exception": {{
			Address: gpuAddress, XID: 13, PID: gpu.Some[int64](7), Process: "a,b", Text: "Graphics Exception",
		}},
		"NVRM: Xid (PCI:0000:9b:00): 31, pid=7, name=a, b,c, Ch 00000008": {{
			Address: gpuAddress, XID: 31, PID: gpu.Some[int64](7), Process: "a, b,c", Text: "Ch 00000008",
		}},
		"NVRM: Xid (PCI:0000:9b:00): 31, pid=7, name=\x1b[31mred\x07\u202e, Ch 00000008\u009b2J": {{
			Address: gpuAddress, XID: 31, PID: gpu.Some[int64](7), Process: "red", Text: "Ch 00000008",
		}},
		"NVRM: Xid (PCI:0000:9b:00 GPU-I:05): 31, pid=18, name=python3, Ch 00000008": {{
			Address: gpuAddress, XID: 31, PID: gpu.Some[int64](18), Process: "python3", GPUInstance: gpu.Some(5), Text: "Ch 00000008",
		}},
		"NVRM: Xid (PCI:0000:9b:00 GPU-I:11 GPU-CI:00): 31, Ch 00000008": {{
			Address: gpuAddress, XID: 31, GPUInstance: gpu.Some(11), ComputeInstance: gpu.Some(0), Text: "Ch 00000008",
		}},
		"NVRM: GPU at PCI:0000:9b:00: GPU-509665AD-b600-ac93-3616-d754b23d636d": {{
			Kind: KindGPU, Address: gpuAddress, UUID: "GPU-509665ad-b600-ac93-3616-d754b23d636d", Text: "NVRM: GPU at PCI:0000:9b:00: GPU-509665AD-b600-ac93-3616-d754b23d636d",
		}},
		"NVRM: GPU 0000:9b:00.0: GPU has fallen off the bus.": {{Kind: KindFallenOffBus, Address: gpuAddress, Text: "GPU 0000:9b:00.0: GPU has fallen off the bus."}},
		"NVRM: The NVIDIA GPU 0000:9b:00.0\nNVRM: (PCI ID: 10de:26b5) installed in this system has\nNVRM: fallen off the bus and is not responding to commands.": {{
			Kind: KindFallenOffBus, Address: gpuAddress, Text: "The NVIDIA GPU 0000:9b:00.0 (PCI ID: 10de:26b5) installed in this system has fallen off the bus and is not responding to commands.",
		}},
		"NVRM: Xid (PCI:0000:9b:00): 13, a\nNVRM: Xid (PCI:0000:9b:00): 43, b": {{Address: gpuAddress, XID: 13, Text: "a"}, {Address: gpuAddress, XID: 43, Text: "b"}},
		"nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 20034, Fatal, Link 48 LTSSM Fault Up": {{
			Kind: KindSwitchError, Address: "0000:06:00.0", XID: 20034, Part: "nvidia-nvswitch1", Class: gpu.ClassFatal, Link: gpu.Some[int64](48), Text: "Link 48 LTSSM Fault Up",
		}},
		"nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 10003, Non-fatal, Host_unhandled_interrupt": {{
			Kind: KindSwitchError, Address: "0000:05:00.0", XID: 10003, Part: "nvidia-nvswitch0", Class: gpu.ClassNonFatal, Text: "Host_unhandled_interrupt",
		}},
		// Not of a GPU, or not an XID.
		"nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 20034, Severity 1 Engine instance 48 Sub-engine instance 00": nil,
		"nvidia-nvswitch1: open (major=510)":                                                           nil,
		"NVRM: GPU Board Serial Number: 1650124014249":                                                 nil,
		"NVRM: Rate limiting GSP RPC error prints for GPU at PCI:0000:9b:00 (printing 1 of every 30).": nil,
		"systemd[1]: said NVRM: Xid (PCI:0000:9b:00): 79, x":                                           nil,
		"NVRM: Xid (PCI:0000:9b:00): x":                                                                nil,
		"NVRM: Xid (PCI:9b:00): 79":                                                                    nil,
		"NVRM: Xid (PCI:0000:9b:00): 99999999999999999999":                                             nil,
		"NVRM: The NVIDIA GPU driver for the GPUs that have not fallen off the bus":                    nil,
		"NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024":     nil,
	} {
		assert.Equal(t, want, Parse(&Record{Text: text}), text)
	}
}

func TestAMD(t *testing.T) {
	t.Parallel()
	const address = "0000:03:00.0"
	for text, want := range map[string]Event{
		"amdgpu 0000:03:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=2662395, emitted seq=2662397": {Kind: KindRingTimeout, Part: "gfx_0.0.0", Text: "ring gfx_0.0.0 timeout, signaled seq=2662395, emitted seq=2662397"},
		"amdgpu 0000:03:00.0: ring sdma0 timeout, but soft recovered":                                    {Kind: KindRingTimeout, Part: "sdma0", Recovered: true, Text: "ring sdma0 timeout, but soft recovered"},
		"amdgpu 0000:03:00.0: amdgpu: GPU reset begin!":                                                  {Kind: KindResetBegun, Text: "GPU reset begin!"},
		"amdgpu 0000:03:00.0: GPU reset begin!. Source:  1":                                              {Kind: KindResetBegun, Text: "GPU reset begin!. Source:  1"},
		"amdgpu 0000:03:00.0: amdgpu: GPU reset(2) succeeded!":                                           {Kind: KindResetSucceeded, Text: "GPU reset(2) succeeded!"},
		"amdgpu 0000:03:00.0: amdgpu: GPU reset(3) failed":                                               {Kind: KindResetFailed, Text: "GPU reset(3) failed"},
		"amdgpu 0000:03:00.0: amdgpu: GPU reset(3) failed with error -62 ":                               {Kind: KindResetFailed, Text: "GPU reset(3) failed with error -62"},
		"amdgpu 0000:03:00.0: amdgpu: GPU reset end with ret = -62":                                      {Kind: KindResetFailed, Text: "GPU reset end with ret = -62"},
		"amdgpu 0000:03:00.0: amdgpu: {5}socket: 4, die: 0, 3 new correctable hardware errors detected in gfx block": {
			Kind: KindRAS, Class: gpu.ClassCorrected, Count: gpu.Some[int64](3), Part: "gfx", Text: "socket: 4, die: 0, 3 new correctable hardware errors detected in gfx block",
		},
		"amdgpu 0000:03:00.0: amdgpu: {7} socket: 4, die: 0, 2 new poison consumption detected in gfx block": {
			Kind: KindRAS, Class: gpu.ClassPoison, Count: gpu.Some[int64](2), Part: "gfx", Text: "socket: 4, die: 0, 2 new poison consumption detected in gfx block",
		},
		"amdgpu 0000:03:00.0: amdgpu: socket: 4, die: 0 new 7 uncorrectable hardware errors detected in umc block": {
			Kind: KindRAS, Class: gpu.ClassUncorrected, Count: gpu.Some[int64](7), Part: "umc",
			Text: "socket: 4, die: 0 new 7 uncorrectable hardware errors detected in umc block",
		},
		"amdgpu 0000:03:00.0: amdgpu: socket: 1, die: 0 5 correctable hardware errors detected in gfx block, no user action is needed.": {
			Kind: KindRAS, Class: gpu.ClassCorrected, Count: gpu.Some[int64](5), Total: true, Part: "gfx",
			Text: "socket: 1, die: 0 5 correctable hardware errors detected in gfx block, no user action is needed.",
		},
		"amdgpu 0000:03:00.0: 2 uncorrectable hardware errors detected in umc block": {
			Kind: KindRAS, Class: gpu.ClassUncorrected, Count: gpu.Some[int64](2), Total: true, Part: "umc", Text: "2 uncorrectable hardware errors detected in umc block",
		},
		"amdgpu 0000:03:00.0: amdgpu: 1 new deferred hardware errors detected in umc block": {
			Kind: KindRAS, Class: gpu.ClassDeferred, Count: gpu.Some[int64](1), Part: "umc", Text: "1 new deferred hardware errors detected in umc block",
		},
		"amdgpu 0000:03:00.0: {1}uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!": {
			Kind: KindRAS, Class: gpu.ClassUncorrected, Part: "ERREVENT_ATHUB_INTERRUPT", Text: "uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!",
		},
		"amdgpu 0000:03:00.0: amdgpu: Saved bad pages 128 reaches threshold value 128": {Kind: KindBadPageLimit, Count: gpu.Some[int64](128), Text: "Saved bad pages 128 reaches threshold value 128"},
		"amdgpu 0000:03:00.0: amdgpu: Saved 2 pages to EEPROM table.":                  {Kind: KindBadPages, Count: gpu.Some[int64](2), Text: "Saved 2 pages to EEPROM table."},
		"amdgpu 0000:03:00.0: amdgpu: Process information: process my app pid 4711 thread my app:cs0 pid 4712": {
			Kind: KindRingProcess, Process: "my app", PID: gpu.Some[int64](4711), Text: "Process information: process my app pid 4711 thread my app:cs0 pid 4712",
		},
		"amdgpu 0000:03:00.0:  Process python3 pid 4711 thread python3 pid 4711": {
			Kind: KindRingProcess, Process: "python3", PID: gpu.Some[int64](4711), Text: "Process python3 pid 4711 thread python3 pid 4711",
		},
		"amdgpu 0000:03:00.0: amdgpu: RAS poison consumption, fall back to gpu reset flow: client id 27": {Kind: KindRAS, Class: gpu.ClassPoison, Text: "RAS poison consumption, fall back to gpu reset flow: client id 27"},
		"amdgpu 0000:03:00.0: amdgpu: poison is consumed by client 27, kick off gpu reset flow":          {Kind: KindRAS, Class: gpu.ClassPoison, Text: "poison is consumed by client 27, kick off gpu reset flow"},
	} {
		want.Address = address
		assert.Equal(t, []Event{want}, Parse(&Record{Text: text}), text)
	}
	old := Record{Text: "[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx timeout, signaled seq=1, emitted seq=2"}
	want := Event{Kind: KindRingTimeout, Part: "gfx", Text: "ring gfx timeout, signaled seq=1, emitted seq=2"}
	assert.Equal(t, []Event{want}, Parse(&old), "no address")
	old.Device, want.Address = "+pci:0000:03:00.0", address
	assert.Equal(t, []Event{want}, Parse(&old), "the address that the kernel adds")
	for _, text := range []string{
		"amdgpu 0000:03:00.0: amdgpu: GPU reset succeeded, trying to resume",
		"amdgpu 0000:03:00.0: amdgpu: ring gfx_0.0.0 uses VM inv eng 0 on hub 0",
		"amdgpu 0000:03:00.0: amdgpu: RAS: optional ras ta ucode is not available",
		"amdgpu: qcm fence wait loop timeout expired",
		"amdgpu 0000:03:00.0: amdgpu: socket: 4, die: 0, 7 uncorrectable hardware errors detected in total in umc block",
		"amdgpu 0000:03:00.0: amdgpu: [gfxhub] page fault (src_id:0 ring:24 vmid:3 pasid:32770)",
	} {
		assert.Empty(t, Parse(&Record{Text: text}), text)
	}
}

func TestPCIe(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Event{
		"nvidia 0000:9b:00.0: AER: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)":                   {Class: gpu.ClassCorrected, Part: "Physical"},
		"nvidia 0000:9b:00.0: PCIe Bus Error: severity=Correctable, type=Data Link Layer, (Receiver ID)":                     {Class: gpu.ClassCorrected, Part: "Data Link"},
		"amdgpu 0000:9b:00.0: AER: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction Layer, (Requester ID)": {Class: gpu.ClassNonFatal, Part: "Transaction"},
		"pcieport 0000:9b:00.0: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Transaction Layer, (Requester ID)":      {Class: gpu.ClassFatal, Part: "Transaction"},
		"pcieport 0000:9b:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Inaccessible, (Unregistered Agent ID)":    {Class: gpu.ClassFatal, Part: "Inaccessible"},
		"pcieport 0000:9a:01.0: AER: Multiple Corrected error message received from 0000:9b:00.0 (no details found":          {Class: gpu.ClassCorrected},
		"pcieport 0000:9a:01.0: AER: Uncorrectable (Fatal) error message received from 0000:9b:00.0 (no details found":       {Class: gpu.ClassFatal},
		"pcieport 0000:9b:00.0: AER: PCIe Bus Error: severity=Other, type=Transaction Layer, id=00e0(Requester ID)":          {Class: gpu.ClassUncorrected, Part: "Transaction"},
	} {
		want.Kind, want.Address, want.Text = KindPCIeError, gpuAddress, text
		assert.Equal(t, []Event{want}, Parse(&Record{Text: text}), text)
	}
	for _, text := range []string{
		"pcieport 0000:00:1c.0: AER: Corrected error received: 0000:9b:00.0",
		"pcieport 0000:00:1c.0: AER: Correctable error message received from 0000:9b:00.0", // the line of the device follows
		"pcieport 0000:00:1c.0:   device [8086:9d14] error status/mask=00001000/00002000",
	} {
		assert.Empty(t, Parse(&Record{Text: text}), text)
	}
}

func FuzzKmsg(f *testing.F) {
	f.Add("3,1234,5140900,-;NVRM: Xid (PCI:0000:9b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n")
	f.Add("3,1,7,-;NVRM: The NVIDIA GPU 0000:b3:00.0\\x0aNVRM: (PCI ID: 10de:26b5) installed in this system has\\x0aNVRM: fallen off the bus\n")
	f.Add("3,1,7,-;[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx timeout\n SUBSYSTEM=pci\n DEVICE=+pci:0000:03:00.0\n")
	f.Add("4,1,7,-;amdgpu 0000:03:00.0: amdgpu: {5}3 new correctable hardware errors detected in gfx block")
	f.Add("4,1,7,-;nvidia 0000:9b:00.0: AER: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)")
	f.Fuzz(func(t *testing.T, record string) {
		r, err := ParseKmsg([]byte(record))
		if err != nil {
			return
		}
		checkEvents(t, &r)
	})
}

func FuzzSyslog(f *testing.F) {
	f.Add("<3>[  123.456789][T12] NVRM: Xid (PCI:0000:9b:00 GPU-I:05 GPU-CI:00): 31, pid=1, name=a, Ch 00000008")
	f.Add("<3>amdgpu 0000:03:00.0: GPU reset(3) failed")
	f.Fuzz(func(t *testing.T, line string) {
		for _, r := range joinLines([]string{line, line}) {
			checkEvents(t, &r)
		}
	})
}

// checkEvents checks what holds for whatever is in a log.
func checkEvents(t *testing.T, r *Record) {
	t.Helper()
	assert.LessOrEqual(t, len(r.Text), maxText)
	stamp, _ := r.Stamp.Get()
	assert.GreaterOrEqual(t, stamp, stamp*0)
	for _, e := range Parse(r) {
		assert.LessOrEqual(t, len(e.Text), maxText)
		if e.Address != "" {
			assert.Equal(t, e.Address, normalAddress(e.Address))
		}
		if e.Kind == KindXID {
			assert.NotEmpty(t, e.Address)
			assert.GreaterOrEqual(t, e.XID, int64(0))
		}
	}
}
