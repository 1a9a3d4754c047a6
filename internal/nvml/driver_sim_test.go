// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

const libraryName = "libnvidia-ml.so.1"

func withLibrary(path string) func(*Config) { return func(c *Config) { c.LibraryPath = path } }

// Nothing is loaded that is not NVML, and the error says what was tried.
func TestUnusableLibraries(t *testing.T) {
	if !inItsOwnProcess(t, "yes") {
		return
	}
	lib := simulator(t)
	garbage := filepath.Join(t.TempDir(), libraryName)
	writeFile(t, garbage, "this is no library")
	for name, tt := range map[string]struct{ path, want string }{
		"absent":      {"/nowhere/" + libraryName, "/nowhere/libnvidia-ml.so.1: cannot open shared object file"},
		"not NVML":    {lib.NotNVML, "is not NVIDIA's management library: it does not export nvmlInit_v2 or nvmlInit"},
		"garbage":     {garbage, "file too short"},
		"a directory": {t.TempDir(), "not a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, "", withLibrary(tt.path))
			b.pci("0000:1b:00.0", "nvidia", "")
			b.pci("0000:1c:00.0", "vfio-pci", "")
			for range 2 {
				n := b.read()
				require.Len(t, n.Problems, 1)
				p := problem(t, n, "library")
				require.ErrorContains(t, p.Err, tt.want)
				assert.Regexp(t, `nvml: no usable libnvidia-ml\.so\.1: .+; set library_path to another file, or leave it out`, p.Err.Error(), "the cause, then the remedy")
				assert.Empty(t, ids(n), "nothing is known to be wrong with the GPUs")
				assert.Equal(t, [gpu.NumPresences]gpu.Opt[int64]{gpu.Missing: gpu.Some[int64](1), gpu.Unmanaged: gpu.Some[int64](1)}, n.Presence)
				require.NotNil(t, n.Failure)
				assert.Equal(t, gpu.FailureLibrary, n.Failure.Reason)
				require.ErrorIs(t, n.Failure, p.Err)
				require.NoError(t, n.RestartNeeded)
			}
		})
	}
}

// A machine without a driver is tried again at the next read, then ever less often, and immediately when the machine shows a change.
func TestBackoffOfOpening(t *testing.T) {
	counters, err := nvmlsim.OpenCounters(simulator(t).Full)
	require.NoError(t, err)
	b := start(t, "gpus = 2\n[fault f]\nfunction = nvmlInit\nreturn = DRIVER_NOT_LOADED")
	counters.Reset()
	inits := func() uint64 { return counters.Calls("nvmlInit_v2") }
	for _, step := range []struct {
		after time.Duration
		inits uint64
	}{
		{0, 1},
		{10 * time.Second, 2},
		{10 * time.Second, 2},
		{10 * time.Second, 2},
		{10 * time.Second, 3}, // 30 s after the second
		{50 * time.Second, 3},
		{10 * time.Second, 4}, // 60 s
		{119 * time.Second, 4},
		{time.Second, 5},
		{240 * time.Second, 6},
		{299 * time.Second, 6},
		{time.Second, 7}, // never more than 5 minutes
		{299 * time.Second, 7},
		{time.Second, 8},
	} {
		b.clock = b.clock.Add(step.after)
		n := b.read()
		require.Equal(t, step.inits, inits())
		require.ErrorContains(t, problem(t, n, "driver").Err, "NVIDIA driver not loaded; load the kernel module (nvidia-smi does); during an upgrade of the driver, wait")
	}
	require.NoError(t, b.control.Write("[fault f]\npresent = false"))
	require.Empty(t, ids(b.read()), "not yet")
	writeFile(t, filepath.Join(b.proc, "driver/nvidia/version"), "NVRM version: 580.95.05")
	require.Len(t, ids(b.read()), 2)
	assert.Empty(t, b.read().Problems)
}

