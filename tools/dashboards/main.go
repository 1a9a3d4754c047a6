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
		if err := write(os.Args[1], b); err != nil {
			fmt.Fprintf(os.Stderr, "dashboard %s: %v\n", b.uid, err)
			os.Exit(1)
		}
	}
}

// write writes the dashboard to <directory>/<uid>.json, after the SDK's types have read it back.
func write(directory string, b board) error {
	built, err := b.build()
	if err != nil {
		return fmt.Errorf("build: %w", err)
	}
	text, err := json.MarshalIndent(built, "", "  ")
	if err != nil {
		return err
	}
	if err := check(text); err != nil {
		return fmt.Errorf("check: %w", err)
	}
	return os.WriteFile(filepath.Join(directory, b.uid+".json"), append(text, '\n'), 0o600) //nolint:gosec // the developer names the directory
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
