// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpusim

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Dir returns the directory of a card's PCI function, below the root.
func (c *Card) Dir() string {
	dir := "sys/devices/pci" + c.Address[:4] + ":" + "00"
	for _, b := range c.Behind {
		dir = filepath.Join(dir, b.Address)
	}
	return filepath.Join(dir, c.Address)
}

// Sensors returns the directory of a card's sensors, below the root.
func (c *Card) Sensors() string {
	return filepath.Join(c.Dir(), fmt.Sprintf("hwmon/hwmon%d", c.Number+2))
}

func (t *Tree) card(c *Card) {
	t.bridges(c)
	dir := c.Dir()
	t.identity(dir, c)
	t.readings(dir, c)
	if c.Metrics != nil {
		t.write(dir+"/gpu_metrics", string(Encode(c.Metrics)))
	}
	t.sensors(c)
	for _, b := range c.RAS {
		text := fmt.Sprintf("ue: %d\nce: %d\n", b.Uncorrected, b.Corrected)
		if b.Deferred >= 0 {
			text += fmt.Sprintf("de: %d\n", b.Deferred)
		}
		t.write(dir+"/ras/"+b.Name+"_err_count", text)
	}
	if len(c.RAS) > 0 {
		t.write(dir+"/ras/features", "feature mask: 0x1fff\n")
	}
	t.badPages(c)
	t.nodes(dir, fmt.Sprintf("card%d", c.Number), fmt.Sprintf("renderD%d", 128+c.Number), c.Number)
	t.link("sys/bus/pci/devices/"+c.Address, dir)
	t.link(dir+"/driver", "sys/bus/pci/drivers/amdgpu")
	for _, p := range c.Partitions {
		if p.XCP == "" {
			continue
		}
		platform := "sys/devices/platform/" + p.XCP
		t.mkdir(platform)
		t.nodes(platform, fmt.Sprintf("card%d", p.Number), fmt.Sprintf("renderD%d", 128+p.Number), p.Number)
		if p.Table != nil {
			t.write(platform+"/xcp/xcp_metrics", string(Encode(p.Table)))
		}
	}
}

// badPages writes the list of the bad pages, which is empty if there are no bad pages.
func (t *Tree) badPages(c *Card) {
	if c.BadPages == None {
		return
	}
	var b strings.Builder
	for i := range c.BadPages {
		fmt.Fprintf(&b, "0x%08x : 0x00001000 : R\n", 0x4d2000+i)
	}
	t.write(c.Dir()+"/ras/gpu_vram_bad_pages", b.String())
	if c.BadPageLimit > 0 {
		t.number(fmt.Sprintf("sys/kernel/debug/dri/%d/ras/bad_page_cnt_threshold", c.Number), int64(c.BadPageLimit))
	}
}

// bridges writes the bridges above a card.
func (t *Tree) bridges(c *Card) {
	dir := "sys/devices/pci" + c.Address[:4] + ":" + "00"
	for _, b := range c.Behind {
		dir = filepath.Join(dir, b.Address)
		t.write(dir+"/vendor", fmt.Sprintf("0x%04x\n", b.Vendor))
		t.write(dir+"/class", "0x060400\n")
		t.text(dir+"/current_link_speed", b.Speed)
		t.text(dir+"/max_link_speed", b.Speed)
		if b.Width > 0 {
			t.number(dir+"/current_link_width", int64(b.Width))
			t.number(dir+"/max_link_width", int64(b.Width))
		}
		t.link("sys/bus/pci/devices/"+b.Address, dir)
	}
}

// nodes writes the DRM device of a card or partition.
func (t *Tree) nodes(dir, card, render string, number int) {
	for i, name := range []string{card, render} {
		drm := dir + "/drm/" + name
		t.write(drm+"/dev", fmt.Sprintf("226:%d\n", number+128*i))
		t.link(drm+"/device", dir)
		t.link("sys/class/drm/"+name, drm)
	}
	t.write(dir+"/drm/"+card+"/"+card+"-DP-1/status", "disconnected\n")
	t.link("sys/class/drm/"+card+"-DP-1", dir+"/drm/"+card+"/"+card+"-DP-1")
}

func (t *Tree) identity(dir string, c *Card) {
	t.write(dir+"/vendor", "0x1002\n")
	t.write(dir+"/device", fmt.Sprintf("0x%04x\n", c.Device))
	t.write(dir+"/subsystem_vendor", "0x1002\n")
	t.write(dir+"/subsystem_device", fmt.Sprintf("0x%04x\n", c.Subsystem))
	t.write(dir+"/revision", fmt.Sprintf("0x%02x\n", c.Revision))
	t.write(dir+"/class", fmt.Sprintf("0x%06x\n", c.Class))
	if c.UniqueID != 0 {
		t.write(dir+"/unique_id", fmt.Sprintf("%016x\n", c.UniqueID))
	}
	t.text(dir+"/serial_number", c.Serial)
	t.text(dir+"/product_name", c.Product)
	t.text(dir+"/product_number", c.Part)
	t.text(dir+"/vbios_version", c.VBIOS)
	t.write(dir+"/numa_node", fmt.Sprintf("%d\n", c.NUMANode))
	t.text(dir+"/power/runtime_status", c.Status)
	t.text(dir+"/current_compute_partition", c.Compute)
	t.text(dir+"/current_memory_partition", c.MemoryMode)
	t.write(dir+"/uevent", fmt.Sprintf("DRIVER=amdgpu\nPCI_CLASS=%X\nPCI_ID=1002:%04X\nPCI_SUBSYS_ID=1002:%04X\nPCI_SLOT_NAME=%s\n",
		c.Class, c.Device, c.Subsystem, c.Address))
}

