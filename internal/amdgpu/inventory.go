// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

const (
	vendorAMD    = 0x1002
	driverName   = "amdgpu"
	maxFunctions = 1 << 16
	maxDRM       = 4096
	listSize     = 32 << 10
)

// card is a GPU of which the driver has made a DRM device.
type card struct {
	name    string // card1
	address string // 0000:03:00.0
	render  string // renderD128; empty where there is none
	decodes bool   // its engine for encoding video decodes, too
}

// function is a GPU on the PCI bus, whether or not its driver can read it.
type function struct {
	address string
	driver  string // that it is bound to; empty: none
}

// owner is what a DRM node belongs to.
type owner struct {
	address   string
	partition int
}

// inventory is which GPUs there are. It is never changed after it was made.
type inventory struct {
	cards     []card     // by address
	functions []function // by address
	busKnown  bool
	loaded    bool // the driver is
	nodes     []kfdNode
	nodesErr  error            // why the KFD topology could not be read whole
	drm       map[string]owner // by the name of the node: renderD128, card1
	starved   error            // why it is not to be believed
	divisible bool             // the driver has made DRM devices of partitions, be they in use or not
}

// scanner finds the GPUs. What did not change is not read again.
type scanner struct {
	root string
	seed maphash.Seed
	list []byte
	buf  []byte

	drmSum, busSum, generation uint64
	functions                  []function
	cards                      []card
	xcps                       map[string][]string // DRM nodes of each amdgpu_xcp_N
	nodes                      []kfdNode
	nodesErr                   error
	again                      bool // look at everything
	starved                    error
}

func newScanner(root string) *scanner {
	return &scanner{root: root, seed: maphash.MakeSeed(), list: make([]byte, listSize), buf: make([]byte, 8<<10), again: true}
}

// scan looks at what there is.
func (s *scanner) scan() *inventory {
	inv := &inventory{}
	again := s.again
	s.again, s.starved = false, nil
	_, err := stampOf(filepath.Join(s.root, "sys/module", driverName))
	inv.loaded = err == nil
	inv.busKnown = s.bus(again)
	drm := s.drm(again)
	s.topology(again || drm)
	inv.functions = slices.Clone(s.functions)
	inv.cards = s.cards
	inv.nodes, inv.nodesErr = s.nodes, s.nodesErr
	inv.drm = s.owners()
	inv.starved = s.starved
	s.again = s.starved != nil
	inv.divisible = len(s.xcps) > 0
	return inv
}

// sum is a hash over the names in a directory, in the order of the kernel, which does not change by itself.
func (s *scanner) sum(d *dir) (uint64, error) {
	var h maphash.Hash
	h.SetSeed(s.seed)
	for name, err := range d.names(s.list) {
		if err != nil {
			return 0, err
		}
		_, _ = h.Write(name)
		_ = h.WriteByte(0)
	}
	return h.Sum64(), nil
}

// drm finds the driver's DRM devices: cards, which lie below their PCI function, and partitions, which do not.
func (s *scanner) drm(again bool) (changed bool) {
	d, err := openDir(filepath.Join(s.root, "sys/class/drm"))
	if err != nil {
		s.note(err)
		changed = s.drmSum != 0
		s.cards, s.xcps, s.drmSum = nil, nil, 0
		return changed
	}
	defer d.close()
	sum, err := s.sum(d)
	if err != nil || !again && sum == s.drmSum {
		return false
	}
	s.drmSum = sum
	s.xcps = map[string][]string{}
	byAddress := map[string]*card{}
	n := 0
	for name := range d.names(s.list) {
		if n++; n > maxDRM {
			break
		}
		if !isDRMNode(name) {
			continue // connectors, version
		}
		node := string(name)
		parent := s.parent(d, node)
		switch {
		case isXCP(parent):
			s.xcps[parent] = append(s.xcps[parent], node)
		case !isPCIAddress(parent) || !s.driven(d, node):
		default:
			c := byAddress[parent]
			if c == nil {
				c = &card{address: parent, decodes: s.decodes(d, node)}
				byAddress[parent] = c
			}
			if strings.HasPrefix(node, "card") {
				c.name = node
			} else {
				c.render = node
			}
		}
	}
	for _, nodes := range s.xcps {
		slices.Sort(nodes)
	}
	s.cards = make([]card, 0, len(byAddress))
	for _, c := range byAddress {
		c.name = cmp.Or(c.name, c.render) // a GPU without a display may have a render node alone
		s.cards = append(s.cards, *c)
	}
	slices.SortFunc(s.cards, func(a, b card) int { return strings.Compare(a.address, b.address) })
	return true
}

