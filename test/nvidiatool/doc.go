// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package nvidiatool compares the nvml scraper with NVIDIA's own nvidia-smi, read by the nvidia_smi scraper: both on the simulated library,
// value by value. run.sh downloads the tool and runs the tests.
package nvidiatool