func (t *Tree) readings(dir string, c *Card) {
	r := &c.Readings
	t.number(dir+"/gpu_busy_percent", int64(r.Busy))
	t.number(dir+"/mem_busy_percent", int64(r.MemoryBusy))
	t.number(dir+"/vcn_busy_percent", int64(r.VideoBusy))
	for _, m := range []struct {
		name        string
		total, used int64
	}{{"vram", r.VRAM, r.VRAMUsed}, {"vis_vram", r.Visible, r.VisibleUsed}, {"gtt", r.GTT, r.GTTUsed}} {
		t.number(dir+"/mem_info_"+m.name+"_total", m.total)
		t.number(dir+"/mem_info_"+m.name+"_used", m.used)
	}
	t.write(dir+"/mem_info_vram_vendor", "unknown\n")
	t.levels(dir+"/pp_dpm_sclk", r.GraphicsLevels, r.GraphicsLevel)
	t.levels(dir+"/pp_dpm_mclk", r.MemoryLevels, r.MemoryLevel)
	t.levels(dir+"/pp_dpm_vclk", r.VideoLevels, 0)
	t.levels(dir+"/pp_dpm_dclk", r.DataLevels, 0)
	t.levels(dir+"/pp_dpm_socclk", r.SOCLevels, 0)
	t.levels(dir+"/pp_dpm_fclk", r.FabricLevels, 0)
	t.text(dir+"/current_link_speed", r.Speed)
	t.text(dir+"/max_link_speed", r.MaxSpeed)
	if r.Width > 0 {
		t.number(dir+"/current_link_width", int64(r.Width))
		t.number(dir+"/max_link_width", int64(r.MaxWidth))
		speed, width := c.linkToHost()
		t.write(dir+"/pp_dpm_pcie", fmt.Sprintf("0: %s, x%d *\n", speedOnly(speed), width))
	}
	t.number(dir+"/pcie_replay_count", r.Replays)
	t.write(dir+"/power_dpm_force_performance_level", "auto\n")
}

// linkToHost returns the link that the firmware reports: the link of the board, whose switch has AMD's ids.
func (c *Card) linkToHost() (speed string, width int) {
	for _, b := range c.Behind {
		if b.Vendor == 0x1002 {
			return b.Speed, b.Width
		}
	}
	return c.Readings.Speed, c.Readings.Width
}

// speedOnly converts "16.0 GT/s PCIe" to "16.0GT/s".
func speedOnly(speed string) string {
	var gts float64
	_, _ = fmt.Sscanf(speed, "%f", &gts)
	return fmt.Sprintf("%.1fGT/s", gts)
}

func (t *Tree) sensors(c *Card) {
	r := &c.Readings
	h := c.Sensors()
	t.write(h+"/name", "amdgpu\n")
	t.link(h+"/device", c.Dir())
	t.link("sys/class/hwmon/"+filepath.Base(h), h)
	for i, s := range []struct {
		label  string
		value  int
		limits Limits
	}{{"edge", r.Edge, r.EdgeLimits}, {"junction", r.Junction, r.JunctionLimits}, {"mem", r.Memory, r.MemoryLimit}} {
		if s.value == None {
			continue
		}
		n := fmt.Sprintf("%s/temp%d", h, i+1)
		t.number(n+"_input", int64(s.value))
		t.text(n+"_label", s.label)
		if s.limits.Critical > 0 {
			t.number(n+"_crit", int64(s.limits.Critical))
			t.number(n+"_crit_hyst", int64(s.limits.Hysteresis))
		}
		if s.limits.Emergency > 0 {
			t.number(n+"_emergency", int64(s.limits.Emergency))
		}
	}
	t.number(h+"/power1_average", r.Average)
	t.number(h+"/power1_input", r.Instant)
	if r.Average != None || r.Instant != None {
		t.text(h+"/power1_label", "PPT")
	}
	if r.Cap != None {
		t.number(h+"/power1_cap", r.Cap)
		t.number(h+"/power1_cap_max", r.CapMax)
		t.number(h+"/power1_cap_min", 0)
		t.number(h+"/power1_cap_default", r.Cap)
	}
	if r.Graphics != None {
		t.number(h+"/freq1_input", r.Graphics)
		t.text(h+"/freq1_label", "sclk")
	}
	if r.MemoryClock != None {
		t.number(h+"/freq2_input", r.MemoryClock)
		t.text(h+"/freq2_label", "mclk")
	}
	t.number(h+"/in0_input", int64(r.GraphicsVoltage))
	if r.GraphicsVoltage != None {
		t.text(h+"/in0_label", "vddgfx")
	}
	if r.Duty != None {
		t.number(h+"/pwm1", int64(r.Duty))
		t.number(h+"/pwm1_max", 255)
		t.number(h+"/pwm1_min", 0)
		t.number(h+"/fan1_input", int64(r.RPM))
		t.number(h+"/fan1_max", int64(r.MaxRPM))
		t.number(h+"/fan1_min", 0)
	}
}

func (t *Tree) function(f *PCIFunction) {
	dir := "sys/devices/pci" + f.Address[:4] + ":00/" + f.Address
	t.write(dir+"/vendor", fmt.Sprintf("0x%04x\n", f.Vendor))
	t.write(dir+"/class", fmt.Sprintf("0x%06x\n", f.Class))
	t.write(dir+"/device", "0x0001\n")
	t.link("sys/bus/pci/devices/"+f.Address, dir)
	if f.Driver != "" {
		t.mkdir("sys/bus/pci/drivers/" + f.Driver)
		t.link(dir+"/driver", "sys/bus/pci/drivers/"+f.Driver)
	}
}
