// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// newProblemLog returns a ProblemLog with a clock that only the test moves, and the reasons that it has logged since the last call.
func newProblemLog() (l *ProblemLog, now *time.Time, reasons func() []string) {
	core, log := observer.New(zapcore.InfoLevel)
	l = NewProblemLog(zap.New(core), "")
	now = new(time.Time)
	*now = time.Unix(1_000_000, 0)
	l.history.now = func() time.Time { return *now }
	return l, now, func() []string {
		var all []string
		for _, entry := range log.TakeAll() {
			reason, failed := entry.ContextMap()["reason"].(string)
			if !failed {
				reason = "over"
			}
			all = append(all, reason)
		}
		return all
	}
}

func ofPods(err error) []gpu.Problem {
	return []gpu.Problem{{Kind: gpu.ProblemKubernetes, What: "pods", Err: err}}
}

// The log has the present reason: what is to be done about it is another thing.
func TestChangedReasonIsLogged(t *testing.T) {
	tooMany := func(retry int) error {
		return fmt.Errorf("kube: watch pods: the API server answers 429 Too Many Requests, try again later: retry after %ds", retry)
	}
	expired := errors.New("kube: watch pods: Unauthorized; check the credentials")
	refused := fmt.Errorf("kube: watch pods: failed to list: %w", &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED})
	refusedWatch := fmt.Errorf("kube: watch pods: %w", &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED})
	untrusted := fmt.Errorf("kube: watch pods: %w; check the certificate authority", x509.UnknownAuthorityError{})
	for name, tt := range map[string]struct {
		read []error
		want []int // the reads whose reason is logged
	}{
		"expired token after 429":                 {[]error{tooMany(1), tooMany(1), expired, expired}, []int{0, 2}},
		"untrusted certificate after refusal":     {[]error{refused, untrusted, untrusted}, []int{0, 1}},
		"another number":                          {[]error{tooMany(1), tooMany(2), tooMany(30)}, []int{0}},
		"another request through this connection": {[]error{refused, refusedWatch, refused}, []int{0}},
	} {
		t.Run(name, func(t *testing.T) {
			l, _, reasons := newProblemLog()
			added, _, addedReasons := newProblemLog()
			var want []string
			for _, i := range tt.want {
				want = append(want, tt.read[i].Error())
			}
			for _, err := range tt.read {
				l.Update(ofPods(err), true)
				added.Add(ofPods(err)[0])
			}
			assert.Equal(t, want, reasons())
			assert.Equal(t, want, addedReasons(), "of reads that failed as a whole")
			assert.Equal(t, 1, l.Unreadable())
		})
	}
}

// A reason that alternates, and a problem that comes and goes, get few lines, and in the end the present reason.
func TestAlternatingReasonIsLoggedRarely(t *testing.T) {
	a, b := errors.New("too many requests"), errors.New("unavailable")
	for name, second := range map[string][]gpu.Problem{"another reason": ofPods(b), "over": nil} {
		t.Run(name, func(t *testing.T) {
			l, now, reasons := newProblemLog()
			day := func() (said []string) {
				for i := range 24 * 120 {
					*now = now.Add(30 * time.Second)
					if i%2 == 0 {
						l.Update(ofPods(a), true)
					} else {
						l.Update(second, true)
					}
					said = append(said, reasons()...)
				}
				return said
			}
			first := day()
			assert.Less(t, len(first), 40)
			assert.Len(t, first[:4], 4, "the first changes are logged")
			assert.Less(t, len(day()), 26)
			for range 121 {
				*now = now.Add(30 * time.Second)
				l.Update(second, true)
			}
			last := slices.Concat(first, reasons())
			want := "over"
			if second != nil {
				want = b.Error()
			}
			assert.Equal(t, want, last[len(last)-1], "what lasts is logged")

			*now = now.Add(forgetAfter + time.Second)
			l.Update(second, true)
			reasons()
			for range 2 {
				l.Update(ofPods(a), true)
				l.Update(second, true)
			}
			assert.Len(t, reasons(), 4, "after a quiet time changes are logged immediately again")
		})
	}
}

