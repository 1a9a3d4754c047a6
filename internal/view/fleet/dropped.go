// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import "go.uber.org/zap"

// drop is why something that was sent is not shown.
type drop uint8

const (
	dropForeign    drop = iota // points and log records that are not shown: of other receivers, or of metrics that the view does not have
	dropInvalid                // points without a possible value, a time or an identity
	dropUnknown                // points of a device without hw.gpu.info, or of no node
	dropDuplicate              // points of a device that another node has
	dropNodeLimit              // points of a node above Settings.MaxNodes
	dropGPULimit               // points of a device above Settings.MaxGPUs
	dropUseLimit               // points of a process or container above Settings.MaxProcesses
	dropFieldLimit             // points with more kinds of labels than a fleet has
	drops
)

// dropNames are what Fleet.Dropped calls the reasons.
var dropNames = [drops]string{"foreign", "invalid", "unknown", "duplicate", "node_limit", "gpu_limit", "use_limit", "field_limit"}

var dropMessages = [drops]string{
	dropInvalid:    "Some points are invalid and not shown",
	dropDuplicate:  "Two nodes report the same GPU",
	dropNodeLimit:  "Some nodes are not shown",
	dropGPULimit:   "Some GPUs are not shown",
	dropUseLimit:   "Some processes or containers are not shown",
	dropFieldLimit: "Some values are not shown",
}

// dropped counts what is not shown, and logs each reason once.
type dropped struct {
	counts [drops]uint64
	logger *zap.Logger
}

func (d *dropped) add(why drop, count int, fields ...zap.Field) {
	if d.counts[why] == 0 && dropMessages[why] != "" {
		d.logger.Warn(dropMessages[why], fields...)
	}
	d.counts[why] += uint64(count)
}

// tooMany are the fields of a limit of the exporter's configuration that was reached.
func tooMany(items, setting string, limit int) []zap.Field {
	return []zap.Field{
		zap.Int(setting, limit), zap.String("reason", "there are more "+items+" than "+setting), zap.String("remedy", "raise "+setting+" of the gpu_view exporter"),
	}
}
