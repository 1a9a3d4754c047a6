// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Command diagrams draws the .dot files of a directory as .svg files beside them: `make generate`. Graphviz runs in it, as WebAssembly.
//
//	diagrams DIRECTORY
package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goccy/go-graphviz"
)

// style has the colours of light and dark, by the classes in the sources.
//
//go:embed style.css
var style string

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: diagrams DIRECTORY")
		os.Exit(2)
	}
	sources, err := filepath.Glob(filepath.Join(os.Args[1], "*.dot"))
	if err == nil && len(sources) == 0 {
		err = fmt.Errorf("there is no .dot file in %s", os.Args[1])
	}
	for _, source := range sources {
		if err == nil {
			err = draw(context.Background(), source)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "diagrams:", err)
		os.Exit(1)
	}
}

// draw writes the picture of a source.
func draw(ctx context.Context, source string) error {
	content, err := os.ReadFile(source) //nolint:gosec // the developer names the directory
	if err != nil {
		return err
	}
	g, err := graphviz.New(ctx)
	if err != nil {
		return fmt.Errorf("start Graphviz: %w", err)
	}
	graph, err := graphviz.ParseBytes(content)
	if err != nil {
		return fmt.Errorf("parse %s: %w", source, err)
	}
	var drawn bytes.Buffer
	if err := g.Render(ctx, graph, graphviz.SVG, &drawn); err != nil {
		return fmt.Errorf("draw %s: %w", source, err)
	}
	picture, err := styled(drawn.String())
	if err != nil {
		return fmt.Errorf("draw %s: %w", source, err)
	}
	return os.WriteFile(strings.TrimSuffix(source, ".dot")+".svg", []byte(picture), 0o644) //nolint:gosec // every user may see a picture of the documentation
}

// styled returns Graphviz's picture, from its element svg on, with the style.
func styled(drawn string) (string, error) {
	_, picture, found := strings.Cut(drawn, "<svg ")
	head, body, closed := strings.Cut(picture, ">")
	if !found || !closed || !strings.Contains(body, `class="node`) {
		return "", fmt.Errorf("there is no picture in %q", drawn)
	}
	return "<svg " + head + ">\n<style>\n" + style + "</style>" + body, nil
}
