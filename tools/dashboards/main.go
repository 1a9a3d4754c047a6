// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Command dashboards writes the Grafana dashboards of deploy/grafana: `make dashboards`.
//
//	dashboards DIRECTORY
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: dashboards DIRECTORY")
		os.Exit(2)
	}
	plugins.RegisterDefaultPlugins()
	for _, b := range []board{fleet(), node(), machine(), gpu(), workloads(), health(), collector(), slurm(), bill()} {
		built, err := b.build()
		write(os.Args[1], b.uid, built, err)
	}
	built, err := ledger()
	write(filepath.Join(os.Args[1], "postgresql"), "gpureceiver-ledger", built, err)
}

// write writes a dashboard that was built to <directory>/<uid>.json, or ends the program.
func write(directory, uid string, built dashboard.Dashboard, err error) {
	var text []byte
	if err == nil {
		text, err = checked(built)
	}
	if err == nil {
		err = os.MkdirAll(directory, 0o750) //nolint:gosec // the developer names the directory
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(directory, uid+".json"), append(text, '\n'), 0o600) //nolint:gosec // the developer names the directory
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "dashboard %s: %v\n", uid, err)
		os.Exit(1)
	}
}

// checked returns a dashboard as JSON, after the SDK's types have read it back.
func checked(built dashboard.Dashboard) ([]byte, error) {
	text, err := json.MarshalIndent(built, "", "  ")
	if err != nil {
		return nil, err
	}
	return text, check(text)
}

// check reads a dashboard back by the types that are made from Grafana's schema. Unknown fields are refused, and nothing may be lost.
func check(text []byte) error {
	var read dashboard.Dashboard
	if err := read.UnmarshalJSONStrict(text); err != nil {
		return err
	}
	if err := read.Validate(); err != nil {
		return err
	}
	again, err := json.MarshalIndent(read, "", "  ")
	if err != nil {
		return err
	}
	// The SDK reads the empty list of a row's panels as missing.
	if !bytes.Equal(bytes.ReplaceAll(text, []byte(`"panels": []`), []byte(`"panels": null`)), again) {
		return fmt.Errorf("what was read back differs:\n%s", again)
	}
	return nil
}
