// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

const recordingReadme = `# A recording of make test-hardware

UUIDs, serial numbers, PCI addresses and names of machines, users and processes were removed.

| file | what |
|---|---|
| load-phases.json | when each phase of the load ran (Unix times), and what it did |
| ours-otlp.jsonl | what the collector sent: the first reads of each source in each phase, and all log records |
| nvml-calls.tsv | each NVML function that the collector called: name, calls, mean µs, largest µs, return codes as code:count |
| doctor-*.json | otelgpu doctor --compare, idle and under load |
| q-*.txt, qx-*.xml | nvidia-smi -q and -q -x, idle and under load |
`

// write writes the report and the recording.
func (t *test) write(out io.Writer) error {
	var ids []string
	for _, s := range t.sources {
		for _, r := range s.all {
			ids = append(ids, r.points.Distinct("hw.id")...)
		}
	}
	slices.Sort(ids)
	i := newIdentities(slices.Compact(ids))
	files := map[string]string{"report.md": i.text(t.report()), "recording/README.md": recordingReadme, "recording/nvml-calls.tsv": ""}
	for n := range t.calls {
		files["recording/nvml-calls.tsv"] += t.calls[n].text("%s\t%d\t%.1f\t%.1f\t%s\n")
	}
	phases, err := json.MarshalIndent(t.phases, "", " ")
	if err != nil {
		return err
	}
	files["recording/load-phases.json"] = string(phases)
	for n := range t.doctors {
		d := &t.doctors[n]
		text, err := json.MarshalIndent(d, "", " ")
		if err != nil {
			return err
		}
		files["recording/doctor-"+d.name+".json"] = i.text(string(text))
		for name, text := range d.texts {
			files["recording/"+name] = i.tool(text)
		}
	}
	if files["recording/ours-otlp.jsonl"], err = t.messages(i); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(t.out, "recording"), 0o700); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := os.WriteFile(filepath.Join(t.out, name), []byte(files[name]), 0o600); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(out, "\n%s\nThe report is %s. To send it with the recording: tar czf hardware-report.tar.gz %s\n", t.verdicts(),
		filepath.Join(t.out, "report.md"), t.out)
	return err
}

// keptReads is how many messages of a phase are in the recording, of each source.
const keptReads = 3

// messages returns what the recording has of OTLP, a message a line.
func (t *test) messages(i *identities) (string, error) {
	var b bytes.Buffer
	add := func(message []byte, err error) error {
		if err == nil {
			message, err = i.otlp(message)
		}
		b.Write(append(message, '\n'))
		return err
	}
	for _, s := range t.sources {
		for n := range t.phases {
			reads := s.between(t.phases[n].Begin, t.phases[n].End)
			for _, r := range reads[:min(len(reads), keptReads)] {
				if err := add((&pmetric.JSONMarshaler{}).MarshalMetrics(r.message)); err != nil {
					return "", err
				}
			}
		}
		logs := plog.NewLogs()
		records := logs.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
		for _, event := range s.sink.Events() {
			event.CopyTo(records.AppendEmpty())
		}
		if err := add((&plog.JSONMarshaler{}).MarshalLogs(logs)); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}
