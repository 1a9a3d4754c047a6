// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

// advice is what messages tell users to do, for the operating system of the machine whose GPUs are read.
type advice struct {
	seeLog     string // the log to which the driver reports what happens to a GPU
	driver     string // the driver is not loaded
	library    string // the driver's library is missing
	permission string // a permission is missing
	noGPU      string // the driver lists no GPU
	initialise string // the library does not initialise
	refused    string // a quantity is refused for lack of a permission
}

// adviceFor returns the advice for an operating system as runtime.GOOS names it. All but Windows are taken for Linux: no other has the
// tool.
func adviceFor(system string) *advice {
	if system == "windows" {
		const log = "see the System log in the Event Viewer (source nvlddmkm)"
		return &advice{
			seeLog:     log,
			driver:     "install the NVIDIA driver, wait for the end of its upgrade, or enable the GPU in the Device Manager; or remove this scraper if there is no GPU",
			library:    "install the NVIDIA driver again: nvml.dll is missing",
			permission: "run it as an administrator",
			noGPU:      "no GPU is bound to the NVIDIA driver, or all of them are lost: see the Device Manager; " + log,
			initialise: log,
			refused:    "run it as an administrator",
		}
	}
	const log = "see the kernel log"
	return &advice{
		seeLog:     log,
		driver:     "load the NVIDIA driver (modprobe nvidia), wait for the end of an upgrade of the driver, or remove this scraper if there is no GPU",
		library:    "install the driver's library libnvidia-ml.so.1 where the tool runs, or mount it into the container",
		permission: "give the user that runs it access to /dev/nvidiactl and /dev/nvidia*",
		noGPU:      "no GPU is bound to the NVIDIA driver, or all of them are lost: see lspci and the kernel log",
		initialise: "restart a container that has lost its devices (after systemd daemon-reload) and pass /dev/nvidia* to it; otherwise " + log,
		refused: "run it as root, or outside of a container that hides the values; " +
			"in a container with MIG enabled, set NVIDIA_MIG_MONITOR_DEVICES=all and add CAP_SYS_ADMIN",
	}
}
