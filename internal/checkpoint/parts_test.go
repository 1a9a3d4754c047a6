// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package checkpoint_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/checkpoint"
	"github.com/otelgpu/gpureceiver/internal/checkpoint/checkpointtest"
)

// partsOf returns the parts of a source, by name.
func partsOf(s *checkpoint.Store, source string) map[string]string {
	got := map[string]string{}
	s.Parts(source, func(name string, data []byte) error {
		got[name] = string(data)
		return nil
	})
	return got
}

// load loads the state of a source, and its parts.
func load(t *testing.T, s *checkpoint.Store, source string) map[string]string {
	t.Helper()
	var known any
	s.Load(t.Context(), source, &known)
	return partsOf(s, source)
}

func TestPartsOutliveTheProcess(t *testing.T) {
	disk := &checkpointtest.Storage{}
	s, _, _ := open(t, disk)
	s.Put(t.Context(), "pods", 1, none, none, checkpoint.Part{Name: "pod/a", Value: 1}, checkpoint.Part{Name: "pod/b", Value: 2})
	s.Put(t.Context(), "pods", 2, none, message("b is gone"), checkpoint.Part{Name: "pod/b"}, checkpoint.Part{Name: "pod/c", Value: "3"})
	s.Put(t.Context(), "others", 1, none, none, checkpoint.Part{Name: "pod/a", Value: 4})

	s, _, log := open(t, disk.Copy())
	assert.Equal(t, map[string]string{"pod/a": "1", "pod/c": `"3"`}, load(t, s, "pods"))
	assert.Empty(t, partsOf(s, "pods"), "once")
	assert.Equal(t, map[string]string{"pod/a": "4"}, load(t, s, "others"))
	assert.Zero(t, log.Len(), log.All())
	assert.Equal(t, []string{"b is gone"}, drain(t, s))
}

// A part without a state that can be used is removed.
func TestPartsWithoutState(t *testing.T) {
	for name, state := range map[string]string{
		"none": "", "garbage": "{", "another version": `{"version":2,"known":1}`, "stale": `{"version":1,"written":"2020-01-01T00:00:00Z","known":1}`,
		"another kind": `{"version":1,"written":"2999-01-01T00:00:00Z","known":"text"}`,
	} {
		t.Run(name, func(t *testing.T) {
			disk := &checkpointtest.Storage{}
			require.NoError(t, disk.Set(t.Context(), "part/pods/a", []byte("1")))
			require.NoError(t, disk.Set(t.Context(), "part/unnamed", []byte("1")))
			if state != "" {
				require.NoError(t, disk.Set(t.Context(), "state/pods", []byte(state)))
			}
			s, _, _ := open(t, disk)
			known := 0
			s.Load(t.Context(), "pods", &known)
			assert.Empty(t, partsOf(s, "pods"))
			s.Put(t.Context(), "pods", 1, none, none)
			assert.Equal(t, []string{"state/pods"}, disk.Keys())
		})
	}
}

// A part that its source cannot use is removed, with one line for all.
func TestPartsThatAreRefused(t *testing.T) {
	disk := &checkpointtest.Storage{}
	s, _, _ := open(t, disk)
	s.Put(t.Context(), "pods", 1, none, none, checkpoint.Part{Name: "a", Value: 1}, checkpoint.Part{Name: "b", Value: 1}, checkpoint.Part{Name: "c", Value: 1})
	s, _, log := open(t, disk)
	s.Parts("pods", func(name string, _ []byte) error {
		if name == "c" {
			return nil
		}
		return errors.New("no pod")
	})
	require.Equal(t, 1, log.Len())
	assert.EqualValues(t, 2, log.All()[0].ContextMap()["entries"])
	s.Put(t.Context(), "pods", 1, none, none)
	assert.ElementsMatch(t, []string{"part/pods/c", "state/pods"}, disk.Keys())
}