// The driver goes and comes back with the same library: all GPUs are found again, and counters start again.
func TestDriverGoneAndBack(t *testing.T) {
	for name, function := range map[string]string{
		"unloaded":      "[fault f]\nreturn = DRIVER_NOT_LOADED",
		"uninitialised": "[fault f]\nfunction = nvmlDevice*, nvmlInit\nreturn = UNINITIALIZED",
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, "gpus = 3")
			n := b.read()
			healthy(t, n, 3)
			before := gpuAt(t, n, 0).Epoch
			b.set(function)
			for range 3 {
				n := b.read()
				for i := range 3 {
					unread(t, n, i)
				}
				assert.False(t, n.Presence[gpu.Visible].Known())
				require.Len(t, n.Problems, 1, "of the source, not of each GPU")
				require.Error(t, problem(t, n, "driver").Err)
				require.NoError(t, n.RestartNeeded)
				require.NotNil(t, n.Failure)
				assert.Equal(t, gpu.FailureDriver, n.Failure.Reason)
			}
			require.NoError(t, b.control.Write(""))
			b.clock = b.clock.Add(retryPolicy.Max)
			n = b.read()
			healthy(t, n, 3)
			assert.Empty(t, n.Problems)
			assert.NotEqual(t, before, gpuAt(t, n, 0).Epoch)
			epoch := gpuAt(t, n, 0).Epoch
			assert.Equal(t, epoch, gpuAt(t, b.read(), 0).Epoch, "once")
		})
	}
}

// NVML loses its initialisation and can be initialised again: no read goes without data.
func TestReinitialisedWithinARead(t *testing.T) {
	counters, err := nvmlsim.OpenCounters(simulator(t).Full)
	require.NoError(t, err)
	// The simulator starts to count again when it is initialised: each session has one read.
	b := start(t, "gpus = 2\n[fault f]\ngpu = *\nfunction = nvmlDeviceGetTemperature\nreturn = UNINITIALIZED\nskip = 2")
	healthy(t, b.read(), 2)
	counters.Reset()
	n := b.read()
	healthy(t, n, 2)
	assert.Empty(t, n.Problems)
	assert.Equal(t, uint64(1), counters.Calls("nvmlInit_v2"))
}

// The versions of the library and the kernel driver differ: the node says that only a new process can help.
func TestVersionMismatch(t *testing.T) {
	const fault = "[fault f]\nreturn = LIB_RM_VERSION_MISMATCH"
	check := func(t *testing.T, n *gpu.Node) {
		t.Helper()
		assert.Equal(t, [2]int64{0, 2}, presence(n))
		require.Len(t, n.Problems, 1)
		require.ErrorContains(t, n.RestartNeeded, "versions of the library and the kernel driver differ; restart the collector")
		require.ErrorIs(t, n.RestartNeeded, problem(t, n, "driver").Err, "one and the same, so that it is logged once")
		require.NotNil(t, n.Failure)
		assert.Equal(t, gpu.FailureDriver, n.Failure.Reason)
	}
	t.Run("while running", func(t *testing.T) {
		b := start(t, "gpus = 2")
		healthy(t, b.read(), 2)
		b.set(fault)
		var first error
		for range 4 {
			n := b.read()
			failed(t, n, 0, gpu.FaultDriverMismatch)
			failed(t, n, 1, gpu.FaultDriverMismatch)
			check(t, n)
			if first == nil {
				first = n.RestartNeeded
			}
			assert.Equal(t, first.Error(), n.RestartNeeded.Error())
			b.clock = b.clock.Add(time.Minute)
		}
		require.NoError(t, b.control.Write("")) // the old driver is back
		b.clock = b.clock.Add(retryPolicy.Max)
		n := b.read()
		healthy(t, n, 2)
		require.NoError(t, n.RestartNeeded)
	})
	t.Run("from the start", func(t *testing.T) {
		b := start(t, "gpus = 2\n"+fault)
		b.pci("0000:0a:00.0", "nvidia", "")
		b.pci("0000:0d:00.0", "nvidia", "")
		b.information("0000:0a:00.0", "GPU UUID: \t GPU-6f1c2a00-5eed-4a11-8c0d-0000c0ffee00\n")
		b.information("0000:0d:00.0", "GPU UUID: \t GPU-????????-????-????-????-????????????\n")
		n := b.read()
		require.Equal(t, []string{"GPU-6f1c2a00-5eed-4a11-8c0d-0000c0ffee00", ""}, ids(n))
		assert.Equal(t, "0000:0d:00.0", n.Devices[1].Info.PCIAddress)
		for _, d := range n.Devices {
			assert.Equal(t, gpu.FaultDriverMismatch, d.Faults[0].Type)
		}
		check(t, n)
	})
}

