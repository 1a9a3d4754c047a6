// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

// complete checks that each value of the vocabulary has its own name.
func complete[T fmt.Stringer](t *testing.T, table string, names []T) {
	t.Helper()
	seen := map[string]int{}
	for i, name := range names {
		assert.NotEmpty(t, name.String(), "%s: value %d has no name", table, i)
		if first, twice := seen[name.String()]; twice {
			t.Errorf("%s: values %d and %d are both called %s", table, first, i, name)
		}
		seen[name.String()] = i
	}
}

// word is a name that is a string in its table.
type word string

func (w word) String() string { return string(w) }

func words(names []string) []word {
	all := make([]word, len(names))
	for i, name := range names {
		all[i] = word(name)
	}
	return all
}

func TestTablesAreComplete(t *testing.T) {
	complete(t, "tasks", tasks[:])
	complete(t, "sensors", words(sensors[:]))
	complete(t, "limits", limits[:])
	complete(t, "clock domains", clockDomains[:])
	complete(t, "throttle reasons", throttleReasons[:])
	complete(t, "link types", linkTypes[:])
	complete(t, "error types", words(errorTypes[:]))
	complete(t, "link error types", words(linkErrorTypes[:]))
	complete(t, "fault types", words(faultTypes[:]))
	complete(t, "modes", modes[:])
	complete(t, "bit error types", bitErrorTypes[:])
	complete(t, "fabric states", fabricStates[:])
	complete(t, "fabric conditions", fabricConditions[:])
	complete(t, "peer capabilities", peerCapabilities[:])
	complete(t, "memory types", memoryTypes[:])
	complete(t, "error locations", errorLocations[:])
	complete(t, "bank spares", bankSpares[:])
	complete(t, "PCIe devices", pcieDevices[:])
	complete(t, "PCIe error types", words(pcieErrorTypes[:]))
	complete(t, "states", states[:])
	complete(t, "pipes", pipes[:])
	complete(t, "recovery actions", words(recoveryActions[:gpu.RecoveryOther]))
	complete(t, "presences", presences[:])
	complete(t, "process types", applied(processTypes[gpu.ProcessCompute:]))
	assert.Nil(t, processTypes[gpu.ProcessUnknown], "an unknown type has no attribute")
	complete(t, "sharings", applied(sharings[:]))
	complete(t, "allocators", applied(allocators[:]))
	complete(t, "allocators of records", words(allocatorNames[:]))
}

// A driver's word is passed on in the style of the others, bounded.
func TestUnknownRecoveryAction(t *testing.T) {
	for word, want := range map[string]string{
		"Restart VM": "restart_vm", "77": "77", " GPU-Reset (soft) ": "gpu_reset_soft", "???": "_OTHER", "": "_OTHER",
		strings.Repeat("x", 1000): strings.Repeat("x", maxRecoveryWord), "Neustart für VM": "neustart_f_r_vm",
	} {
		d := gpu.Device{ID: gpuID}
		d.RequestUnknownRecovery(word)
		assert.Equal(t, want, recoveryAction(d.RecoveryAction, d.RecoveryWord))
		points := recordAll(&gpu.Node{Time: readAt, Devices: []gpu.Device{d}})
		requested := otlptest.Of(points, "hw.gpu.recovery.action")
		require.Len(t, requested, 1)
		assert.Equal(t, want, requested[0].Attributes["hw.gpu.recovery.action"])
		assert.Equal(t, "recovery_requested", otlptest.Of(points, "hw.gpu.fault")[0].Attributes["error.type"])
	}
}

// applied returns the attributes that options set on a point.
func applied(options []metadata.MetricAttributeOption) []word {
	all := make([]word, len(options))
	for i, option := range options {
		if option == nil {
			continue
		}
		mb := metadata.NewMetricsBuilder(everything(), newSettings())
		mb.RecordProcessGpuMemoryUsageDataPoint(0, 1, gpuID, 1, option)
		before := mb.Emit().ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().At(0)
		all[i] = word(attributesBeside(before, "hw.id", "process.pid"))
	}
	return all
}

func attributesBeside(m pmetric.Metric, known ...string) string {
	attributes := m.Sum().DataPoints().At(0).Attributes()
	for _, name := range known {
		attributes.Remove(name)
	}
	var texts []string
	for _, value := range attributes.All() {
		texts = append(texts, value.AsString())
	}
	return strings.Join(texts, " ")
}

