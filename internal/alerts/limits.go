// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "fmt"

// limits are the limits of the alerts. docs/operate/alerts.md has a table with the source of each.
var limits = map[string]string{
	"busy without work":            "0.95",
	"power near idle":              "0.25",
	"memory controller idle":       "0.02",
	"link bytes a second":          "1e7",
	"share of the median clock":    "0.9",
	"bad pages":                    "0.8",
	"busy":                         "0.5",
	"corrected errors a minute":    "60",
	"degrees left of memory":       "0",
	"GPUs for a median":            "4",
	"link errors":                  "10",
	"share of the day":             "0.1",
	"times the median":             "10",
	"PCI Express replays a minute": "8",
	"degrees left":                 "5",
	"memory":                       "0.97",
	"idle":                         "0.95",
	"age of a read":                "300",
	"queue":                        "0.8",
}

func limitOf(name string) (string, error) {
	value, ok := limits[name]
	if !ok {
		return "", fmt.Errorf("there is no limit %q", name)
	}
	return value, nil
}
