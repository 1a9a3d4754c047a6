// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package doctor

func (*Section) addKernel() {}

func (*Section) addUser() {}

func (*Section) addDeviceNodes() {}

func deviceNodes() []deviceNode { return nil }
