// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package command

// places returns the places of a tool: first the places of distributions' packages and the vendors' installers, then the places that node
// images and driver containers mount, whose libraries the loader does not know.
func places(tool Tool) []place {
	system := []place{{dir: "/usr/bin"}, {dir: "/usr/local/bin"}, {dir: "/bin"}, {dir: "/usr/sbin"}}
	if tool == NvidiaSMI {
		return append(system,
			place{dir: "/usr/local/nvidia/bin", libraries: "/usr/local/nvidia/lib64:/usr/local/nvidia/lib"},
			place{dir: "/run/nvidia/driver/usr/bin", libraries: "/run/nvidia/driver/usr/lib64:" +
				"/run/nvidia/driver/usr/lib/x86_64-linux-gnu:/run/nvidia/driver/usr/lib/aarch64-linux-gnu"},
			place{dir: "/home/kubernetes/bin/nvidia/bin", libraries: "/home/kubernetes/bin/nvidia/lib64"},
			place{dir: "/opt/nvidia/bin", libraries: "/opt/nvidia/lib64"},
			place{dir: "/opt/bin"},
			place{dir: "/usr/lib/wsl/lib", libraries: "/usr/lib/wsl/lib"},
		)
	}
	return append(system, place{dir: "/opt/rocm/bin"})
}
