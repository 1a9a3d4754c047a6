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

// A remote node may invent thousands of GPUs with other problems at each read. It must not fill the log of the collector.
func TestLogOfManyProblems(t *testing.T) {
	core, log := observer.New(zapcore.InfoLevel)
	l := NewProblemLog(zap.New(core))
	many := func(round string) []gpu.Problem {
		var problems []gpu.Problem
		for i := range 10_000 {
			problems = append(problems, gpu.Problem{Device: fmt.Sprintf("GPU-%s-%d", round, i), What: "power", Err: errors.New("no")})
		}
		return problems
	}
	l.Update(many("a"), true)
	assert.Equal(t, maxLogged+1, log.Len())
	last := log.All()[log.Len()-1]
	assert.Equal(t, int64(10_000-maxLogged), last.ContextMap()["problems"])
	assert.Equal(t, 10_000, l.Unreadable(), "they are counted all the same")
	log.TakeAll()
	l.Update(many("a"), true)
	assert.Zero(t, log.Len())
	l.Update(many("b"), true)
	assert.LessOrEqual(t, log.Len(), 2*(maxLogged+1))
}
