// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package fractions parses what schedulers and device plugins that share GPUs write into the labels and annotations of pods: which GPU,
// and which part of it, a container was given.
//
//	fractions.go   the part of a GPU
//	keys.go        which labels and annotations are needed
//	kai.go         KAI and Run:ai: reservation pods and their tenants
//	vgpu.go        HAMi and Volcano's vGPU
//	gpushare.go    Aliyun's gpushare
package fractions
