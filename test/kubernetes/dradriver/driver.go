// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourceclient "k8s.io/client-go/kubernetes/typed/resource/v1"
	drav1 "k8s.io/kubelet/pkg/apis/dra/v1"
	registrationv1 "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// driver offers its devices and prepares the claims that are given them.
type driver struct {
	drav1.UnimplementedDRAPluginServer
	registrationv1.UnimplementedRegistrationServer

	name, node   string
	kubelet, cdi string // directories
	devices      []device
	api          resourceclient.ResourceV1Interface
}

func (d *driver) socket() string { return filepath.Join(d.kubelet, "plugins", d.name, "dra.sock") }

// run serves the kubelet and keeps the devices published until the context ends. A kubelet that restarts finds the sockets in place.
func (d *driver) run(ctx context.Context) error {
	serve := func(path string, register func(*grpc.Server)) error {
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			return err
		}
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			return err
		}
		listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
		if err != nil {
			return err
		}
		server := grpc.NewServer()
		register(server)
		context.AfterFunc(ctx, server.Stop)
		go func() { _ = server.Serve(listener) }()
		return nil
	}
	if err := serve(d.socket(), func(s *grpc.Server) { drav1.RegisterDRAPluginServer(s, d) }); err != nil {
		return err
	}
	registry := filepath.Join(d.kubelet, "plugins_registry", d.name+"-reg.sock")
	if err := serve(registry, func(s *grpc.Server) { registrationv1.RegisterRegistrationServer(s, d) }); err != nil {
		return err
	}
	for {
		if err := d.publish(ctx); err != nil && ctx.Err() == nil {
			log.Printf("publish the devices: %v", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(500 * time.Millisecond): // the kubelet takes the slice away when it thinks the driver gone
		}
	}
}

// GetInfo describes the plugin to the kubelet.
func (d *driver) GetInfo(context.Context, *registrationv1.InfoRequest) (*registrationv1.PluginInfo, error) {
	return &registrationv1.PluginInfo{
		Type: registrationv1.DRAPlugin, Name: d.name, Endpoint: d.socket(),
		SupportedVersions: []string{drav1.DRAPluginService},
	}, nil
}

// NotifyRegistrationStatus receives the result of the registration.
func (d *driver) NotifyRegistrationStatus(_ context.Context, status *registrationv1.RegistrationStatus) (*registrationv1.RegistrationStatusResponse, error) {
	log.Printf("%s: registered: %v %s", d.name, status.PluginRegistered, status.Error)
	return &registrationv1.RegistrationStatusResponse{}, nil
}

// NodePrepareResources writes the CDI files of claims.
func (d *driver) NodePrepareResources(ctx context.Context, request *drav1.NodePrepareResourcesRequest) (*drav1.NodePrepareResourcesResponse, error) {
	response := &drav1.NodePrepareResourcesResponse{Claims: make(map[string]*drav1.NodePrepareResourceResponse)}
	for _, claim := range request.Claims {
		devices, err := d.prepare(ctx, claim)
		prepared := &drav1.NodePrepareResourceResponse{Devices: devices}
		if err != nil {
			prepared.Error = err.Error()
		}
		response.Claims[claim.Uid] = prepared
	}
	return response, nil
}

func (d *driver) prepare(ctx context.Context, claim *drav1.Claim) ([]*drav1.Device, error) {
	object, err := d.api.ResourceClaims(claim.Namespace).Get(ctx, claim.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if string(object.UID) != claim.Uid || object.Status.Allocation == nil {
		return nil, fmt.Errorf("claim %s/%s is not the one that is allocated", claim.Namespace, claim.Name)
	}
	var devices []device
	var prepared []*drav1.Device
	for _, result := range object.Status.Allocation.Devices.Results {
		if result.Driver != d.name {
			continue
		}
		dev, ok := d.device(result.Device)
		if !ok {
			return nil, fmt.Errorf("no device %s", result.Device)
		}
		devices = append(devices, dev)
		prepared = append(prepared, &drav1.Device{
			RequestNames: []string{result.Request}, PoolName: result.Pool, DeviceName: result.Device,
		})
	}
	names, err := d.writeCDI(claim.Uid, devices)
	if err != nil {
		return nil, err
	}
	for i := range prepared {
		prepared[i].CdiDeviceIds = names[i : i+1]
	}
	return prepared, nil
}

func (d *driver) device(name string) (device, bool) {
	for _, dev := range d.devices {
		if dev.name == name {
			return dev, true
		}
	}
	return device{}, false
}

// NodeUnprepareResources removes the CDI files of claims.
func (d *driver) NodeUnprepareResources(_ context.Context, request *drav1.NodeUnprepareResourcesRequest) (*drav1.NodeUnprepareResourcesResponse, error) {
	response := &drav1.NodeUnprepareResourcesResponse{Claims: make(map[string]*drav1.NodeUnprepareResourceResponse)}
	for _, claim := range request.Claims {
		unprepared := &drav1.NodeUnprepareResourceResponse{}
		if err := d.removeCDI(claim.Uid); err != nil {
			unprepared.Error = err.Error()
		}
		response.Claims[claim.Uid] = unprepared
	}
	return response, nil
}
