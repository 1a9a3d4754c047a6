// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package columns

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/view"
)

// The recorded H200 reports both limits and margins. Under load its hottest spot is hotter than its sensor.
func TestHot(t *testing.T) {
	gpuAt := func(celsius float64, margins map[string]float64) GPU {
		limits := map[string]float64{"max": 87, "high.degraded": 89, "high.critical": 95}
		return &view.GPU{Temperatures: []view.Temperature{{Sensor: "memory"}, {Sensor: "gpu", Celsius: new(celsius), Limits: limits}}, Margins: margins}
	}
	assert.Equal(t, Normal, hot(gpuAt(83, nil)))
	assert.Equal(t, Warn, hot(gpuAt(84, nil)))
	assert.Equal(t, Warn, hot(gpuAt(76, map[string]float64{"max": 3, "high.degraded": 5, "high.critical": 11})))
	assert.Equal(t, Normal, hot(gpuAt(85, map[string]float64{"max": 4, "high.degraded": 6, "high.critical": 12})))
}