// These names would be exchanged if the order of a table differed from the vocabulary.
func TestTablesByHand(t *testing.T) {
	assert.Equal(t, "optical_flow", tasks[gpu.TaskOpticalFlow].String())
	assert.Equal(t, "hotspot", sensors[gpu.SensorHotspot])
	assert.Equal(t, "high.critical", limits[gpu.LimitCritical].String())
	assert.Equal(t, "sm", clockDomains[gpu.ClockSM].String())
	assert.Equal(t, "hw_power_brake_slowdown", throttleReasons[gpu.ThrottleHWPowerBrake].String())
	assert.Equal(t, "thermal_external", throttleReasons[gpu.ThrottleThermalExtern].String())
	assert.Equal(t, "xgmi", linkTypes[gpu.XGMI].String())
	assert.Equal(t, "deferred", errorTypes[gpu.ErrorDeferred])
	assert.Equal(t, "replay", linkErrorTypes[gpu.LinkErrorReplay])
	assert.Equal(t, [gpu.NumFaultTypes]string{
		"lost", "reset_required", "hung", "driver_mismatch", "unreachable", "remap_pending", "remap_failed", "drain", "recovery_requested",
		"fabric", "sram_threshold", "bad_page_threshold", "inforom_corrupted",
	}, faultTypes)
	assert.Equal(t, [gpu.NumErrorClasses]string{"corrected", "deferred", "uncorrected", "poison", "non_fatal", "fatal"}, errorClasses)
	assert.Equal(t, "local_link_integrity", linkErrorTypes[gpu.LinkErrorLocalLinkIntegrity])
	assert.Equal(t, "symbol", linkErrorTypes[gpu.LinkErrorSymbol])
	assert.Equal(t, "symbol", bitErrorTypes[gpu.BitErrorSymbol].String())
	assert.Equal(t, "completed", fabricStates[gpu.FabricCompleted].String())
	assert.Equal(t, "incorrect_configuration", fabricConditions[gpu.FabricIncorrectConfiguration].String())
	assert.Equal(t, "limited_capacity", fabricConditions[gpu.FabricLimitedCapacity].String())
	assert.Equal(t, "atomics", peerCapabilities[gpu.PeerAtomics].String())
	assert.Equal(t, "sram", memoryTypes[gpu.MemorySRAM].String())
	assert.Equal(t, "sram_microcontroller", errorLocations[gpu.LocationMicrocontroller].String())
	assert.Equal(t, "partial", bankSpares[gpu.SparesPartial].String())
	assert.Equal(t, "port", pcieDevices[gpu.PCIePort].String())
	assert.Equal(t, "non_fatal", pcieErrorTypes[gpu.PCIeNonFatal])
	assert.Equal(t, "media", tasks[gpu.TaskMedia].String())
	assert.Equal(t, "min", limits[gpu.LimitMin].String())
	assert.Equal(t, "default", limits[gpu.LimitDefault].String())
	assert.Equal(t, "board_limit", throttleReasons[gpu.ThrottleBoardLimit].String())
	assert.Equal(t, "low_utilization", throttleReasons[gpu.ThrottleLowUtilization].String())
	assert.Equal(t, "host_limit_thermal", throttleReasons[gpu.ThrottleHostLimitThermal].String())
	assert.Equal(t, "unspecified", throttleReasons[gpu.ThrottleUnspecified].String())
	assert.Equal(t, "virtualization", modes[gpu.ModeVirtualization].String())
	assert.Equal(t, "failed", resetStates[gpu.ResetFailed].String())
	assert.Equal(t, "predicted_failure", states[gpu.StatePredictedFailure].String())
	assert.Equal(t, "fp16", pipes[gpu.PipeFP16].String())
	assert.Equal(t, "drain_p2p", recoveryActions[gpu.RecoveryDrainP2P])
	assert.Equal(t, "unmanaged", presences[gpu.Unmanaged].String())
	assert.Equal(t, []word{"compute", "graphics", "compute_graphics", "mps"}, applied(processTypes[gpu.ProcessCompute:]))
	assert.Equal(t, []string{"compute", "graphics", "compute_graphics", "mps"}, processTypeNames[gpu.ProcessCompute:])
	assert.Equal(t, []word{"exclusive", "time_slicing", "mps", "shared_claim", "replicas", "fraction"}, applied(sharings[:]))
	assert.Equal(t, []word{"device_plugin", "dra", "slurm"}, applied(allocators[:]))
	assert.Equal(t, applied(sharings[:]), words(sharingNames[:]), "records and points have the same words")
	assert.Equal(t, applied(allocators[:]), words(allocatorNames[:]), "records and points have the same words")
}
