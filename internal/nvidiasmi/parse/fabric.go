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

// fabricFields returns the fabric. The elements have the names of the columns.
func fabricFields() []Field {
	field := func(name string, set setter) Field {
		return column("fabric."+name, gpu.GroupFabric, "fabric/"+strings.ReplaceAll(name, ".", "/"), withoutName(name, set))
	}
	condition := func(c gpu.FabricCondition) setter {
		return boolOf(func(b *builder) *gpu.Opt[bool] { return &b.parts.fabric.Conditions[c] })
	}
	return []Field{
		field("state", setFabricState),
		field("status", setFabricStatus),
		field("cliqueId", setFabricClique),
		field("clusterUuid", textOf(func(b *builder) *string { return &b.parts.fabric.cluster })),
		field("health.summary", setFabricSummary),
		field("health.bandwidth", setFabricBandwidth),
		field("health.route_recovery_in_progress", condition(gpu.FabricRouteRecovery)),
		field("health.route_unhealthy", condition(gpu.FabricRouteUnhealthy)),
		field("health.access_timeout_recovery", condition(gpu.FabricAccessTimeoutRecovery)),
		field("health.incorrect_configuration", setFabricConfiguration),
	}
}

// withoutName returns a setter of a cell that repeats a name: driver 535 prints "state  Completed" and "status Success" in the columns of these names.
func withoutName(name string, set setter) setter {
	return func(b *builder, printed []byte) bool {
		if rest, ok := bytes.CutPrefix(bytes.TrimSpace(printed), []byte(name+" ")); ok {
			printed = bytes.TrimSpace(rest)
		}
		if !set(b, printed) {
			b.note("fabric."+name, printed)
		}
		return true
	}
}

// setFabricState reads the names of NVML_GPU_FABRIC_STATE_*. A GPU without a fabric prints N/A or Not Supported.
func setFabricState(b *builder, printed []byte) bool {
	states := map[string]gpu.FabricState{"notstarted": gpu.FabricNotStarted, "inprogress": gpu.FabricInProgress, "completed": gpu.FabricCompleted}
	state, ok := states[letters(printed)]
	if ok {
		b.parts.fabric.State = gpu.Some(state)
	}
	return ok
}

// setFabricStatus reads the result of the registration: Success, or the message of an error. It is not an error of the query.
func setFabricStatus(b *builder, printed []byte) bool {
	if reasonOf(printed) != reasonAbsent {
		b.parts.fabric.status = quoted(inBrackets(printed))
	}
	return true
}

func setFabricClique(b *builder, printed []byte) bool {
	_, ok := integer(printed, unitCount)
	if ok {
		b.parts.fabric.clique = text(printed)
	}
	return ok
}

func setFabricSummary(b *builder, printed []byte) bool {
	word := letters(printed)
	switch word {
	case "healthy", "unhealthy", "limitedcapacity":
		c := &b.parts.fabric.Conditions
		c[gpu.FabricUnhealthy] = gpu.Some(word == "unhealthy")
		c[gpu.FabricLimitedCapacity] = gpu.Some(word == "limitedcapacity")
		return true
	}
	return false
}

func setFabricBandwidth(b *builder, printed []byte) bool {
	switch word := letters(printed); word {
	case "full", "degraded":
		b.parts.fabric.Conditions[gpu.FabricDegradedBandwidth] = gpu.Some(word == "degraded")
		return true
	}
	return false
}

// setFabricConfiguration reads what is incorrect about the configuration. None means that it is correct.
func setFabricConfiguration(b *builder, printed []byte) bool {
	correct := letters(printed) == "none"
	_, ok := freeText(printed)
	if ok = ok || correct; ok {
		b.parts.fabric.Conditions[gpu.FabricIncorrectConfiguration] = gpu.Some(!correct)
	}
	return ok
}

// letters returns a word of the tool without what its versions spell differently: Not Started, NOT_STARTED.
func letters(printed []byte) string {
	return strings.NewReplacer(" ", "", "_", "", "-", "").Replace(strings.ToLower(text(inBrackets(printed))))
}