// driven tells whether a DRM device is one of the amdgpu driver.
func (s *scanner) driven(d *dir, node string) bool {
	target, err := d.link(node+"/device/driver", s.buf)
	if err == nil {
		return filepath.Base(string(target)) == driverName
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	text, err := d.read(node+"/device/vendor", s.buf)
	s.note(err)
	v, ok := parseHex(text)
	return err == nil && ok && v == vendorAMD
}

// decodes tells whether encoding and decoding are done by one engine, as they are from version 4 of the video block (VCN, which is
// number 12) on.
func (s *scanner) decodes(d *dir, node string) bool {
	text, err := d.read(node+"/device/ip_discovery/die/0/12/0/major", s.buf)
	version, ok := parseUint(text)
	return err == nil && ok && version >= 4
}

// parent returns the device to which a DRM node belongs, by where the link of the class leads:
// ../../devices/pci0000:00/0000:00:01.0/0000:03:00.0/drm/card1, ../../devices/platform/amdgpu_xcp_3/drm/card4.
func (s *scanner) parent(d *dir, node string) string {
	target, err := d.link(node, s.buf)
	if err != nil {
		return ""
	}
	parts := strings.Split(string(target), "/")
	if len(parts) < 3 || parts[len(parts)-2] != "drm" {
		return ""
	}
	return parts[len(parts)-3]
}

// isXCP tells the platform device of a partition: amdgpu_xcp_3, of earlier kernels, 6.8 among them, amdgpu_xcp.3.
func isXCP(device string) bool {
	return strings.HasPrefix(device, "amdgpu_xcp_") || strings.HasPrefix(device, "amdgpu_xcp.")
}

// owners tells which GPU or partition each DRM node is of. A partition is known by the minor number of its render node,
// which the KFD topology gives.
func (s *scanner) owners() map[string]owner {
	result := make(map[string]owner, 2*len(s.cards)+2*len(s.xcps))
	for _, c := range s.cards {
		result[c.name] = owner{address: c.address}
		if c.render != "" {
			result[c.render] = owner{address: c.address}
		}
	}
	for i := range s.nodes {
		n := &s.nodes[i]
		for _, name := range n.drm {
			result[name] = owner{address: n.address, partition: n.partition}
		}
	}
	return result
}

func isDRMNode(name []byte) bool {
	rest, ok := strings.CutPrefix(string(name), "card")
	if !ok {
		rest, ok = strings.CutPrefix(string(name), "renderD")
	}
	_, digits := parseUint([]byte(rest))
	return ok && digits
}

// isPCIAddress tells 0000:03:00.0.
func isPCIAddress(s string) bool {
	if len(s) < 12 || s[len(s)-2] != '.' || s[len(s)-5] != ':' || s[len(s)-8] != ':' {
		return false
	}
	for i, c := range s {
		switch {
		case i == len(s)-2 || i == len(s)-5 || i == len(s)-8:
		case c >= '0' && c <= '9', c >= 'a' && c <= 'f':
		default:
			return false
		}
	}
	return true
}

// bound tells what the function of a card is bound to, and whether it is on the bus.
func (inv *inventory) bound(address string) (driver string, there bool) {
	for _, f := range inv.functions {
		if f.address == address {
			return f.driver, true
		}
	}
	return "", false
}

// foreign tells whether a GPU was handed to another driver, and so is none of this one's business.
func (inv *inventory) foreign(address string) bool {
	driver, there := inv.bound(address)
	return there && driver != "" && driver != driverName
}

func errNoDriver(root string) error {
	return fmt.Errorf("amdgpu: %s: the amdgpu driver is not loaded; where there are AMD GPUs, load it, and where the"+
		" collector runs in a container, mount the machine's /sys or set root_path", filepath.Join(root, "sys/module", driverName))
}
