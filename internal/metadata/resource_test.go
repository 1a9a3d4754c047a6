// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"reflect"
	"strings"
	"testing"

	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/pdatatest/pmetrictest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/filter"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/receiver/receivertest"
)

// A metric of processes that EmitProcess does not know would stay behind, and go out with another resource.
func TestEmitProcessKnowsEveryMetric(t *testing.T) {
	var names []string
	config := reflect.TypeFor[MetricsConfig]()
	for i := range config.NumField() {
		if name := config.Field(i).Tag.Get("mapstructure"); strings.HasPrefix(name, "process.") {
			names = append(names, name)
		}
	}
	assert.Equal(t, []string{"process.gpu.memory.usage", "process.gpu.utilization"}, names)
}

func TestEmitProcessIsEmitForResource(t *testing.T) {
	for name, change := range map[string]func(*ResourceAttributeConfig){
		"all":      func(*ResourceAttributeConfig) {},
		"included": func(c *ResourceAttributeConfig) { c.MetricsInclude = []filter.Config{{Strict: "1"}} },
		"excluded": func(c *ResourceAttributeConfig) { c.MetricsExclude = []filter.Config{{Strict: "1"}} },
	} {
		t.Run(name, func(t *testing.T) {
			config := NewDefaultMetricsBuilderConfig()
			change(&config.ResourceAttributes.ProcessPid)
			emit := func(how func(*MetricsBuilder, pcommon.Resource)) *MetricsBuilder {
				mb := NewMetricsBuilder(config, receivertest.NewNopSettings(Type), WithStartTime(1))
				for pid := range int64(3) {
					mb.RecordProcessGpuMemoryUsageDataPoint(2, 3, "GPU-a", pid)
					mb.RecordProcessGpuUtilizationDataPoint(2, 0.5, AttributeHwGpuTaskGeneral, "GPU-a", pid)
					rb := mb.NewResourceBuilder()
					rb.SetProcessPid(pid)
					how(mb, rb.Emit())
				}
				rb := mb.NewResourceBuilder()
				how(mb, rb.Emit()) // nothing was recorded
				return mb
			}
			expected := emit(func(mb *MetricsBuilder, r pcommon.Resource) { mb.EmitForResource(TakeResource(r)) }).Emit()
			actual := emit((*MetricsBuilder).EmitProcess).Emit()
			require.NoError(t, pmetrictest.CompareMetrics(expected, actual))
			assert.Equal(t, map[string]int{"all": 3, "included": 1, "excluded": 2}[name], actual.ResourceMetrics().Len())
		})
	}
}
