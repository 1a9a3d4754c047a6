// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/otelgpu/gpureceiver/internal/energy"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// listAgain is after how many reads the files of a GPU are listed again: the driver may add some while it starts.
const listAgain = 64

// board is one GPU. While its task runs, all of it but task belongs to the task.
type board struct {
	task *task

	root    string
	address string
	want    gpu.Group
	wake    bool
	decode  *decoder
	access  accessFunc

	// What the reader hands over before a read.
	name  string // card1
	nodes []kfdNode
	alias []string // the names of the GPU's DRM nodes
	now   time.Time

	dir      *dir // /sys/class/drm/cardN/device
	link     *dir // the function that the link to the host ends at
	stamp    stamp
	epoch    uint64
	reads    int
	files    files
	identity identity
	known    bool // all of identity was read
	buf      []byte
	metrics  metrics
	energy   energy.Meter
	slept    int64 // ms
	throttle residency
	parts    []*partition
	told     int    // partitions that the table told of
	toldIn   string // this mode

	out outcome

	// What was last read of it; it belongs to the reader.
	last remembered
	seen bool
}

// outcome is what a read of a board leaves.
type outcome struct {
	problems   problems
	device     gpu.Device
	partitions []gpu.Device
	gone       bool // there is no such card any more
	asleep     bool
	tried      int // files for which the driver asks the GPU
	failed     int // of them, that there are, and could not be read
	lastErr    error
	starved    error // why nothing of it is to be believed
}

// accessFunc reads a file; tests put failures in its place.
type accessFunc func(d *dir, name string, buf []byte) ([]byte, error)

// newBoard returns a GPU whose task reads it.
func newBoard(s *Source, address string) *board {
	b := &board{
		root: s.cfg.RootPath, address: address, want: s.want, wake: s.cfg.WakeDevices, decode: s.decode, access: s.access, epoch: s.epoch,
		buf: make([]byte, 16<<10),
	}
	b.task = &task{run: b.read, release: b.close}
	return b
}

func (b *board) close() {
	b.dir.close()
	b.link.close()
	for _, p := range b.parts {
		p.close()
	}
	b.dir, b.link, b.parts = nil, nil, nil
}

func (b *board) path() string { return filepath.Join(b.root, "sys/class/drm", b.name) }

// read reads the GPU into out.
func (b *board) read() {
	b.out = outcome{
		problems:   problems{list: b.out.problems.list[:0]},
		partitions: b.out.partitions[:0],
		device:     gpu.Device{Errors: b.out.device.Errors[:0], Fans: b.out.device.Fans[:0]},
	}
	if err := b.open(); err != nil {
		b.note(err)
		b.out.gone = true
		b.out.lastErr = err
		return
	}
	d := &b.out.device
	power := b.powerState()
	b.out.asleep = !b.wake && power == asleep
	b.identify()
	b.describe(d)
	if b.out.asleep {
		b.energy.Doubt() // without power its counter starts from 0
		d.Memory.Limit = b.identity.memory
		b.divide()
		b.out.problems.add("asleep", fmt.Errorf("amdgpu: %s: %w", b.title(), errAsleep))
		return
	}
	before := len(b.out.problems.list)
	b.readings(d)
	b.divide()
	if b.out.failed < b.out.tried {
		return
	}
	if power == broken {
		d.AddFault(gpu.FaultUnreachable, "the kernel could not wake it up (runtime power management), see its log")
		return
	}
	if b.out.failed == 0 {
		return
	}
	if b.powerState() == asleep {
		b.energy.Doubt()
		b.out.problems.list = b.out.problems.list[:before]
		b.out.problems.add("asleep", fmt.Errorf("amdgpu: %s: %w", b.title(), errRefuses))
		return
	}
	d.AddFault(gpu.FaultUnreachable, "none of its readings can be had: "+b.out.lastErr.Error())
}

// title is the GPU's name in the text of an error.
func (b *board) title() string {
	if b.identity.unique != "" {
		return b.identity.unique
	}
	return b.address
}

