// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package library loads NVIDIA's management library, libnvidia-ml.so.1 (NVML), and calls it.
//
// Functions are called through NVIDIA's Go binding, go-nvml, which this package alone calls: binding.go has the small interface to it.
// Device replaces the methods that are wrong (direct_calls.go says which and why).
//
// A function that the loaded library lacks must not be called: the process would end. Library.Has reports whether it is there, and Calls
// remembers for each device which functions are there, which the device refused, and which failed.
package library
