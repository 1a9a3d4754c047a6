// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestStateLog(t *testing.T) {
	core, log := observer.New(zapcore.InfoLevel)
	l := newStateLog(zap.New(core), "")
	update := func(node *gpu.Node) (said []string) {
		l.update(node, nil)
		for _, entry := range log.TakeAll() {
			said = append(said, fmt.Sprint(entry.Message, " ", entry.ContextMap()["reason"]))
		}
		return said
	}
	mismatch := gpu.Device{ID: "GPU-1", Faults: []gpu.Fault{{Type: gpu.FaultDriverMismatch, Message: "the driver was replaced"}}}
	assert.Equal(t, []string{"GPU unhealthy: GPU-1 the driver was replaced"}, update(nodeOf(mismatch)))
	assert.Empty(t, update(nodeOf(mismatch)))
	assert.Equal(t, []string{"GPU unhealthy: GPU-1 and 1 other it fell off the bus"}, update(nodeOf(lost("GPU-1"), lost("GPU-2"))),
		"it is failed as before, but for another reason")
	unread := gpu.Device{ID: "GPU-1", Unread: true}
	failed := &gpu.Node{Failure: &gpu.Failure{Reason: gpu.FailureToolMissing, Err: errors.New("no such file")}}
	for _, node := range []*gpu.Node{nodeOf(unread, lost("GPU-2")), failed, nodeOf(), nodeOf(lost("GPU-1"), lost("GPU-2"))} {
		assert.Empty(t, update(node), "nothing new is known")
	}
	assert.Equal(t, []string{"GPU healthy again: GPU-1 and 1 other <nil>"}, update(nodeOf(healthy("GPU-1"), healthy("GPU-2"))))
	assert.Empty(t, update(nodeOf(healthy("GPU-1"), healthy("GPU-2"))))
}

// A placeholder that ends is in no node any more.
func TestStateLogOfPlaceholder(t *testing.T) {
	core, log := observer.New(zapcore.InfoLevel)
	l := newStateLog(zap.New(core), "")
	l.update(nodeOf(lost("n1/0000:13:00.0")), nil)
	l.update(nodeOf(healthy("GPU-1")), []gpu.Event{{Type: gpu.EventStatus, DeviceID: "n1/0000:13:00.0", State: gpu.StateOK}})
	assert.Equal(t, 1, log.FilterMessage("GPU healthy again: n1/0000:13:00.0").Len())
}

// A remote node may invent failed GPUs at each read.
func TestStateLogIsBounded(t *testing.T) {
	core, log := observer.New(zapcore.InfoLevel)
	l := newStateLog(zap.New(core), "")
	for round := range 10 {
		node := nodeOf()
		for i := range maxAbsent {
			d := lost(fmt.Sprintf("GPU-%d-%d", round, i))
			d.Faults[0].Message = words[i%16] + words[i/16%16] + words[i/256]
			node.Devices = append(node.Devices, d)
		}
		log.TakeAll()
		l.update(node, nil)
		assert.LessOrEqual(t, log.Len(), maxLines+1)
	}
	assert.LessOrEqual(t, len(l.history.subjects), 2*maxAbsent)
}
