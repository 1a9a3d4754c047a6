// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nodes

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/test/histories"
)

// gpuProcess runs on one leaf device.
type gpuProcess struct {
	pid       int
	started   int        // in ticks since boot
	container *container // nil: a service outside containers
	place     place
	memory    int // MiB
	sm        int
	kind      string
}

func (c *cluster) write(name, content string) {
	file := filepath.Join(c.proc, name)
	require.NoError(c.t, os.MkdirAll(filepath.Dir(file), 0o750))
	require.NoError(c.t, os.WriteFile(file, []byte(content), 0o600))
}

func (p *gpuProcess) directory() string { return strconv.Itoa(p.pid) + "/" }

// run starts a process, mostly on a device that its container holds, sometimes with the PID of a process that has ended.
func (c *cluster) run(container *container) string {
	p := &gpuProcess{
		pid: 60000 + c.next(), started: 100 * c.next(), container: container, place: histories.OneOf(c.rng, c.gpus.places()...),
		memory: 1 + c.rng.IntN(3000), sm: c.rng.IntN(60), kind: histories.OneOf(c.rng, "compute", "compute", "graphics", "mps"),
	}
	if container != nil && len(container.devices) > 0 && c.rng.IntN(8) > 0 {
		for _, place := range c.gpus.places() {
			if strings.HasPrefix(container.devices[0], c.gpus.id(place)) {
				p.place = place
			}
		}
	}
	if len(c.processes) > 0 && c.rng.IntN(4) == 0 {
		i := c.rng.IntN(len(c.processes))
		p.pid = c.processes[i].pid
		c.end(func(o *gpuProcess) bool { return o.pid == p.pid })
	}
	c.processes = append(c.processes, p)
	group := "0::/system.slice/x.service\n"
	if container != nil {
		group = "0::/kubepods.slice/kubepods-pod" + strings.ReplaceAll(container.pod.uid, "-", "_") + ".slice/cri-containerd-" + container.id + ".scope\n"
	}
	c.write(p.directory()+"stat", fmt.Sprintf("%d (python) S 1 %d %d 0 -1 4194304 100 0 0 0 5 6 0 0 20 0 1 0 %d 1024 10 18446744073709551615 1 1 0 0\n",
		p.pid, p.pid, p.pid, p.started))
	c.write(p.directory()+"cgroup", group)
	return fmt.Sprintf("%d on %v", p.pid, p.place)
}

// hide removes the files of a process. An open stat file of a process that has ended cannot be read, so it is emptied.
func (c *cluster) hide(p *gpuProcess) {
	directory := filepath.Join(c.proc, p.directory())
	_ = os.Truncate(filepath.Join(directory, "stat"), 0) // it may be hidden already
	require.NoError(c.t, os.RemoveAll(directory))
}

// end ends processes.
func (c *cluster) end(which func(*gpuProcess) bool) {
	c.processes = slices.DeleteFunc(c.processes, func(p *gpuProcess) bool {
		if which(p) {
			c.hide(p)
			return true
		}
		return false
	})
}

// text is the scenario's processes, as the driver lists them.
func (c *cluster) text() string {
	c.end(func(p *gpuProcess) bool { return c.gpus.id(p.place) == "" })
	var b strings.Builder
	for _, p := range c.processes {
		fmt.Fprintf(&b, "[process p%d]\ngpu = %d\npid = %d\nmemory = %dMi\ntype = %s\n", p.pid, p.place.gpu, p.pid, p.memory, p.kind)
		if p.place.mig >= 0 {
			fmt.Fprintf(&b, "mig = %d\n", p.place.mig)
		} else {
			fmt.Fprintf(&b, "sm = %d\n", p.sm)
		}
	}
	return b.String()
}

// recover makes the API server catch up, and ends the processes without details and the processes of ended pods.
func (c *cluster) recover() {
	c.catchUp()
	c.end(func(p *gpuProcess) bool {
		_, err := os.Stat(filepath.Join(c.proc, p.directory(), "stat"))
		return err != nil || p.container != nil && !slices.Contains(c.pods, p.container.pod)
	})
}