// A reason that is new is logged immediately, also while others alternate. New reasons at each read are bounded.
func TestNewReasonIsNotHeldBack(t *testing.T) {
	l, _, reasons := newProblemLog()
	busy, list := errors.New("too many requests"), errors.New("failed to list: too many requests")
	for range 20 {
		l.Update(ofPods(busy), true)
		l.Update(ofPods(list), true)
	}
	assert.Len(t, reasons(), 5)
	expired := errors.New("check the credentials")
	l.Update(ofPods(expired), true)
	assert.Equal(t, []string{expired.Error()}, reasons())
	for _, word := range words {
		l.Update(ofPods(errors.New(word)), true)
	}
	assert.Len(t, reasons(), maxKinds-3)
}

// Two problems of one subject are one line with both reasons, in whatever order they come.
func TestSeveralReasons(t *testing.T) {
	l, _, reasons := newProblemLog()
	a, b := ofPods(errors.New("no pod of a"))[0], ofPods(errors.New("no pod of b"))[0]
	l.Update([]gpu.Problem{a, b, a}, true)
	l.Update([]gpu.Problem{b, a}, true)
	assert.Equal(t, []string{"no pod of a; no pod of b"}, reasons())
	l.Update([]gpu.Problem{b}, true)
	assert.Equal(t, []string{"no pod of b"}, reasons())
	var many []gpu.Problem
	for _, word := range words {
		many = append(many, ofPods(errors.New(word))[0])
	}
	l.Update(many, true)
	assert.Equal(t, []string{strings.Join(words[:maxReasons], "; ")}, reasons())
	assert.Equal(t, 1, l.Unreadable())
}

// A remote node may invent thousands of GPUs with other problems at each read. It must not fill the log of the collector, nor its memory.
func TestLogOfManyProblems(t *testing.T) {
	core, log := observer.New(zapcore.InfoLevel)
	l := NewProblemLog(zap.New(core), "")
	many := func(round string) (devices, whats []gpu.Problem) {
		for i := range 10_000 {
			devices = append(devices, gpu.Problem{Device: fmt.Sprintf("GPU-%s-%d", round, i), What: "power", Err: errors.New("no")})
			whats = append(whats, gpu.Problem{What: fmt.Sprintf("%s-%d", round, i), Err: errors.New("no")})
		}
		return devices, whats
	}
	devices, whats := many("a")
	l.Update(devices, true)
	require.Equal(t, 1, log.Len())
	assert.Equal(t, "Read failed: power of GPU-a-0 and 9999 others", log.All()[0].Message)
	assert.Len(t, log.All()[0].ContextMap()["hw.id"], maxDevices)
	assert.Equal(t, int64(10_000-maxDevices), log.All()[0].ContextMap()["devices_not_listed"])
	assert.Equal(t, 10_000, l.Unreadable(), "all are counted")
	log.TakeAll()
	l.Update(devices, true)
	assert.Zero(t, log.Len())

	l.Update(whats, true)
	assert.LessOrEqual(t, log.Len(), maxLines+2)
	rest := log.FilterMessage("Further failed reads are not logged").All()
	require.Len(t, rest, 1)
	assert.Equal(t, int64(10_000-maxLines), rest[0].ContextMap()["not_logged"])
	for round := range 5 {
		log.TakeAll()
		_, others := many(strconv.Itoa(round))
		l.Update(others, true)
		assert.LessOrEqual(t, log.Len(), 2*(maxLines+1))
	}
	assert.LessOrEqual(t, len(l.history.subjects), 10_000+maxAbsent)
}

// A message has one line, whatever a remote tool prints.
func TestMessageIsPrintable(t *testing.T) {
	core, log := observer.New(zapcore.InfoLevel)
	l := NewProblemLog(zap.New(core), " on node n1")
	id := "GPU-\n" + strings.Repeat("é", 100)
	l.Update([]gpu.Problem{{Device: id, What: "power", Err: errors.New("no")}}, true)
	require.Equal(t, 1, log.Len())
	assert.Equal(t, "Read failed: power of GPU-?"+strings.Repeat("é", maxMessageID-5)+" on node n1", log.All()[0].Message)
	assert.Equal(t, []any{id}, log.All()[0].ContextMap()["hw.id"])
}
