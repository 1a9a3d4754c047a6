// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver

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

// A node that is not to be trusted can have something else go wrong with thousands of GPUs at each read. It does not fill the log of
// the collector that reads the others.
func TestLogOfManyProblems(t *testing.T) {
	core, log := observer.New(zapcore.InfoLevel)
	l := newProblemLog(zap.New(core))
	many := func(round string) []gpu.Problem {
		var problems []gpu.Problem
		for i := range 10_000 {
			problems = append(problems, gpu.Problem{Device: fmt.Sprintf("GPU-%s-%d", round, i), What: "power", Err: errors.New("no")})
		}
		return problems
	}
	l.update(many("a"), true)
	assert.Equal(t, mostSaid+1, log.Len())
	last := log.All()[log.Len()-1]
	assert.Equal(t, int64(10_000-mostSaid), last.ContextMap()["problems"])
	assert.Equal(t, 10_000, l.unreadable(), "they are counted all the same")
	log.TakeAll()
	l.update(many("a"), true)
	assert.Zero(t, log.Len())
	l.update(many("b"), true)
	assert.LessOrEqual(t, log.Len(), 2*(mostSaid+1))
}
