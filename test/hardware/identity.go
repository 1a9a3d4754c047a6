// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/user"
	"regexp"
	"slices"
	"strings"
)

const removed = "removed"

// keptAttributes are the attributes of OTLP whose texts identify nobody. All other texts are removed.
var keptAttributes = strings.Fields(`
	error.type hw.driver_version hw.firmware_version hw.gpu.architecture hw.gpu.board.part_number hw.gpu.brand hw.gpu.c2c hw.gpu.clock_domain
	hw.gpu.compute_capability hw.gpu.cuda.version hw.gpu.error.block hw.gpu.error.location hw.gpu.fabric.condition hw.gpu.fabric.state
	hw.gpu.inforom.version hw.gpu.interconnect.ber hw.gpu.interconnect.link hw.gpu.interconnect.link_state hw.gpu.interconnect.type
	hw.gpu.interconnect.version hw.gpu.memory.bank.spares hw.gpu.memory.partition hw.gpu.memory.type hw.gpu.mode.name hw.gpu.mode.value
	hw.gpu.nvml.version hw.gpu.partition.profile hw.gpu.pcie.device hw.gpu.pcie.layer hw.gpu.peer.capability hw.gpu.pipe hw.gpu.presence
	hw.gpu.previous_state hw.gpu.recommended_action hw.gpu.recovery.action hw.gpu.remap.state hw.gpu.reset.state hw.gpu.ring hw.gpu.source.name
	hw.gpu.task hw.gpu.throttle.reason hw.gpu.xid_name hw.limit_type hw.model hw.name hw.sensor_location hw.state hw.type hw.vendor
	network.io.direction process.gpu.type`)

// idAttributes are replaced by the number of the device.
var idAttributes = []string{"hw.id", "hw.parent", "hw.gpu.peer.id"}

var (
	uuid       = regexp.MustCompile(`(?i)\b((GPU|MIG)-)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`)
	pciAddress = regexp.MustCompile(`(?i)\b([0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]\b`)
	// toolLine is a line of nvidia-smi -q, or of -q -x, whose value identifies the GPU, its place, or a process.
	toolLine = regexp.MustCompile(`(?im)^(\s*(?:[^:<\n]*(?:serial|uuid|pdi|guid|bus id|board id|host id)[^:<\n]*|name|bus|domain|device)\s*: ` +
		`|\s*<(?:[^>/\n]*(?:serial|uuid|pdi|guid|board_id|host_id)[^>/\n]*|pci_bus|pci_bus_id|pci_domain|pci_device|process_name)>)[^<\n]*`)
)

// identities knows what identifies this machine.
type identities struct {
	numbers map[string]string // by hw.id
	words   *regexp.Regexp    // names of the machine and of the user; nil if neither is known
}

func newIdentities(ids []string) *identities {
	i := &identities{numbers: map[string]string{}}
	for n, id := range ids {
		i.numbers[id] = fmt.Sprintf("GPU-%d", n+1)
	}
	host, _ := os.Hostname()
	short, _, _ := strings.Cut(host, ".")
	home, _ := os.UserHomeDir()
	names := []string{host, short, home, os.Getenv("SUDO_USER")}
	if u, err := user.Current(); err == nil {
		names = append(names, u.Username, u.HomeDir)
	}
	var words []string
	for _, name := range names {
		if len(name) > 1 && name != "root" && name != "/root" {
			words = append(words, regexp.QuoteMeta(name))
		}
	}
	if len(words) > 0 {
		i.words = regexp.MustCompile(`(^|[^\w-])(` + strings.Join(words, "|") + `)\b`)
	}
	return i
}

// text removes identities from a text.
func (i *identities) text(text string) string {
	byLength := func(a, b string) int { return len(b) - len(a) } // the ID of a partition may begin with the ID of its GPU
	for _, id := range slices.SortedFunc(maps.Keys(i.numbers), byLength) {
		text = strings.ReplaceAll(text, id, i.numbers[id])
	}
	text = pciAddress.ReplaceAllString(uuid.ReplaceAllString(text, removed), removed)
	if i.words != nil {
		text = i.words.ReplaceAllString(text, "${1}"+removed)
	}
	return text
}

// tool removes identities from the output of nvidia-smi.
func (i *identities) tool(text string) string {
	return i.text(toolLine.ReplaceAllString(text, "${1}"+removed))
}

// otlp removes identities from OTLP as JSON.
func (i *identities) otlp(message []byte) ([]byte, error) {
	var all any
	if err := json.Unmarshal(message, &all); err != nil {
		return nil, err
	}
	i.clean(all)
	return json.Marshal(all)
}

func (i *identities) clean(v any) {
	switch v := v.(type) {
	case []any:
		for _, element := range v {
			i.clean(element)
		}
	case map[string]any:
		delete(v, "body") // a sentence, which may name processes
		if key, isAttribute := v["key"].(string); isAttribute {
			v["value"] = i.attribute(key, v["value"])
			return
		}
		for _, element := range v {
			i.clean(element)
		}
	}
}

// attribute returns the value of an attribute without identities. Numbers and what is true or false stay.
func (i *identities) attribute(key string, value any) any {
	v, _ := value.(map[string]any)
	text, isText := v["stringValue"].(string)
	switch {
	case isText && slices.Contains(idAttributes, key):
		if number, known := i.numbers[text]; known {
			return map[string]any{"stringValue": number}
		}
	case isText && slices.Contains(keptAttributes, key), v["intValue"] != nil && key != "process.user.id", v["doubleValue"] != nil, v["boolValue"] != nil:
		return value
	}
	return map[string]any{"stringValue": removed}
}
