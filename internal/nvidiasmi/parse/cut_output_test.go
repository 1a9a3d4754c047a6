// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/command"
)

// beginnings returns prefixes of a text: some end anywhere, and some end with a line.
func beginnings(text []byte) (all [][]byte) {
	random := rand.New(rand.NewPCG(1, uint64(len(text))))
	for range 25 {
		n := random.IntN(len(text))
		all = append(all, text[:n], text[:bytes.LastIndexByte(text[:n], '\n')+1])
	}
	return all
}

// Every value that is read from a recorded output which was cut anywhere equals the value in the whole output.
func TestRecordedOutputsCut(t *testing.T) {
	check := func(directory string, read func(t *testing.T, text []byte) (*Listing, []Process)) {
		for _, path := range recordings(t, directory) {
			t.Run(filepath.Base(path), func(t *testing.T) {
				data := load(t, path)
				if data[len(data)-1] != '\n' {
					data = append(data, '\n') // it was taken off
				}
				log, processes := read(t, data)
				for _, text := range beginnings(data) {
					if directory != "nvidia-smi-xml" {
						result := command.Result{Stdout: text}
						text, _ = result.Lines()
					}
					cut, some := read(t, text)
					require.LessOrEqual(t, len(cut.GPUs), len(log.GPUs))
					for i := range cut.GPUs {
						assert.Equal(t, log.GPUs[i], cut.GPUs[i], "%d of %d bytes", len(text), len(data))
					}
					require.LessOrEqual(t, len(some), len(processes))
					assert.Equal(t, processes[:len(some)], some, "%d of %d bytes", len(text), len(data))
				}
			})
		}
	}
	check("nvidia-smi-xml", func(_ *testing.T, text []byte) (*Listing, []Process) {
		log, err := XML(text)
		if err != nil {
			return &Listing{}, []Process{}
		}
		return log, []Process{}
	})
	check("nvidia-smi-csv", func(_ *testing.T, text []byte) (*Listing, []Process) {
		log, _ := QueryGPU(text, nil)
		processes, _, _ := ComputeApps(text, nil)
		return log, append([]Process{}, processes...)
	})
	check("nvidia-smi-pmon", func(_ *testing.T, text []byte) (*Listing, []Process) {
		m, _ := Pmon(text)
		return &Listing{}, append([]Process{}, m.Processes...)
	})
}

func TestTrapOutputThatEndsEarly(t *testing.T) {
	data := testdata(t, "xml/v13-580.xml")
	whole, err := XML(data)
	require.NoError(t, err)
	second := bytes.LastIndex(data, []byte("<gpu id="))
	for end := range data {
		log, err := XML(data[:end])
		if err != nil {
			assert.Less(t, end, 200)
			continue
		}
		assert.False(t, log.Complete && end < len(data)-len("\n"), "%d of %d bytes look complete", end, len(data))
		if end < second {
			assert.LessOrEqual(t, len(log.GPUs), 1, "a GPU that was cut off is no GPU")
		}
		for i, g := range log.GPUs {
			if log.DriverVersion != "" {
				assert.Equal(t, whole.GPUs[i], g)
			}
		}
	}
}
