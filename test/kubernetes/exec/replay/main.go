// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Command replay replaces nvidia-smi in the driver pods of a test: it shows two GPUs, with the faults that a file of the machine, mounted
// at /replay, defines. It logs its calls there.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// state is the content of that file.
type state struct {
	Mode      string    `json:"mode"`
	Processes []process `json:"processes"`
}

type process struct {
	PID    int    `json:"pid"`
	GPU    int    `json:"gpu"`
	Memory int    `json:"memory"` // MiB
	Name   string `json:"name"`
}

const directory = "/replay"

func main() {
	var s state
	text, err := os.ReadFile(directory + "/state.json")
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "replay:", err)
		os.Exit(99)
	}
	note(strings.Join(os.Args[1:], " "))
	os.Exit(s.run(os.Args[1:]))
}

// note adds a line to the recorded requests.
func note(line string) {
	calls, err := os.OpenFile(directory+"/calls", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return
	}
	_, _ = calls.WriteString(line + "\n")
	_ = calls.Close()
}

func (s *state) run(args []string) int {
	switch s.Mode {
	case "garbage":
		_, _ = os.Stdout.Write([]byte("\x00\x01\xff\xfe{{{%s%n\n,,,,\n\n<nvidia_smi_log><gpu"))
		return 0
	case "half":
		out, _ := s.answer(args)
		fmt.Print(out[:len(out)/2])
		return 0
	case "flood":
		block := []byte(strings.Repeat("0123456789abcde\n", 4096))
		for range 512 { // 32 MiB
			if _, err := os.Stdout.Write(block); err != nil {
				return 1
			}
		}
		return 0
	case "hang":
		// Only a kill ends it, as with a tool that waits for a driver that does not answer.
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE)
		time.Sleep(time.Hour)
	case "driverless":
		fmt.Println("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. " +
			"Make sure that the latest NVIDIA driver is installed and running.")
		return 9
	}
	out, code := s.answer(args)
	fmt.Print(out)
	return code
}

// gpus are the values of the fields that this version knows.
var gpus = []map[string]string{gpu(0, "42 %", "61"), gpu(1, "7 %", "38")}

func gpu(index int, busy, temperature string) map[string]string {
	return map[string]string{
		"index": strconv.Itoa(index), "uuid": uuid(index), "pci.bus_id": fmt.Sprintf("00000000:%02X:00.0", 10+index),
		"driver_version": "570.86.10", "name": "NVIDIA H100 80GB HBM3", "mig.mode.current": "Disabled",
		"utilization.gpu": busy, "memory.total": "81559 MiB", "memory.used": "5120 MiB", "temperature.gpu": temperature,
		"power.draw": "310.25 W",
	}
}

func uuid(index int) string { return fmt.Sprintf("GPU-e2e00000-0000-4000-8000-%012d", index) }

// order of the fields in the help.
var order = []string{
	"index", "uuid", "pci.bus_id", "driver_version", "name", "mig.mode.current", "utilization.gpu", "memory.total", "memory.used",
	"temperature.gpu", "power.draw",
}

func (s *state) answer(args []string) (string, int) {
	var b strings.Builder
	switch all := strings.Join(args, " "); {
	case all == "--help-query-gpu":
		b.WriteString("List of valid properties to query for the switch \"--query-gpu=\":\n\n")
		for _, field := range order {
			fmt.Fprintf(&b, "\"%s\"\nWhat it is.\n\n", field)
		}
	case strings.HasPrefix(all, "--query-gpu="):
		fields := strings.Split(strings.TrimPrefix(args[0], "--query-gpu="), ",")
		b.WriteString(strings.Join(fields, ", ") + "\n")
		for _, values := range gpus {
			row := make([]string, len(fields))
			for i, field := range fields {
				value, ok := values[field]
				if !ok {
					return fmt.Sprintf("Field %q is not a valid field to query.\n\n", field), 2
				}
				row[i] = value
			}
			b.WriteString(strings.Join(row, ", ") + "\n")
		}
	case strings.HasPrefix(all, "--query-compute-apps="):
		b.WriteString("pid, gpu_uuid, used_gpu_memory [MiB], process_name\n")
		for _, p := range s.Processes {
			fmt.Fprintf(&b, "%d, %s, %d MiB, %s\n", p.PID, uuid(p.GPU), p.Memory, p.Name)
		}
	case strings.HasPrefix(all, "pmon"):
		b.WriteString("# gpu        pid  type    sm   mem   enc   dec    fb   command\n# Idx          #   C/G     %     %     %     %    MB   name\n")
		for i := range gpus {
			if slices.ContainsFunc(s.Processes, func(p process) bool { return p.GPU == i }) {
				continue
			}
			fmt.Fprintf(&b, "%5d          -     -      -      -      -      -      -    -\n", i)
		}
		for _, p := range s.Processes {
			fmt.Fprintf(&b, "%5d %10d     C    40    11     -     - %5d   %s\n", p.GPU, p.PID, p.Memory, filepath.Base(p.Name))
		}
	case all == "-q -x":
		log, err := os.ReadFile(directory + "/full.xml")
		if err != nil {
			return err.Error(), 99
		}
		b.Write(log)
	case all == "-L":
		for i, values := range gpus {
			fmt.Fprintf(&b, "GPU %d: %s (UUID: %s)\n", i, values["name"], values["uuid"])
		}
	default:
		return "ERROR: Option " + all + " is not recognized. Please run 'nvidia-smi -h'.\n\n", 2
	}
	return b.String(), 0
}
