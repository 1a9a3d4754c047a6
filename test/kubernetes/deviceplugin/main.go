// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Command deviceplugin is a device plugin for tests: it offers made-up devices to a real kubelet.
//
//	deviceplugin -resource nvidia.com/gpu=GPU-a,GPU-b -resource nvidia.com/gpu.shared=GPU-c*4
//
// offers two devices of the one resource, and four replicas GPU-c::0 to GPU-c::3 of one device as the other.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"os/signal"
	"sync"
	"syscall"

	pluginv1beta1 "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

func main() {
	dir := flag.String("dir", pluginv1beta1.DevicePluginPath, "the kubelet's folder of device plugins")
	var resources []resource
	flag.Func("resource", "name=id,…; id*4 for replicas, id@0+1 for a device on the NUMA nodes 0 and 1; may be repeated", func(s string) error {
		r, err := parseResource(s)
		resources = append(resources, r)
		return err
	})
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, *dir, resources)
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

// run offers the resources until the context ends.
func run(ctx context.Context, dir string, resources []resource) error {
	if len(resources) == 0 {
		return errors.New("nothing to offer: no -resource is given")
	}
	var running sync.WaitGroup
	defer running.Wait()
	for _, r := range resources {
		running.Go(func() { newPlugin(dir, r).run(ctx) })
	}
	return nil
}
