// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/record"
)

// stateLog logs when GPUs become unhealthy, when the reason changes, and when they are healthy again: one line for all devices with the
// same state and reason. The events of changed states carry the same, but a collector need not have a logs pipeline.
type stateLog struct {
	logger  *zap.Logger
	suffix  string
	history history
}

func newStateLog(logger *zap.Logger, suffix string) *stateLog {
	return &stateLog{logger: logger, suffix: suffix, history: newHistory()}
}

// update logs the states of a read and its changes: a placeholder that ends is not in any of its devices.
func (l *stateLog) update(node *gpu.Node, changes []gpu.Event) {
	var unhealthy, healthy lines
	present := make(map[string]bool, len(node.Devices))
	for i := range node.Devices {
		d := &node.Devices[i]
		present[d.ID] = true
		if d.Unread {
			continue
		}
		state := d.State()
		if state == gpu.StateOK {
			l.healthy(&healthy, d.ID, d.Name)
			continue
		}
		name, reason := record.StateName(state), stateMessage(d)
		kind := name + ": " + wordsOf(reason)
		if l.history.changed(subject{device: d.ID}, kind) {
			unhealthy.add(line{
				level: zapcore.WarnLevel, event: "GPU unhealthy", kind: kind, reason: reason, fields: []zap.Field{zap.String("hw.state", name)},
			}, d.ID, d.Name)
		}
	}
	for i := range changes {
		if e := &changes[i]; e.State == gpu.StateOK && !present[e.DeviceID] {
			l.healthy(&healthy, e.DeviceID, e.Name)
		}
	}
	l.history.forget(func(s subject) bool { return present[s.device] || node.Failure != nil })
	if more := unhealthy.write(l.logger, l.suffix); more > 0 {
		l.logger.Warn("Further unhealthy GPUs are not logged"+l.suffix, zap.Int("not_logged", more))
	}
	healthy.write(l.logger, l.suffix)
}

func (l *stateLog) healthy(out *lines, id, name string) {
	if l.history.changed(subject{device: id}, "") {
		out.add(line{level: zapcore.InfoLevel, event: "GPU healthy again"}, id, name)
	}
}
