// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/otelgpu/gpureceiver/internal/compare"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// report returns the report, with identities.
func (t *test) report() string {
	var b strings.Builder
	var kernel unix.Utsname
	_ = unix.Uname(&kernel)
	fmt.Fprintf(&b, "# Hardware test\n\n%s\n\n- kernel %s, %s\n- %s\n", t.verdicts(), unix.ByteSliceToString(kernel.Release[:]),
		unix.ByteSliceToString(kernel.Machine[:]), strings.TrimSpace(string(output(context.Background(), t.program("otelcol-gpu"), "--version"))))
	t.writeMachine(&b)
	t.writeChecks(&b)
	t.writeSources(&b)
	t.writeDoctors(&b)
	t.writeCost(&b)
	return b.String()
}

// verdicts counts the verdicts.
func (t *test) verdicts() string {
	count := map[string]int{}
	for _, id := range t.gpus() {
		for _, c := range t.checks(id) {
			count[c.verdict()]++
		}
	}
	for _, d := range t.doctors {
		for _, c := range d.Comparisons {
			count[differs] += compare.Count(c.Rows, compare.Differs)
			count[same] += compare.Count(c.Rows, compare.Same)
		}
	}
	return fmt.Sprintf("%d values are as they should be, %d differ, %d were not read.", count[same], count[differs], count[notRead])
}

func (t *test) writeMachine(b *strings.Builder) {
	for _, s := range t.sources {
		seen := map[string]bool{}
		for _, r := range s.all {
			for _, p := range harness.Flatten(r.message).Select("hw.gpu.info") {
				line := fmt.Sprintf("- %s: %s, %s, driver %s\n", s.name, p.Attributes["hw.id"], p.Attributes["hw.model"], p.Attributes["hw.driver_version"])
				if !seen[line] {
					seen[line] = true
					b.WriteString(line)
				}
			}
		}
	}
	if t.load != nil {
		fmt.Fprintf(b, "- load: on %s, CUDA %d, peak rate of the memory %.0f GB/s\n", t.load.Name, t.load.CUDA, t.load.MemoryRate/1e9)
	} else if t.loadError != nil {
		fmt.Fprintf(b, "- no load: %s\n", t.loadError)
	}
	for i := range t.phases {
		if p := &t.phases[i]; p.Phase == illegalAccess {
			fmt.Fprintf(b, "- illegal access: CUDA error %d; XIDs reported:", p.Code)
			for _, x := range t.sources[0].xids() {
				xid, _ := x.Attributes().Get("hw.gpu.xid")
				fmt.Fprintf(b, " %s", xid.AsString())
			}
			b.WriteString("\n")
		}
	}
}

func (t *test) writeChecks(b *strings.Builder) {
	fmt.Fprintf(b, "\n## %s and the load\n\n| GPU | phase | quantity | must be | allowed | is | verdict |\n|---|---|---|---|---|---|---|\n", t.sources[0].name)
	for _, id := range t.gpus() {
		for _, c := range t.checks(id) {
			fmt.Fprintf(b, "| %s | %s | %s | %.4g %s | %.4g to %.4g | %s | %s |\n", id, c.phase, c.quantity, c.want, c.unit, c.low, c.high, text(c.got), c.verdict())
		}
	}
}

func (t *test) writeSources(b *strings.Builder) {
	b.WriteString("\n## The sources side by side\n\nMeans of each phase.\n\n| GPU | phase | quantity |")
	for _, s := range t.sources {
		fmt.Fprintf(b, " %s |", s.name)
	}
	b.WriteString("\n|---|---|---|" + strings.Repeat("---|", len(t.sources)) + "\n")
	for _, id := range t.gpus() {
		for i := range t.phases {
			p := &t.phases[i]
			if p.Phase == illegalAccess {
				continue
			}
			for n := range shown {
				q := &shown[n]
				fmt.Fprintf(b, "| %s | %s | %s |", id, p.Phase, strings.TrimSpace(q.name+" "+q.unit))
				for _, s := range t.sources {
					fmt.Fprintf(b, " %s |", text(q.value(s.during(p), id)))
				}
				b.WriteString("\n")
			}
		}
	}
}

func (t *test) writeDoctors(b *strings.Builder) {
	b.WriteString("\n## otelgpu doctor --compare\n\n")
	for i := range t.doctors {
		d := &t.doctors[i]
		for _, failed := range d.Failed {
			fmt.Fprintf(b, "- %s: failed: %s\n", d.name, failed)
		}
		for _, c := range d.Comparisons {
			fmt.Fprintf(b, "- %s: %s and the tool: %d values are the same, %d differ, %d only ours, %d only the tool's\n", d.name, c.Source,
				compare.Count(c.Rows, compare.Same), compare.Count(c.Rows, compare.Differs), compare.Count(c.Rows, compare.OnlyOurs), compare.Count(c.Rows, compare.OnlyTool))
			for _, r := range c.Rows {
				if r.Verdict == compare.Differs {
					fmt.Fprintf(b, "  - %s: %s: ours %v and %v, the tool's %v %s\n", r.Device, r.Quantity, r.Before, r.After, r.Tool, r.Unit)
				}
			}
		}
	}
}

func (t *test) writeCost(b *strings.Builder) {
	b.WriteString("\n## Cost\n\n")
	for _, s := range t.sources {
		fmt.Fprintf(b, "- %s: %d reads, every %v\n", s.name, len(s.all), s.interval)
	}
	fmt.Fprintf(b, "- the collector with all sources: %v of CPU\n", t.cpu)
	if len(t.calls) == 0 {
		return
	}
	b.WriteString("\n| NVML function | calls | mean µs | longest µs | return codes |\n|---|---|---|---|---|\n")
	for i := range t.calls {
		b.WriteString(t.calls[i].text("| %s | %d | %.1f | %.1f | %s |\n"))
	}
}

func text(v gpu.Opt[float64]) string {
	if n, ok := v.Get(); ok {
		return fmt.Sprintf("%.4g", n)
	}
	return notRead
}
