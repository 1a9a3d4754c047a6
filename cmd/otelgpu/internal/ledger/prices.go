// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"math"
	"os"
	"strings"

	"sigs.k8s.io/yaml"
)

// Prices is what GPU-hours and energy cost.
type Prices struct {
	Currency string             `json:"currency"`
	GPUHour  map[string]float64 `json:"gpu_hour"` // by the beginning of the model; "" is for all others
	KWh      float64            `json:"kwh"`
}

// ReadPrices reads a file of prices.
func ReadPrices(path string) (*Prices, error) {
	content, err := os.ReadFile(path) //nolint:gosec // the user names the file
	if err != nil {
		return nil, fmt.Errorf("read the prices: %w", err)
	}
	var p Prices
	if err := yaml.UnmarshalStrict(content, &p); err != nil {
		return nil, fmt.Errorf("read the prices in %s: %w; it has currency, gpu_hour (a price by model) and kwh", path, err)
	}
	for model, price := range p.GPUHour {
		if price < 0 || math.IsInf(price, 0) {
			return nil, fmt.Errorf("read the prices in %s: gpu_hour: %s costs %v; give a price of 0 or more", path, model, price)
		}
	}
	return &p, nil
}

// gpuHour returns the price of a model, under the longest name with which the model begins.
func (p *Prices) gpuHour(model string) (float64, bool) {
	longest, price, found := -1, 0.0, false
	for name, value := range p.GPUHour {
		if strings.HasPrefix(model, name) && len(name) > longest {
			longest, price, found = len(name), value, true
		}
	}
	return price, found
}
