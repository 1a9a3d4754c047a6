// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"cmp"
	"time"

	"go.uber.org/zap"
)

// Settings configure a Fleet. The zero value of each has a default.
type Settings struct {
	Now      func() time.Time // default time.Now
	Instance string           // view.Snapshot.Instance
	Logger   *zap.Logger      // default: no log

	HistoryFor    time.Duration // how far the history goes back; default an hour
	HistoryPoints int           // of each GPU; default 50
	GoneAfter     time.Duration // how long a silent node is shown; default 7 days

	IdleThreshold float64       // the utilization up to which a held device is idle; default 0
	IdleAfter     time.Duration // how long it must be so; default 5 minutes

	MaxNodes     int // default 2,000
	MaxGPUs      int // packages and partitions; default 20,000
	MaxProcesses int // half of the uses of GPUs by processes and containers; default 200,000
	MaxEvents    int // default 1,000
}

func (s Settings) withDefaults() Settings {
	if s.Now == nil {
		s.Now = time.Now
	}
	if s.Logger == nil {
		s.Logger = zap.NewNop()
	}
	s.HistoryFor = cmp.Or(s.HistoryFor, time.Hour)
	s.HistoryPoints = cmp.Or(s.HistoryPoints, 50)
	s.GoneAfter = cmp.Or(s.GoneAfter, 7*24*time.Hour)
	s.IdleAfter = cmp.Or(s.IdleAfter, 5*time.Minute)
	s.MaxNodes = cmp.Or(s.MaxNodes, 2_000)
	s.MaxGPUs = cmp.Or(s.MaxGPUs, 20_000)
	s.MaxProcesses = cmp.Or(s.MaxProcesses, 200_000)
	s.MaxEvents = cmp.Or(s.MaxEvents, 1_000)
	return s
}
