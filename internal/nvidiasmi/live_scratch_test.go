package nvidiasmi

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestLiveScratch(t *testing.T) {
	path := os.Getenv("LIVE_SMI")
	if path == "" {
		t.Skip()
	}
	var env []string
	for _, k := range []string{"LD_LIBRARY_PATH", "NVMLSIM_SCENARIO"} {
		env = append(env, k+"="+os.Getenv(k))
	}
	if p := os.Getenv("LIVE_PRELOAD"); p != "" {
		env = append(env, "LD_PRELOAD="+p)
	}
	for _, q := range []string{QueryFull, QueryFast} {
		l, err := command.NewLocal(command.NvidiaSMI, path, command.WithEnvironment(env...))
		if err != nil {
			t.Fatal(err)
		}
		r := New(Config{Query: q}, l, gpu.GroupAll)
		for i := range 2 {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			begin := time.Now()
			n, err := r.Read(ctx)
			fmt.Println("=====", q, i, time.Since(begin).Round(time.Millisecond), err)
			cancel()
			if err != nil {
				continue
			}
			fmt.Print(problems(n))
			fmt.Println("presence", n.Presence)
			for j := range n.Devices {
				d := &n.Devices[j]
				u, _ := d.Utilization[0].Get()
				m, _ := d.Memory.Usage.Get()
				p, _ := d.Power.Draw.Get()
				tt, _ := d.Temperature[0].Get()
				fmt.Printf("%q %q %q idx=%v parent=%q pci=%s cc=%s prof=%s faults=%v util=%v mem=%v power=%v temp=%v unread=%v\n", d.ID, d.Name, d.Model, d.Index, d.Parent, d.Info.PCIAddress, d.Info.ComputeCapability, d.Info.Profile, d.Faults, u, m>>20, p, tt, d.ProcessesUnread)
			}
			for j, p := range n.Processes {
				if j > 5 {
					break
				}
				m, _ := p.Memory.Get()
				fmt.Printf("  pid %d dev %s type %d exe %q mem %d util %v\n", p.PID, p.DeviceID, p.Type, p.Executable, m>>20, p.Utilization)
			}
			fmt.Println("processes", len(n.Processes))
		}
		if len(r.fields.names) > 0 {
			fmt.Println("fields", len(r.fields.names), r.fields.names)
		}
	}
}
