// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/amdsmi"
	"github.com/otelgpu/gpureceiver/internal/amdsmi/rocmsmi"
	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/compare"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi"
	gpureceiver "github.com/otelgpu/gpureceiver/receiver"
)

// toolTimeout bounds one read by a tool: some take seconds for each GPU.
const toolTimeout = time.Minute

// Comparison is what a source and a vendor's tool have for the same GPUs.
type Comparison struct {
	Source string        `json:"source"` // the scraper's key
	Tool   string        `json:"tool"`   // its path
	Rows   []compare.Row `json:"rows"`
}

// ours is what a source of this machine has.
type ours struct {
	vendor gpu.Vendor
	values compare.Values
}

// compareLocal sets what the sources of this machine have beside what the vendors' tools print. tool is the path of one, or empty.
func compareLocal(ctx context.Context, receiver, tool string, e *gpureceiver.Examination) ([]Section, []Comparison) {
	before := readValues(ctx, e)
	type result struct {
		path   string
		values compare.Values
		err    error
	}
	results := map[string]result{}
	for _, key := range slices.Sorted(maps.Keys(before)) {
		path, values, err := readTool(ctx, before[key].vendor, tool)
		results[key] = result{path, values, err}
	}
	after := readValues(ctx, e)
	var sections []Section
	var comparisons []Comparison
	for _, key := range slices.Sorted(maps.Keys(before)) {
		s := Section{Name: receiver + ": " + key + " and the vendor's tool"}
		r := results[key]
		switch {
		case len(before[key].values) == 0 && len(r.values) == 0 && len(after[key].values) == 0:
			s.add(Absent, "compare", "there is no GPU to compare")
		case r.err != nil:
			s.add(Failed, "compare", r.err.Error())
		default:
			c := Comparison{Source: key, Tool: r.path, Rows: compare.Nodes(before[key].values, r.values, after[key].values)}
			s.addComparison(&c)
			comparisons = append(comparisons, c)
		}
		sections = append(sections, s)
	}
	return sections, comparisons
}

func (s *Section) addComparison(c *Comparison) {
	differ := compare.Count(c.Rows, compare.Differs)
	state := OK
	if differ > 0 {
		state = Failed
	}
	s.add(state, "compare", fmt.Sprintf("%s: %d values are the same, %d differ, %d only %s reports, %d only the tool reports", c.Tool,
		compare.Count(c.Rows, compare.Same), differ, compare.Count(c.Rows, compare.OnlyOurs), c.Source, compare.Count(c.Rows, compare.OnlyTool)))
}

// readValues reads each source of this machine.
func readValues(ctx context.Context, e *gpureceiver.Examination) map[string]ours {
	all := map[string]ours{}
	e.ReadLocal(ctx, func(read gpureceiver.LocalRead) {
		all[read.Scraper] = ours{vendor: read.Vendor, values: compare.Of(read.Node)}
	})
	return all
}

// readTool reads a vendor's GPUs by its tool, and says which.
func readTool(ctx context.Context, vendor gpu.Vendor, configured string) (string, compare.Values, error) {
	tool, path, err := findTool(vendor, configured)
	if err != nil {
		return "", nil, err
	}
	runner, err := command.NewLocal(tool, path)
	if err != nil {
		return path, nil, fmt.Errorf("run %s: %w", path, err)
	}
	var source gpu.Source
	switch tool {
	case command.AMDSMI:
		source = amdsmi.New(&amdsmi.Config{}, runner, gpu.GroupAll)
	case command.ROCmSMI:
		source = rocmsmi.New(&rocmsmi.Config{}, runner, gpu.GroupAll)
	default:
		source = nvidiasmi.New(nvidiasmi.DefaultConfig(), runner, gpu.GroupAll)
	}
	defer func() { _ = source.Close() }()
	ctx, cancel := context.WithTimeout(ctx, toolTimeout)
	defer cancel()
	node, err := source.Read(ctx)
	switch {
	case err != nil:
		return path, nil, err
	case node.Failure != nil:
		return path, nil, node.Failure
	}
	return path, compare.Of(node), nil
}

// toolsOf are a vendor's tools, the preferred one first.
func toolsOf(vendor gpu.Vendor) []command.Tool {
	if vendor == gpu.AMD {
		return []command.Tool{command.AMDSMI, command.ROCmSMI}
	}
	return []command.Tool{command.NvidiaSMI}
}

// IsTool reports whether a path is the path of a tool whose values can be compared, by its name.
func IsTool(path string) bool {
	return slices.ContainsFunc(append(toolsOf(gpu.NVIDIA), toolsOf(gpu.AMD)...), func(tool command.Tool) bool {
		return command.ValidatePath(tool, path) == nil
	})
}

// findTool returns the vendor's tool: the configured one if it is the vendor's, else one in the usual places, else one in PATH.
func findTool(vendor gpu.Vendor, configured string) (command.Tool, string, error) {
	tools := toolsOf(vendor)
	for _, tool := range tools {
		if configured != "" && filepath.Base(configured) == string(tool) {
			return tool, configured, nil
		}
	}
	for _, tool := range tools {
		if path, err := command.Find(tool); err == nil {
			return tool, path, nil
		}
	}
	for _, tool := range tools {
		if path, err := exec.LookPath(string(tool)); err == nil && filepath.IsAbs(path) {
			return tool, path, nil
		}
	}
	return "", "", fmt.Errorf("%w: none of %v was found in the usual places or in PATH; install the tool, or give its path with --tool", command.ErrNotFound, tools)
}
