// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package device reads one NVIDIA GPU and its MIG instances through NVML.
//
// A GPU is found again by its UUID even if the driver is replaced: it remembers its identity, the supported queries, and the time up to which
// its samples were read.
//
// A quantity is a number that a field of nvmlDeviceGetFieldValues or one function returns. It is a row with its group, its unit and its place in
// gpu.Device, in the table of its topic. quantities.go explains the rows and joins the tables. The files of the topics refer back to it for the rows
// that are read by name. A value that depends on more than one number has a reader. readers.go lists what a read of a GPU consists of.
//
// A GPU is read by one goroutine at a time, and that goroutine may stay in a call forever. Methods that others may call meanwhile are documented so.
package device
