// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	specs "tags.cncf.io/container-device-interface/specs-go"
)

// device is one GPU on offer.
type device struct {
	name, uuid string
	minor      int64 // of its device node; -1: the CDI file names none
}

// parseDevice reads name=uuid[,minor=n].
func parseDevice(s string) (device, error) {
	identity, minor, hasNode := strings.Cut(s, ",minor=")
	name, uuid, ok := strings.Cut(identity, "=")
	if !ok || name == "" || uuid == "" || strings.Contains(uuid, ",") {
		return device{}, fmt.Errorf("%q is not name=uuid[,minor=n]", s)
	}
	d := device{name: name, uuid: uuid, minor: -1}
	if hasNode {
		n, err := strconv.ParseUint(minor, 10, 16)
		if err != nil {
			return device{}, fmt.Errorf("%q: minor: %w", s, err)
		}
		d.minor = int64(n)
	}
	return d, nil
}

const (
	cdiVersion  = "0.5.0"
	nvidiaMajor = 195 // of the character devices /dev/nvidia<n>
)

func (d *driver) cdiKind() string { return "k8s." + d.name + "/claim" }

func (d *driver) cdiFile(claimUID string) string {
	return filepath.Join(d.cdi, "k8s."+d.name+"-claim_"+claimUID+".json")
}

// writeCDI writes the CDI file of a claim and returns the qualified names of its devices, in their order.
func (d *driver) writeCDI(claimUID string, devices []device) ([]string, error) {
	spec := specs.Spec{Version: cdiVersion, Kind: d.cdiKind()}
	var names []string
	for _, dev := range devices {
		name := claimUID + "-" + dev.name
		edits := specs.ContainerEdits{Env: []string{"GPU_CLAIM=" + claimUID}}
		if dev.minor >= 0 {
			edits.DeviceNodes = []*specs.DeviceNode{{
				Path: fmt.Sprint("/dev/nvidia", dev.minor), Type: "c", Major: nvidiaMajor, Minor: dev.minor, Permissions: "rw",
			}}
		}
		spec.Devices = append(spec.Devices, specs.Device{Name: name, ContainerEdits: edits})
		names = append(names, spec.Kind+"="+name)
	}
	data, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(d.cdi, 0o755); err != nil {
		return nil, err
	}
	temporary := d.cdiFile(claimUID) + ".new" // of another extension: no reader takes half a file
	if err := os.WriteFile(temporary, data, 0o644); err != nil {
		return nil, err
	}
	return names, os.Rename(temporary, d.cdiFile(claimUID))
}

func (d *driver) removeCDI(claimUID string) error {
	if err := os.Remove(d.cdiFile(claimUID)); err != nil && !os.IsNotExist(err) {
		return err
	}
	return nil
}
