// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "time"

type options struct {
	binary, config, log, otlp, endpoint string
	simulated                           bool
	duration                            time.Duration
}
