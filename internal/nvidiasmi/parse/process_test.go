// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestTrapProcessNames(t *testing.T) {
	for name, tt := range map[string]struct{ element, want string }{
		"empty":                  {"", ""},
		"not found":              {"[Not Found]", ""},
		"no permission":          {"[Insufficient Permissions]", ""},
		"bare reason":            {"Insufficient Permissions", ""},
		"escaped":                {"a &lt;b&gt; &amp;c;", "a <b> &c;"},
		"not escaped":            {"sh -c a<b && c>d </x>", "sh -c a<b && c>d </x>"},
		"in brackets, partly":    {"[kworker] x", "[kworker] x"},
		"not UTF-8":              {"/opt/caf\xe9", "/opt/caf\uFFFD"},
		"an ampersand by itself": {"R&D", "R&D"},
	} {
		t.Run(name, func(t *testing.T) {
			g := oneGPU(t, "<processes><process_info><pid>5</pid><process_name>"+tt.element+"</process_name><used_memory>1 MiB</used_memory></process_info></processes>")
			require.Len(t, g.Processes, 1)
			assert.Equal(t, tt.want, g.Processes[0].Name)
			assert.Equal(t, gpu.Some(int64(1<<20)), g.Processes[0].Memory)
		})
	}
}

func TestExecutable(t *testing.T) {
	for name, want := range map[string][2]string{
		"/usr/bin/python3":                       {"python3", "/usr/bin/python3"},
		"./gpu_burn":                             {"gpu_burn", "./gpu_burn"},
		"python":                                 {"python", "python"},
		"/opt/chrome --type=gpu --token=s3cret":  {"chrome", "/opt/chrome"},
		"python3 /srv/train.py":                  {"python3", "python3"},
		"ray::IDLE worker":                       {"ray::IDLE worker", "ray::IDLE worker"},
		"/opt/my app/bin/tool":                   {"tool", "/opt/my app/bin/tool"},
		`C:\Program Files\NZXT CAM\NZXT CAM.exe`: {"NZXT CAM.exe", `C:\Program Files\NZXT CAM\NZXT CAM.exe`},
		"NVIDIA Share.exe":                       {"NVIDIA Share.exe", "NVIDIA Share.exe"},
		"renderD128 --us":                        {"renderD128", "renderD128"},
		"":                                       {"", ""},
	} {
		executable, command := Executable(name)
		assert.Equal(t, want, [2]string{executable, command}, name)
	}
}

func TestProcessesRead(t *testing.T) {
	for elements, want := range map[string]bool{
		"": false, "<processes></processes>": true, "<processes/>": true, "<processes>\n\t</processes>": true,
		"<processes><process_info><pid>1</pid></process_info></processes>": true,
		"<processes>N/A</processes>":                                       false, "<processes>Insufficient Permissions</processes>": false,
	} {
		assert.Equal(t, want, oneGPU(t, elements).ProcessesRead, elements)
	}
}
