// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// fabric is what is printed of a GPU in the NVLink fabric.
type fabric struct {
	gpu.Fabric
	status          string
	clique, cluster string
}

// noCluster is the UUID of the cluster of a GPU without a cluster, such as the GPU of a single machine.
const noCluster = "00000000-0000-0000-0000-000000000000"

// addFabric adds the fabric. Status, clique, cluster and health mean something only once the registration is complete, and the last three if it
// was successful.
func (b *builder) addFabric() {
	d, f := &b.gpu.Device, &b.parts.fabric
	d.Fabric.State = f.State
	switch {
	case f.State != gpu.Some(gpu.FabricCompleted):
	case f.status != "" && f.status != "Success":
		d.Fabric.Failure = f.status
	default:
		d.Fabric.Conditions = f.Conditions
		d.Info.FabricClique = f.clique
		if f.cluster != noCluster {
			d.Info.FabricCluster = f.cluster
		}
	}
}

// fabricSetters returns the setters of the fabric, by the quantity: the names of the columns are those with fabric. before them.
func fabricSetters() map[string]setter {
	return map[string]setter{
		"state":  setFabricState,
		"status": setFabricStatus,
		"cliqueId": func(b *builder, printed []byte) {
			if _, ok := integer(printed, unitCount); ok {
				b.parts.fabric.clique = text(printed)
				return
			}
			b.note("fabric.cliqueId", printed)
		},
		"clusterUuid":                       textOf("fabric.clusterUuid", func(b *builder) *string { return &b.parts.fabric.cluster }),
		"health.summary":                    setFabricSummary,
		"health.bandwidth":                  setFabricBandwidth,
		"health.route_recovery_in_progress": fabricCondition("route_recovery_in_progress", gpu.FabricRouteRecovery),
		"health.route_unhealthy":            fabricCondition("route_unhealthy", gpu.FabricRouteUnhealthy),
		"health.access_timeout_recovery":    fabricCondition("access_timeout_recovery", gpu.FabricAccessTimeoutRecovery),
		"health.incorrect_configuration":    setFabricConfiguration,
	}
}

// setFabricState reads the names of NVML_GPU_FABRIC_STATE_*. A GPU without a fabric prints N/A or Not Supported.
func setFabricState(b *builder, printed []byte) {
	states := map[string]gpu.FabricState{"notstarted": gpu.FabricNotStarted, "inprogress": gpu.FabricInProgress, "completed": gpu.FabricCompleted}
	if state, ok := states[letters(printed)]; ok {
		b.parts.fabric.State = gpu.Some(state)
		return
	}
	b.note("fabric.state", printed)
}

// setFabricStatus reads the result of the registration: Success, or the message of an error. It is not an error of the query.
func setFabricStatus(b *builder, printed []byte) {
	if r := reasonOf(printed); r != reasonAbsent {
		b.parts.fabric.status = quoted(inBrackets(printed))
	}
}

func setFabricSummary(b *builder, printed []byte) {
	word := letters(printed)
	switch word {
	case "healthy", "unhealthy", "limitedcapacity":
		c := &b.parts.fabric.Conditions
		c[gpu.FabricUnhealthy] = gpu.Some(word == "unhealthy")
		c[gpu.FabricLimitedCapacity] = gpu.Some(word == "limitedcapacity")
	default:
		b.note("fabric.health.summary", printed)
	}
}

func setFabricBandwidth(b *builder, printed []byte) {
	switch word := letters(printed); word {
	case "full", "degraded":
		b.parts.fabric.Conditions[gpu.FabricDegradedBandwidth] = gpu.Some(word == "degraded")
	default:
		b.note("fabric.health.bandwidth", printed)
	}
}

func fabricCondition(name string, condition gpu.FabricCondition) setter {
	return boolOf("fabric.health."+name, func(b *builder) *gpu.Opt[bool] { return &b.parts.fabric.Conditions[condition] })
}

// setFabricConfiguration reads what is incorrect about the configuration. None means that it is correct.
func setFabricConfiguration(b *builder, printed []byte) {
	if letters(printed) == "none" {
		b.parts.fabric.Conditions[gpu.FabricIncorrectConfiguration] = gpu.Some(false)
		return
	}
	if _, ok := freeText(printed); ok {
		b.parts.fabric.Conditions[gpu.FabricIncorrectConfiguration] = gpu.Some(true)
		return
	}
	b.note("fabric.health.incorrect_configuration", printed)
}

// letters returns a word of the tool without what its versions spell differently: Not Started, NOT_STARTED.
func letters(printed []byte) string {
	return strings.NewReplacer(" ", "", "_", "", "-", "").Replace(strings.ToLower(text(inBrackets(printed))))
}

// xmlFabric returns the elements, whose names are the names of the columns.
func xmlFabric() map[string]*element {
	top, health := map[string]*element{}, map[string]*element{}
	for name, set := range fabricSetters() {
		if name, ok := strings.CutPrefix(name, "health."); ok {
			health[name] = leaf(set)
		} else {
			top[name] = leaf(set)
		}
	}
	top["health"] = branch(health)
	return map[string]*element{"fabric": branch(top)}
}

// withoutName returns a setter of a cell that repeats a name: driver 535 prints "state  Completed" and "status Success" in the columns of these names.
func withoutName(name string, set setter) setter {
	return func(b *builder, printed []byte) {
		if rest, ok := bytes.CutPrefix(bytes.TrimSpace(printed), []byte(name+" ")); ok {
			printed = bytes.TrimSpace(rest)
		}
		set(b, printed)
	}
}

// fabricFields returns the columns of the fabric.
func fabricFields() []Field {
	setters := fabricSetters()
	var fields []Field
	for _, name := range []string{
		"state", "status", "cliqueId", "clusterUuid", "health.summary", "health.bandwidth", "health.route_recovery_in_progress", "health.route_unhealthy",
		"health.access_timeout_recovery", "health.incorrect_configuration",
	} {
		fields = append(fields, Field{[]string{"fabric." + name}, gpu.GroupFabric, false, withoutName(name, setters[name])})
	}
	return fields
}
