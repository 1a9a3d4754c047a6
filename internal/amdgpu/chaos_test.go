// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/sysfs"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
	"github.com/otelgpu/gpureceiver/test/histories"
)

// chaos is a machine whose files are corrupted at random.
type chaos struct {
	t       *testing.T
	history *histories.History
	kfd     bool // a file of the compute driver was corrupted
	rnd     *rand.Rand
	machine *amdgpusim.Machine
	tree    *amdgpusim.Tree
	source  *Source
	clock   *clock
	files   map[string]map[string][]byte // of each card, as they were written
	others  map[string][]byte            // of the compute driver and of processes
	whole   map[string]string            // what was reported of each card without faults
	spoiled map[string]bool              // cards
	answers map[string]func() error      // of each card, to a read of a file; nil: the file
}

// readFile reads a file unless its GPU answers with an error.
func (c *chaos) readFile(path string) ([]byte, error) {
	address, _ := splitPath(path)
	if answer := c.answers[address]; answer != nil {
		if err := answer(); err != nil {
			return nil, err
		}
	}
	return sysfs.Read(path)
}

// TestChaos: whatever the files of a GPU hold, and whatever error a read of them returns, nothing impossible is reported, and other GPUs
// are not affected.
func TestChaos(t *testing.T) {
	names := slices.Sorted(maps.Keys(amdgpusim.Machines()))
	histories.Each(t, histories.Plan{Seed: 0, Histories: 21, Rounds: 6}, func(t *testing.T, h *histories.History) {
		name := names[h.Seed%uint64(len(names))]
		h.Note("machine %s", name)
		c := &chaos{t: t, history: h, rnd: h.Rand, machine: amdgpusim.Machines()[name]()}
		c.tree, c.source, c.clock = simulate(t, c.machine, gpu.GroupAll)
		c.start()
		for range h.Rounds {
			for range 1 + c.rnd.IntN(12) {
				c.spoil()
			}
			c.look()
		}
		c.restore()
		c.look()
		for address := range c.whole {
			assert.Equal(t, c.whole[address], c.fromFiles(read(t, c.source), address), "without faults again; %s", h)
		}
	})
}

func (c *chaos) start() {
	c.files, c.whole, c.spoiled = map[string]map[string][]byte{}, map[string]string{}, map[string]bool{}
	c.answers, c.source.readFile = map[string]func() error{}, c.readFile
	node := read(c.t, c.source)
	require.Empty(c.t, node.Problems)
	for _, card := range c.machine.Cards {
		c.files[card.Address] = c.under(card.Dir())
		c.whole[card.Address] = c.fromFiles(node, card.Address)
	}
	c.others = c.under("sys/devices/virtual/kfd/kfd")
	maps.Copy(c.others, c.under("proc"))
}

// under returns the files below a directory.
func (c *chaos) under(dir string) map[string][]byte {
	result := map[string][]byte{}
	require.NoError(c.t, filepath.WalkDir(c.tree.Path(dir), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		result[path], err = os.ReadFile(path)
		return err
	}))
	return result
}

// fromFiles returns what a node reports of a card by its files alone, without what depends on earlier reads.
func (*chaos) fromFiles(node *gpu.Node, address string) string {
	only := gpu.Node{}
	for i := range node.Devices {
		if d := node.Devices[i]; d.Info.PCIAddress == address {
			d.Throttle, d.Energy = [gpu.NumThrottleReasons]gpu.Throttle{}, gpu.Counter[float64]{}
			only.Devices = append(only.Devices, d)
		}
	}
	return dump(&only)
}

// spoil corrupts one file.
func (c *chaos) spoil() {
	files := c.others
	if card := c.machine.Cards[c.rnd.IntN(len(c.machine.Cards))]; c.rnd.IntN(5) > 0 {
		files = c.files[card.Address]
		c.spoiled[card.Address] = true
		if c.rnd.IntN(3) == 0 {
			c.refuse(card.Address)
			return
		}
	}
	paths := slices.Sorted(maps.Keys(files))
	path := paths[c.rnd.IntN(len(paths))]
	c.kfd = c.kfd || strings.Contains(path, "/kfd/")
	before := files[path]
	text := slices.Clone(before)
	switch c.rnd.IntN(7) {
	case 0:
		_ = os.Remove(path)
		c.history.Note("%s", "removed "+path)
		return
	case 1:
		text = text[:c.rnd.IntN(len(text)+1)]
	case 2:
		for i := range text {
			text[i] = byte(c.rnd.UintN(256))
		}
	case 3:
		for range min(3, len(text)) {
			text[c.rnd.IntN(len(text))] ^= 1 << c.rnd.UintN(8)
		}
	case 4:
		for i := range text {
			text[i] = 0xff
		}
	case 5:
		numbers := []string{"-1", "0", "65535", "4294967295", "9223372036854775807", "18446744073709551615", "1e300", "99999999999999999999999", "N/A"}
		text = []byte(numbers[c.rnd.IntN(len(numbers))] + "\n")
	default: // as it was
	}
	require.NoError(c.t, os.WriteFile(path, text, 0o600))
	c.history.Note("%s", path+": "+strconv.Quote(string(text[:min(len(text), 60)])))
}

// refuse makes a card answer some reads of its files with errors.
func (c *chaos) refuse(address string) {
	own := rand.New(rand.NewPCG(c.rnd.Uint64(), 2))
	answers := []error{syscall.EBUSY, syscall.EIO, syscall.EPERM, syscall.EINVAL, syscall.ENODEV, syscall.ETIME, syscall.ENODATA}
	answer, one := answers[own.IntN(len(answers))], own.IntN(10)
	c.history.Note("%s", address+" answers "+answer.Error()+" in "+strconv.Itoa(one)+" of 9")
	c.answers[address] = func() error {
		if own.IntN(9) < one {
			return answer
		}
		return nil
	}
}

func (c *chaos) restore() {
	for _, files := range append(slices.Collect(maps.Values(c.files)), c.others) {
		for path, text := range files {
			require.NoError(c.t, os.WriteFile(path, text, 0o600))
		}
	}
	clear(c.answers)
}
