// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const (
	informationBytes = 4096
)

// information is what the kernel's driver says of a GPU in /proc/driver/nvidia/gpus/<address>/information, also of one for
// which NVML gives no handle.
type information struct {
	model, uuid, vbios, address string
	minor                       gpu.Opt[int]
	excluded                    bool // by the administrator
}

// parseInformation reads lines of the form "GPU UUID: \t GPU-…". The driver writes question marks for what it does not know.
func parseInformation(said string) information {
	var info information
	for line := range strings.Lines(text(said)) {
		key, value, ok := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		if !ok || value == "" || strings.Contains(value, "??") {
			continue
		}
		switch strings.TrimSpace(key) {
		case "Model":
			info.model = value
		case "GPU UUID":
			if strings.HasPrefix(value, "GPU-") {
				info.uuid = value
			}
		case "Video BIOS":
			info.vbios = value
		case "Bus Location":
			info.address = normalAddress(value)
		case "Device Minor":
			if n, err := strconv.Atoi(value); err == nil && n >= 0 {
				info.minor = gpu.Some(n)
			}
		case "GPU Excluded":
			info.excluded = strings.EqualFold(value, "yes")
		}
	}
	return info
}

// driverFiles reads what the kernel's driver says of GPUs. To say it the driver may ask the GPU, and it is asked of those that
// do not answer: reads are waited for as long as one may take that works, and there is one at most for each GPU.
type driverFiles struct {
	read func(procRoot, address string) (information, bool) // a field, so that a test can have it hang

	mu      sync.Mutex
	known   map[string]informationOrNone // what a GPU's file said when it was last read
	pending map[string]bool              // it is being read
}

type informationOrNone struct {
	information
	ok bool
}

// filePatience is much longer than the driver takes where it need not wait for a GPU.
const filePatience = 500 * time.Millisecond

func newDriverFiles() *driverFiles {
	return &driverFiles{read: readInformation, known: map[string]informationOrNone{}, pending: map[string]bool{}}
}

// ask reads what the driver says of the GPUs at these addresses, in half of the time that is left at most. What it said of others is
// forgotten: another GPU may come to be there.
func (d *driverFiles) ask(ctx context.Context, procRoot string, addresses []string) {
	d.mu.Lock()
	maps.DeleteFunc(d.known, func(address string, _ informationOrNone) bool { return !slices.Contains(addresses, address) })
	if len(addresses) == 0 {
		d.mu.Unlock()
		return
	}
	read := make(chan struct{}, len(addresses))
	begun := 0
	for _, address := range addresses {
		if d.pending[address] {
			continue
		}
		d.pending[address] = true
		begun++
		go func() {
			info, ok := d.read(procRoot, address)
			d.mu.Lock()
			d.known[address] = informationOrNone{info, ok}
			delete(d.pending, address)
			d.mu.Unlock()
			read <- struct{}{}
		}()
	}
	d.mu.Unlock()
	wait := filePatience
	if deadline, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(deadline)/2)
	}
	patience := time.NewTimer(wait)
	defer patience.Stop()
	for range begun {
		select {
		case <-read:
		case <-patience.C:
			return
		}
	}
}

// of tells what the driver says of a GPU that it was asked for, or said when it last answered; false where it says nothing.
func (d *driverFiles) of(address string) (information, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	last, read := d.known[address]
	return last.information, last.ok || !read // what does not answer is there
}

// readInformation tells what the driver says of the GPU at an address; false where it says nothing.
func readInformation(procRoot, address string) (information, bool) {
	said, err := readSmall(filepath.Join(procRoot, "driver/nvidia/gpus", address, "information"), informationBytes)
	if err != nil {
		return information{}, false
	}
	info := parseInformation(said)
	info.address = address
	return info, true
}

// normalAddress writes a PCI address as the kernel does: 0000:1b:00.0. NVML and nvidia-smi write eight digits of domain and
// capitals. What is no PCI address yields the empty string.
func normalAddress(s string) string {
	parts := strings.FieldsFunc(s, func(r rune) bool { return r == ':' || r == '.' })
	if len(parts) != 4 {
		return ""
	}
	var n [4]uint64
	for i, bits := range [4]int{32, 8, 8, 4} {
		v, err := strconv.ParseUint(parts[i], 16, bits)
		if err != nil {
			return ""
		}
		n[i] = v
	}
	return address(n[0], n[1], n[2], n[3])
}

func address(domain, bus, device, function uint64) string {
	return hex(domain, 4) + ":" + hex(bus, 2) + ":" + hex(device, 2) + "." + strconv.FormatUint(function, 16)
}

func hex(v uint64, digits int) string {
	s := strconv.FormatUint(v, 16)
	if len(s) < digits {
		s = strings.Repeat("0", digits-len(s)) + s
	}
	return s
}
