// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package amdgpusim writes the files that the amdgpu kernel driver publishes, for machines without one: a tree of directories, links and
// files as under /sys and /proc, with invented values in the driver's true formats. Readers of the driver's files, both this project's code
// and AMD's own tools, can use it in place of the driver's files.
//
// None of it is a recording, and no demonstration may present its values as values of a real GPU.
package amdgpusim