// Parts are bounded individually and together. If a part is not stored, its older state is not kept either, and this is logged once.
func TestPartsAreBounded(t *testing.T) {
	disk := &checkpointtest.Storage{}
	s, _, log := open(t, disk)
	s.Put(t.Context(), "pods", 1, none, none, checkpoint.Part{Name: "a", Value: 1})
	s.Put(t.Context(), "pods", 1, none, none, checkpoint.Part{Name: "a", Value: strings.Repeat("x", 1<<20)}, checkpoint.Part{Name: "b", Value: func() {}})
	assert.Equal(t, []string{"state/pods"}, disk.Keys())
	require.Equal(t, 2, log.Len(), log.All())

	disk = &checkpointtest.Storage{}
	s, _, log = open(t, disk)
	var large []checkpoint.Part
	for i := range 300 {
		large = append(large, checkpoint.Part{Name: strconv.Itoa(i), Value: strings.Repeat("x", 250<<10)})
	}
	s.Put(t.Context(), "pods", 1, none, none, large...)
	assert.Equal(t, 1, log.Len())
	assert.Len(t, disk.Keys(), 262+1, "64 MiB")
	s.Put(t.Context(), "pods", 1, none, none, checkpoint.Part{Name: "0"}, checkpoint.Part{Name: "new", Value: large[0].Value})
	assert.Contains(t, disk.Keys(), "part/pods/new", "there is room again")

	disk = &checkpointtest.Storage{}
	s, _, log = open(t, disk)
	var many []checkpoint.Part
	for i := range 33_000 {
		many = append(many, checkpoint.Part{Name: strconv.Itoa(i), Value: i})
	}
	s.Put(t.Context(), "pods", 1, none, none, many...)
	assert.Equal(t, 1, log.Len())
	assert.Len(t, disk.Keys(), 32<<10+1)
	s, _, _ = open(t, disk)
	assert.Len(t, load(t, s, "pods"), 32<<10)
}

// A storage that cannot list its keys keeps no parts: they could not be found again.
func TestPartsNeedKeys(t *testing.T) {
	disk := &checkpointtest.Storage{}
	s := checkpoint.Open(t.Context(), noWalk{disk}, zap.NewNop(), func(context.Context, int) {})
	s.Put(t.Context(), "pods", 1, none, none, checkpoint.Part{Name: "a", Value: time.Now()})
	assert.Equal(t, []string{"state/pods"}, disk.Keys())
	assert.Empty(t, load(t, s, "pods"))
}

// batches notes how many operations the last batch had.
type batches struct {
	*checkpointtest.Storage
	operations int
}

func (b *batches) Batch(ctx context.Context, ops ...*storage.Operation) error {
	b.operations = len(ops)
	return b.Storage.Batch(ctx, ops...)
}

// While a storage fails, parts that come and go do not add up. What it has had is removed when it works again.
func TestPartsThatComeAndGoUnwritten(t *testing.T) {
	disk := &batches{Storage: &checkpointtest.Storage{}}
	s := checkpoint.Open(t.Context(), disk, zap.NewNop(), func(context.Context, int) {})
	s.Put(t.Context(), "pods", 1, none, none, checkpoint.Part{Name: "pod/old", Value: 1})
	disk.Fail(errors.New("no space left on device"))
	s.Put(t.Context(), "pods", 2, none, none, checkpoint.Part{Name: "pod/old"}, checkpoint.Part{Name: "pod/new", Value: 1})
	before := disk.operations
	for i := range 100 {
		name := "pod/" + strconv.Itoa(i)
		s.Put(t.Context(), "pods", 2, none, none, checkpoint.Part{Name: name, Value: 1})
		s.Put(t.Context(), "pods", 2, none, none, checkpoint.Part{Name: name})
		s.Put(t.Context(), "pods", 2, none, none, checkpoint.Part{Name: name + " between two"})
	}
	assert.Equal(t, before, disk.operations)
	disk.Fail(nil)
	s.Put(t.Context(), "pods", 3, none, none)

	s, _, _ = open(t, disk.Copy())
	assert.Equal(t, map[string]string{"pod/new": "1"}, load(t, s, "pods"))
}