// open opens the directory of the GPU, anew where the driver has made another.
func (b *board) open() error {
	now, err := stampOf(b.path())
	if err != nil {
		return err
	}
	b.reads++
	if b.dir != nil && now == b.stamp {
		if b.reads%listAgain == 0 {
			b.files = b.list()
		}
		return nil
	}
	first := b.dir == nil
	b.close()
	d, err := openDir(filepath.Join(b.path(), "device"))
	if err != nil {
		return err
	}
	if err := b.same(); err != nil {
		d.close()
		return err
	}
	if !first || b.epoch > 0 {
		b.epoch++
	}
	b.dir, b.stamp = d, now
	b.identity, b.known = identity{}, false
	b.metrics, b.energy, b.throttle = metrics{}, energy.Meter{}, residency{}
	b.told, b.toldIn = 0, ""
	b.link = b.openLink()
	b.files = b.list()
	return nil
}

// same tells whether the DRM device is still that of this GPU: a driver loaded anew may number them otherwise.
func (b *board) same() error {
	d, err := openDir(filepath.Dir(b.path()))
	if err != nil {
		return err
	}
	defer d.close()
	target, err := d.link(b.name, b.buf)
	if err != nil {
		return err
	}
	if parts := strings.Split(string(target), "/"); !slices.Contains(parts, b.address) {
		return fmt.Errorf("%s is now the device of another GPU", b.name)
	}
	return nil
}

// file reads a file of the GPU that is listed; what is the quantity that it is read for.
func (b *board) file(what, name string) ([]byte, bool) {
	if name == "" {
		return nil, false
	}
	return b.fileOf(b.dir, what, name)
}

func (b *board) fileOf(d *dir, what, name string) ([]byte, bool) {
	text, err := b.access(d, name, b.buf)
	if err == nil && len(text) == 0 {
		if name == b.files.metrics {
			return nil, false // how the driver says of older GPUs that it makes no table
		}
		err = errEmpty
	}
	if err != nil {
		b.refuse(what, name, err)
		return nil, false
	}
	if asksGPU(name) {
		b.out.tried++
	}
	return text, true
}

// asksGPU tells the files for which the driver asks the GPU's firmware. What it or the kernel knows by itself, such as the memory, the
// cap or the link, says nothing of whether the GPU still answers.
func asksGPU(name string) bool {
	return name == "gpu_metrics" || strings.HasSuffix(name, "_busy_percent") || strings.HasSuffix(name, "_average") ||
		strings.HasSuffix(name, "_input")
}

// refuse notes that a file could not be read, unless that is the driver's way to say that there is no such reading.
func (b *board) refuse(what, name string, err error) {
	b.note(err)
	if unsupported(err) {
		return
	}
	err = readError(b.title(), name, err)
	b.out.problems.add(what, err)
	if asksGPU(name) {
		b.out.tried++
		b.out.failed++
		b.out.lastErr = err
	}
}

// garbled notes that a file was read and not understood.
func (b *board) garbled(what, name string) {
	b.out.problems.add(what, readError(b.title(), name, errGarbage))
}

// number reads a file that holds a number and nothing else.
func (b *board) number(what, name string) gpu.Opt[int64] {
	text, ok := b.file(what, name)
	if !ok {
		return gpu.Opt[int64]{}
	}
	v, ok := parseInt(text)
	if !ok {
		b.garbled(what, name)
		return gpu.Opt[int64]{}
	}
	return gpu.Some(v)
}

// scaled reads a number of which there are per to the SI unit.
func (b *board) scaled(what, name string, per, low, high float64) gpu.Opt[float64] {
	v, ok := b.number(what, name).Get()
	if !ok {
		return gpu.Opt[float64]{}
	}
	return within(float64(v)/per, low, high)
}

// bytes reads a size of memory.
func (b *board) bytes(name string) gpu.Opt[int64] {
	v := b.number("memory", name)
	if n, ok := v.Get(); !ok || n < 0 || n > mostBytes {
		return gpu.Opt[int64]{}
	}
	return v
}
