// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"k8s.io/klog/v2"
)

// client-go's errors become warnings, its other messages debug messages. A repeated message and a verbose one are dropped.
func TestRedirectKlog(t *testing.T) {
	defer klog.CaptureState().Restore()
	core, logs := observer.New(zap.DebugLevel)
	redirectKlog(zap.New(core))

	klog.FromContext(t.Context()).Info("Warning: watch ended with error", "type", "*v1.Pod", "err", errors.New("very short watch"))
	klog.Errorf("Unable to rotate token: %v", "no such file")
	klog.Errorf("Unable to rotate token: %v", "no such file")
	klog.Background().WithName("leases").WithValues("lock", "ns/name").Error(errors.New("timeout"), "Failed to renew")
	klog.V(4).Info("above the verbosity")
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
	require.Len(t, got, 3)
	assert.Equal(t, line{
		zap.DebugLevel, "", "client-go: Warning: watch ended with error", map[string]any{"type": "*v1.Pod", "err": "very short watch"},
	}, got[0])
	assert.Equal(t, zap.WarnLevel, got[1].level)
	assert.Contains(t, got[1].message, "client-go: Unable to rotate token: no such file")
	assert.Equal(t, line{
		zap.WarnLevel, "leases", "client-go: Failed to renew", map[string]any{"lock": "ns/name", "error": "timeout"},
	}, got[2])
}
