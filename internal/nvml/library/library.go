// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package library

import (
	"os"
	"strconv"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Library is a loaded libnvidia-ml. It is never unloaded: functions of it stay bound in the process, and a call that hangs may return at
// any time. A process has one, which all sources share.
type Library struct {
	// Path is the path by which the library was found.
	Path string
	// File is the file that was loaded, as the kernel names it.
	File string

	stamp   os.FileInfo // of the file when it was loaded
	symbols *symbols
}

// Has reports whether the library exports the function.
func (l *Library) Has(f *Function) bool { return l.symbols.find(f) != nil }

// Replaced reports whether the file from which the library was loaded has been replaced or removed.
func (l *Library) Replaced() bool {
	if l.stamp == nil {
		return false
	}
	now, err := os.Stat(l.File)
	return err != nil || !os.SameFile(l.stamp, now)
}

// Init begins a session (nvmlInit).
func (l *Library) Init() Code { return Code(gonvml.Init()) }

// Shutdown ends the session (nvmlShutdown). If that fails there is nothing left to end.
func (l *Library) Shutdown() { _ = gonvml.Shutdown() }

// DriverVersion returns the driver's version (nvmlSystemGetDriverVersion).
func (l *Library) DriverVersion() (string, Code) {
	if !l.Has(DriverVersion) {
		return "", FunctionNotFound
	}
	version, ret := gonvml.SystemGetDriverVersion()
	return gpu.CleanText(version), Code(ret)
}

// CUDAVersion returns the version of CUDA that the driver supports: 13.0.
func (l *Library) CUDAVersion() (string, Code) {
	if !l.Has(CUDAVersion) {
		return "", FunctionNotFound
	}
	v, ret := gonvml.SystemGetCudaDriverVersion_v2()
	if Code(ret) != OK || v <= 0 {
		return "", Code(ret)
	}
	return strconv.Itoa(v/1000) + "." + strconv.Itoa(v%1000/10), OK
}

// NVMLVersion returns the library's version.
func (l *Library) NVMLVersion() (string, Code) {
	if !l.Has(NVMLVersion) {
		return "", FunctionNotFound
	}
	version, ret := gonvml.SystemGetNVMLVersion()
	return gpu.CleanText(version), Code(ret)
}

// DeviceCount returns the number of GPUs (nvmlDeviceGetCount).
func (l *Library) DeviceCount() (int, Code) {
	n, ret := gonvml.DeviceGetCount()
	return n, Code(ret)
}

// NewEventSet returns a new set of events (nvmlEventSetCreate). The library must have the function.
func (l *Library) NewEventSet() (EventSet, Code) {
	set, ret := gonvml.EventSetCreate()
	return set, Code(ret)
}

// NewGPMSample allocates memory of the driver for a GPM sample (nvmlGpmSampleAlloc). The library must have the function.
func (l *Library) NewGPMSample() (GPMSample, Code) {
	sample, ret := gonvml.GpmSampleAlloc()
	return sample, Code(ret)
}

// GPMMetrics has the driver compare two samples (nvmlGpmMetricsGet). The library must have the function.
func (l *Library) GPMMetrics(request *GPMMetrics) Code { return Code(gonvml.GpmMetricsGet(request)) }
