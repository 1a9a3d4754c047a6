// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

const (
	measurements = "docs/operate/measurements.md" // scripts/measure.sh writes it
	sizing       = "docs/operate/performance.md"
	asSystemd    = `as systemd starts it \| `
	amount       = `([\d.]+ [KM]i?B)`
	milliseconds = `([\d.]+ ms)`
	cores        = `([\d.]+ cores)`
	ofOne        = `(?s)1 replicas, 1 shards: .*?` // agentless collector
)

// figures are the measured quantities that pages other than the measurements name.
var figures = []version{
	{"a message", measurements, asSystemd + `\d+ \| ` + amount, []place{{sizing, `\*\*Network:\*\* ` + amount}}},
	{"a message with gzip", measurements, `over gRPC, gzip \| \d+ \| ` + amount, []place{{sizing, `or ` + amount + ` with gzip`}}},
	{"CPU of a read", measurements, asSystemd + `\d+ \| [^|]+ \| ` + milliseconds, []place{{sizing, `\*\*CPU:\*\* ` + milliseconds}}},
	{"memory above an empty collector", measurements, asSystemd + `\d+ \| [^|]+ \| [^|]+ \| ` + amount, []place{{sizing, amount + ` more than an empty collector`}}},
	{"resident memory", measurements, asSystemd + `\d+ \| [^|]+ \| [^|]+ \| [^|]+ \| ` + amount, []place{
		{sizing, `\*\*Memory:\*\* ` + amount}, {"docs/compare/README.md", `a whole collector is ` + amount + ` resident`},
	}},
	{"heap of gpu_view", measurements, `gpu_view adds ` + amount, []place{{sizing, `gpu_view` + "`" + ` added ` + amount}}},
	{"CPU of a message with gpu_view", measurements, `gpu_view adds .* and ` + milliseconds + ` of CPU`, []place{{sizing, `and ` + milliseconds + ` of CPU to each message`}}},
	{"CPU from outside", measurements, ofOne + `Mean: collectors ` + cores, []place{{sizing, `One collector took ` + cores}}},
	{"memory from outside", measurements, ofOne + `Anonymous memory of all collectors: ` + amount, []place{{sizing, `and at most ` + amount + ` of anonymous memory`}}},
	{"CPU of the API server", measurements, ofOne + `API server ` + cores, []place{{sizing, `The API server took ` + cores}}},
	{"CPU of the API server before", measurements, ofOne + `API server [\d.]+ cores, ([\d.]+) before`, []place{{sizing, `before the execs it took ([\d.]+) cores`}}},
	{"elements of the page", measurements, `8,000 GPUs: (\d+) elements`, []place{
		{sizing, `has (\d+) elements in Chromium`}, {"docs/operate/page.md", `the page has (\d+) elements`},
	}},
}
