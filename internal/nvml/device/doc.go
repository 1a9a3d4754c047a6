// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package device reads one NVIDIA GPU and its MIG instances through NVML.
//
// A GPU is found again by its UUID whatever happens to the driver: it remembers what it is, what it can be asked, and up to where its
// samples were read. Each quantity has a file. readers.go lists what a read of a GPU consists of; gauges.go is the table of the gauges that
// one function reads, and adding one takes a line there; fields.go is the table of what is read in one call of nvmlDeviceGetFieldValues.
//
// A GPU is read by one goroutine at a time, and that goroutine may stay in a call forever. Methods that others may call meanwhile are documented so.
package device
