// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package get

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"

	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/display"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// asJSON returns the entries as the API sent them.
func asJSON(items []json.RawMessage) ([]byte, error) {
	text, err := json.MarshalIndent(items, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write JSON: %w", err)
	}
	return append(display.CleanJSON(text), '\n'), nil
}

// asCSV returns the lines as the API sent them, without what a terminal would obey.
func asCSV(lines [][]string) ([]byte, error) {
	var b bytes.Buffer
	for _, line := range lines {
		for i := range line {
			line[i] = gpu.CleanText(line[i])
		}
	}
	if err := csv.NewWriter(&b).WriteAll(lines); err != nil {
		return nil, fmt.Errorf("write CSV: %w", err)
	}
	return b.Bytes(), nil
}
