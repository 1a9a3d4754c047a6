// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"fmt"
	"strconv"
	"strings"

	pluginv1beta1 "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// resource is what is offered under one name.
type resource struct {
	name    string
	devices []*pluginv1beta1.Device
}

// parseResource reads name=id,…; an id may end with *<replicas> or with @<NUMA node>+….
func parseResource(s string) (resource, error) {
	name, list, ok := strings.Cut(s, "=")
	if !ok || name == "" || list == "" {
		return resource{}, fmt.Errorf("%q is not name=id,…", s)
	}
	r := resource{name: name}
	for item := range strings.SplitSeq(list, ",") {
		devices, err := parseDevice(item)
		if err != nil {
			return resource{}, err
		}
		r.devices = append(r.devices, devices...)
	}
	return r, nil
}

func parseDevice(item string) ([]*pluginv1beta1.Device, error) {
	id, nodes, placed := strings.Cut(item, "@")
	id, count, shared := strings.Cut(id, "*")
	if id == "" {
		return nil, fmt.Errorf("%q is no device", item)
	}
	var topology *pluginv1beta1.TopologyInfo
	if placed {
		topology = &pluginv1beta1.TopologyInfo{}
		for node := range strings.SplitSeq(nodes, "+") {
			n, err := strconv.ParseInt(node, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("%q: NUMA node: %w", item, err)
			}
			topology.Nodes = append(topology.Nodes, &pluginv1beta1.NUMANode{ID: n})
		}
	}
	ids := []string{id}
	if shared {
		n, err := strconv.Atoi(count)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q: %q is no number of replicas", item, count)
		}
		ids = ids[:0]
		for i := range n {
			ids = append(ids, fmt.Sprintf("%s::%d", id, i))
		}
	}
	var devices []*pluginv1beta1.Device
	for _, id := range ids {
		devices = append(devices, &pluginv1beta1.Device{ID: id, Health: pluginv1beta1.Healthy, Topology: topology})
	}
	return devices, nil
}
