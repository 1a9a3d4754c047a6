// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"unsafe"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"
)

// shapes says how the functions are called of which a steady read consists. All others are called through the binding.
var shapes = [numFunctions]struct {
	shape    shape
	argument int32
	version  uint32 // of the structure that is filled in, by which the library knows it
}{
	fnMIGMode:            {shape: shapeTwoOut},
	fnFields:             {shape: shapeInOut},
	fnMemory:             {shape: shapeOut},
	fnMemoryV2:           {shape: shapeOut, version: uint32(unsafe.Sizeof(gonvml.Memory_v2{})) | 2<<24},
	fnProtectedMemory:    {shape: shapeOut},
	fnUtilization:        {shape: shapeOut},
	fnEncoder:            {shape: shapeTwoOut},
	fnDecoder:            {shape: shapeTwoOut},
	fnJPEG:               {shape: shapeTwoOut},
	fnOFA:                {shape: shapeTwoOut},
	fnSamplesGeneral:     {shape: shapeSamples, argument: int32(gonvml.GPU_UTILIZATION_SAMPLES)},
	fnSamplesMemory:      {shape: shapeSamples, argument: int32(gonvml.MEMORY_UTILIZATION_SAMPLES)},
	fnSamplesEncoder:     {shape: shapeSamples, argument: int32(gonvml.ENC_UTILIZATION_SAMPLES)},
	fnSamplesDecoder:     {shape: shapeSamples, argument: int32(gonvml.DEC_UTILIZATION_SAMPLES)},
	fnSamplesJPEG:        {shape: shapeSamples, argument: int32(gonvml.JPG_UTILIZATION_SAMPLES)},
	fnSamplesOFA:         {shape: shapeSamples, argument: int32(gonvml.OFA_UTILIZATION_SAMPLES)},
	fnTemperature:        {shape: shapeInOut, argument: int32(gonvml.TEMPERATURE_GPU)},
	fnMargin:             {shape: shapeOut, version: uint32(unsafe.Sizeof(gonvml.MarginTemperature{})) | 1<<24},
	fnFanSpeed:           {shape: shapeOut},
	fnFanSpeedV2:         {shape: shapeInOut},
	fnPower:              {shape: shapeOut},
	fnPowerLimit:         {shape: shapeOut},
	fnEnergy:             {shape: shapeOut},
	fnClockGraphics:      {shape: shapeInOut, argument: int32(gonvml.CLOCK_GRAPHICS)},
	fnClockSM:            {shape: shapeInOut, argument: int32(gonvml.CLOCK_SM)},
	fnClockMemory:        {shape: shapeInOut, argument: int32(gonvml.CLOCK_MEM)},
	fnClockVideo:         {shape: shapeInOut, argument: int32(gonvml.CLOCK_VIDEO)},
	fnPerformanceState:   {shape: shapeOut},
	fnReasons:            {shape: shapeOut},
	fnOldReasons:         {shape: shapeOut},
	fnPCIeReplay:         {shape: shapeOut},
	fnPCIeGeneration:     {shape: shapeOut},
	fnPCIeWidth:          {shape: shapeOut},
	fnComputeProcesses:   {shape: shapeList},
	fnGraphicsProcesses:  {shape: shapeList},
	fnMPSProcesses:       {shape: shapeList},
	fnProcessUtilization: {shape: shapeUsages},
}
