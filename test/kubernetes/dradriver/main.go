// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Command dradriver is a driver of dynamic resource allocation for tests: it offers made-up GPUs to a real cluster, and
// prepares the claims of its node by CDI files, as the vendors' drivers do.
//
//	dradriver -node n1 -kubeconfig FILE -device gpu-6=GPU-a,minor=6 -device board=GPU-b
//
// offers two devices. The CDI file names the device node /dev/nvidia6 for the first. It does not identify the second, so only its
// attributes in the ResourceSlice do.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"os/signal"
	"syscall"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	var d driver
	flag.StringVar(&d.name, "driver", "gpu.nvidia.com", "the driver's name")
	flag.StringVar(&d.node, "node", "", "the name of the node")
	flag.StringVar(&d.kubelet, "dir", "/var/lib/kubelet", "the kubelet's folder")
	flag.StringVar(&d.cdi, "cdi", "/var/run/cdi", "the folder for CDI files")
	kubeconfig := flag.String("kubeconfig", "", "how to reach the API server")
	flag.Func("device", "name=uuid[,minor=n]; may be repeated", func(s string) error {
		parsed, err := parseDevice(s)
		d.devices = append(d.devices, parsed)
		return err
	})
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := start(ctx, &d, *kubeconfig)
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

// start connects and runs until the context ends.
func start(ctx context.Context, d *driver, kubeconfig string) error {
	if d.node == "" || len(d.devices) == 0 {
		return errors.New("-node and at least one -device must be given")
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	d.api = client.ResourceV1()
	return d.run(ctx)
}