// Another library is put at the path. The loaded one is used while it works, and no second one is loaded.
func TestLibraryReplaced(t *testing.T) {
	if !inItsOwnProcess(t, "yes") {
		return
	}
	lib := simulator(t)
	path := filepath.Join(t.TempDir(), libraryName)
	require.NoError(t, exec.Command("cp", lib.Full, path).Run())
	b := start(t, "gpus = 2", withLibrary(path), func(c *Config) { c.KeepOpen = false })
	healthy(t, b.read(), 2)
	require.NoError(t, exec.Command("cp", lib.Driver450, path+".new").Run())
	require.NoError(t, os.Rename(path+".new", path))

	b.clock = b.clock.Add(fileTrust)
	n := b.read()
	healthy(t, n, 2)
	require.NoError(t, n.RestartNeeded, "what works needs no restart")
	require.ErrorContains(t, problem(t, n, "library").Err, "was replaced")
	assert.Equal(t, 1, mapped(t, libraryName))

	require.NoError(t, b.control.Write("[fault f]\nfunction = nvmlInit\nreturn = LIB_RM_VERSION_MISMATCH"))
	n = b.read()
	failed(t, n, 0, gpu.FaultDriverMismatch)
	require.ErrorContains(t, n.RestartNeeded, "restart the collector")
	assert.Equal(t, 1, mapped(t, libraryName))

	// A source that starts now, for example after a change of the configuration.
	n = start(t, "gpus = 2", withLibrary(path)).read()
	require.ErrorIs(t, n.RestartNeeded, library.ErrOtherLoaded)
	assert.Equal(t, gpu.FailureLibrary, n.Failure.Reason)
	assert.Equal(t, 1, mapped(t, libraryName))
}

// mapped counts the files of that name that are loaded into this process.
func mapped(t *testing.T, name string) int {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	files := map[string]bool{}
	for line := range strings.Lines(string(maps)) {
		if fields := strings.Fields(line); len(fields) > 5 && filepath.Base(fields[5]) == name {
			files[fields[4]] = true // the inode
		}
	}
	return len(files)
}

const childVariable = "NVML_TEST_CHILD"

// inItsOwnProcess runs a test in a process that has loaded no other library. It returns true in that process.
func inItsOwnProcess(t *testing.T, argument string) bool {
	t.Helper()
	name, _, _ := strings.Cut(t.Name(), "/")
	if os.Getenv(childVariable) != "" {
		return true
	}
	simulator(t)
	cmd := exec.Command(os.Args[0], "-test.run=^"+name+"$", "-test.v")
	cmd.Env = append(os.Environ(), childVariable+"="+argument)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NotContains(t, string(out), "no tests to run")
	return false
}

// A library that exports what driver 450 had.
func TestDriver450(t *testing.T) {
	if !inItsOwnProcess(t, "yes") {
		return
	}
	b := start(t, "gpus = 2\ntime = manual\n[gpu *]\nboard = a100\nutil.gpu = 30\nfans = 1\nfan = 40\n"+
		"[process p]\ngpu = 1\ncount = 70\npid = 100\nmemory = 1Gi\nsm = 1", withLibrary(simulator(t).Driver450))
	for i := range 3 {
		b.schedule(float64(10*(i+1)), "")
		n := b.read()
		healthy(t, n, 2)
		assert.Empty(t, n.Problems)
		d := gpuAt(t, n, 0)
		approx(t, 0.3, d.Utilization[gpu.TaskGeneral], "utilization")
		approx(t, 62, d.Power.Draw, "power")
		approx(t, 400, d.Power.Limit[gpu.LimitEnforced], "power limit")
		assert.Equal(t, gpu.Some[int64](500<<20), d.Memory.Usage, "this driver does not distinguish reserved from used")
		assert.False(t, d.Memory.Reserved.Known())
		assert.Equal(t, gpu.Some(false), d.Throttle[gpu.ThrottleSWPowerCap].Active)
		assert.True(t, d.RemappedRows.Pending.Known())
		assert.False(t, d.Utilization[gpu.TaskJPEG].Known())
		assert.Equal(t, []gpu.Fan{{Location: "fan0", Ratio: gpu.Some(0.4)}}, d.Fans)
		require.Len(t, n.Processes, 70)
		assert.Equal(t, gpu.Some[int64](1<<30), n.Processes[69].Memory)
		if i == 0 {
			approx(t, 0.01, n.Processes[69].Utilization[gpu.TaskGeneral], "utilization by process")
		}
	}
}

