// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package amdgpusim writes what the amdgpu kernel driver publishes, for machines without one: a tree of directories, links
// and files as they are under /sys and /proc, with values that are made up, in the driver's true formats. What reads the
// driver's files, this project's code and AMD's own tools alike, reads them as if the driver had written them.
//
// Nothing in it is a recording, and no demonstration may show its values as those of a GPU.
package amdgpusim
