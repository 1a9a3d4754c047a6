// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package deviceid knows the names that the vendors' software gives to GPUs: the resources of device plugins and the IDs of their
// devices, the drivers of dynamic resource allocation (DRA) with the names and attributes of their devices, CDI device names and
// device nodes.
//
// Every name becomes a key, and an Index finds the devices of a node by their keys. A new platform is a new row: its vendor in
// vendors (vendors.go), the form of its device IDs in forms (plugin_ids.go), its attributes in pciAttributes (dra.go). The keys of
// its devices are added in index.go.
package deviceid