func TestDriver450MIG(t *testing.T) {
	if !inItsOwnProcess(t, "yes") {
		return
	}
	b := start(t, "gpus = 1\n[gpu 0]\nboard = a100\nmig = 1\n[mig 0 0]\nprofile = 3g.40gb\ngi = 2\nci = 0\n"+
		"uuid = MIG-GPU-6f1c2a00-5eed-4a11-8c0d-0000c0ffee00/2/0",
		withLibrary(simulator(t).Driver450))
	n := b.read()
	require.Len(t, ids(n), 2)
	assert.Equal(t, n.Devices[0].ID+"/2/0", n.Devices[1].ID, "the old form of a MIG UUID")
}

// Whatever functions a library lacks, it is used without them: a call of an absent one would end the process.
func TestAbsentFunctions(t *testing.T) {
	if path := os.Getenv(childVariable); path != "" {
		b := start(t, "gpus = 2\n[gpu *]\nboard = h100\nfans = 1\n[gpu 1]\nmig = 1\n[mig 1 0]\nprofile = 3g.40gb\ngi = 2\nci = 0\n"+
			"[process p]\ngpu = 0\npid = 100\nsm = 1\n[event e]\ngpu = 0\nxid = 48", withLibrary(path),
			func(c *Config) { c.PCIeSampling = true })
		for range 3 {
			n := b.read()
			assert.GreaterOrEqual(t, len(n.Devices), 2)
			assert.Empty(t, n.Problems)
			b.clock = b.clock.Add(time.Second)
		}
		return
	}
	simulator(t)
	// Essential functions are never left out. Of the others all versions are, or only the older ones.
	optional := optionalFunctions(t)
	dir := t.TempDir()
	for name, without := range map[string]func(i int) (first int){
		"all":                func(int) int { return 0 },
		"the even":           func(i int) int { return i % 2 * 9 },
		"the odd":            func(i int) int { return (i + 1) % 2 * 9 },
		"the older versions": func(int) int { return 1 },
	} {
		t.Run(name, func(t *testing.T) {
			var absent []string
			for i, s := range optional {
				absent = append(absent, s[min(without(i), len(s)):]...)
			}
			built, err := nvmlsim.BuildAbsent(dir, absent...)
			require.NoError(t, err)
			path := filepath.Join(t.TempDir(), libraryName)
			require.NoError(t, os.Rename(built, path))
			inItsOwnProcess(t, path)
		})
	}
}

// optionalFunctions are the functions of the simulated library that need not be there, each with its versions, the newest first.
func optionalFunctions(t *testing.T) (all [][]string) {
	t.Helper()
	dir, err := nvmlsim.SourceDir()
	require.NoError(t, err)
	definitions, err := os.ReadFile(filepath.Join(dir, "src/functions.def"))
	require.NoError(t, err)
	version := regexp.MustCompile(`_v\d$`)
	versions := map[string][]string{}
	for _, fn := range regexp.MustCompile(`(?m)^FN\((\w+),`).FindAllStringSubmatch(string(definitions), -1) {
		name := version.ReplaceAllString(fn[1], "")
		versions[name] = append(versions[name], fn[1])
	}
	for _, essential := range []string{
		"nvmlInit", "nvmlShutdown", "nvmlDeviceGetCount", "nvmlDeviceGetHandleByIndex", "nvmlDeviceGetUUID",
	} {
		require.Contains(t, versions, essential)
		delete(versions, essential)
	}
	for _, name := range slices.Sorted(maps.Keys(versions)) {
		slices.Sort(versions[name])
		slices.Reverse(versions[name])
		all = append(all, versions[name])
	}
	require.Greater(t, len(all), 60)
	return all
}

// A driver that was upgraded between two reads starts its counters again, whether or not a total has fallen.
func TestUpgradedBetweenReads(t *testing.T) {
	b := start(t, "gpus = 1", func(c *Config) { c.KeepOpen = false })
	before := gpuAt(t, b.read(), 0).Epoch
	b.set("driver.version = 590.1")
	d := gpuAt(t, b.read(), 0)
	assert.Equal(t, "590.1", d.Info.DriverVersion)
	assert.NotEqual(t, before, d.Epoch)
	assert.Equal(t, d.Epoch, gpuAt(t, b.read(), 0).Epoch, "once")
}
