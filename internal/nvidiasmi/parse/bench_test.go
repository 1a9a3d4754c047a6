// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// eightGPUs returns the output of -q -x of a server with eight GPUs. Most of it is the table of supported clocks.
func eightGPUs(tb testing.TB, template []byte) []byte {
	tb.Helper()
	begin, end := bytes.Index(template, []byte("<gpu id=")), bytes.Index(template, []byte("</gpu>"))
	require.Positive(tb, begin)
	one := string(template[begin:end]) + "</gpu>\n"
	var clocks strings.Builder
	clocks.WriteString("<supported_clocks>\n")
	for memory := range 4 {
		fmt.Fprintf(&clocks, "\t\t\t<supported_mem_clock>\n\t\t\t\t<value>%d MHz</value>\n", 2619-500*memory)
		for mhz := 1980; mhz > 300; mhz -= 15 {
			fmt.Fprintf(&clocks, "\t\t\t\t<supported_graphics_clock>%d MHz</supported_graphics_clock>\n", mhz)
		}
		clocks.WriteString("\t\t\t</supported_mem_clock>\n")
	}
	start, stop := strings.Index(one, "<supported_clocks>"), strings.Index(one, "</supported_clocks>")
	one = one[:start] + clocks.String() + one[stop:]
	var processes strings.Builder
	for i := range 8 {
		fmt.Fprintf(&processes, "\t\t\t<process_info>\n\t\t\t\t<gpu_instance_id>N/A</gpu_instance_id>\n\t\t\t\t<compute_instance_id>N/A</compute_instance_id>\n"+
			"\t\t\t\t<pid>%d</pid>\n\t\t\t\t<type>C</type>\n\t\t\t\t<process_name>/usr/bin/python3</process_name>\n\t\t\t\t<used_memory>%d MiB</used_memory>\n\t\t\t</process_info>\n", 4000+i, 1000+i)
	}
	one = strings.Replace(one, "<processes>", "<processes>\n"+processes.String(), 1)
	return []byte(string(template[:begin]) + strings.Repeat(one, 8) + "</nvidia_smi_log>\n")
}

func benchData(b *testing.B, name string) []byte {
	b.Helper()
	data, err := os.ReadFile("testdata/" + name)
	require.NoError(b, err)
	return data
}

func BenchmarkParseXML8GPUs(b *testing.B) {
	data := eightGPUs(b, benchData(b, "xml/v13-580.xml"))
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		log, err := XML(data)
		if err != nil || len(log.GPUs) != 8 || !log.Complete || len(log.GPUs[7].Processes) != 9 {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseCSV(b *testing.B) {
	data := benchData(b, "csv/595.csv")
	rows := bytes.SplitAfter(data, []byte("\n"))
	data = bytes.Join([][]byte{rows[0], bytes.Repeat(rows[2], 8)}, nil)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if log, _ := QueryGPU(data, nil); len(log.GPUs) != 8 {
			b.Fatal(len(log.GPUs))
		}
	}
}

func BenchmarkParsePmon(b *testing.B) {
	data := benchData(b, "pmon/550-um.txt")
	rows := bytes.SplitAfter(data, []byte("\n"))
	data = bytes.Join([][]byte{rows[0], rows[1], bytes.Repeat(rows[4], 64)}, nil)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if m, _ := Pmon(data); len(m.Processes) != 64 || len(m.GPUs) != 1 {
			b.Fatal(len(m.Processes))
		}
	}
}

func BenchmarkDiagnoseXML8GPUs(b *testing.B) {
	data := eightGPUs(b, benchData(b, "xml/v13-580.xml"))
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if d := Diagnose(data, nil, 0); d.Failure != FailureNone {
			b.Fatal(d)
		}
	}
}
