// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"k8s.io/klog/v2"
)

// What client-go says goes to the logger: errors once in a while, all else for debugging, and what is verbose not at all.
func TestLogTo(t *testing.T) {
	defer klog.CaptureState().Restore()
	core, logs := observer.New(zap.DebugLevel)
	logTo(zap.New(core))

	klog.FromContext(t.Context()).Info("Warning: watch ended with error", "type", "*v1.Pod", "err", errors.New("very short watch"))
	klog.Errorf("Unable to rotate token: %v", "no such file")
	klog.Errorf("Unable to rotate token: %v", "no such file")
	klog.Background().WithName("leases").WithValues("lock", "ns/name").Error(errors.New("timeout"), "Failed to renew")
	klog.V(4).Info("more than is asked for")
	klog.FromContext(t.Context()).V(8).Info("Request Headers", "Authorization", "Bearer secret")
	klog.Flush()

	type line struct {
		level   zapcore.Level
		logger  string
		message string
		fields  map[string]any
	}
	var got []line
	for _, e := range logs.All() {
		got = append(got, line{e.Level, e.LoggerName, e.Message, e.ContextMap()})
	}
	require.Len(t, got, 4)
	assert.Equal(t, line{
		zap.DebugLevel, "", "client-go: Warning: watch ended with error", map[string]any{"type": "*v1.Pod", "err": "very short watch"},
	}, got[0])
	assert.Equal(t, zap.WarnLevel, got[1].level)
	assert.Contains(t, got[1].message, "client-go: Unable to rotate token: no such file")
	assert.Equal(t, zap.DebugLevel, got[2].level, "said before")
	assert.Equal(t, line{
		zap.WarnLevel, "leases", "client-go: Failed to renew", map[string]any{"lock": "ns/name", "error": "timeout"},
	}, got[3])
}

func TestSaid(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	s := &said{now: func() time.Time { return now }, last: map[string]time.Time{}}
	assert.True(t, s.news("a"))
	assert.False(t, s.news("a"))
	now = now.Add(sayAgain)
	assert.True(t, s.news("a"))
	for i := range 3 * maxSaid {
		assert.True(t, s.news(string(rune('A'+i))+"x"))
		assert.LessOrEqual(t, len(s.last), maxSaid)
	}
}
