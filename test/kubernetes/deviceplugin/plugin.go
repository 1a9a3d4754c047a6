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
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	pluginv1beta1 "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// look is the interval of checks for a restarted kubelet.
const look = 100 * time.Millisecond

// plugin offers one resource.
type plugin struct {
	pluginv1beta1.UnimplementedDevicePluginServer
	resource resource
	dir      string
	socket   string // its name in dir
}

func newPlugin(dir string, r resource) *plugin {
	return &plugin{resource: r, dir: dir, socket: strings.ReplaceAll(r.name, "/", "_") + ".sock"}
}

// run serves and registers, and does so again whenever the kubelet has been restarted: a starting kubelet removes the sockets of all
// plugins and creates its own again.
func (p *plugin) run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := p.session(ctx); err != nil {
			log.Printf("%s: %v", p.resource.name, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(look):
		}
	}
}

// session serves one kubelet.
func (p *plugin) session(ctx context.Context) error {
	kubelet, ok := inode(filepath.Join(p.dir, "kubelet.sock"))
	if !ok {
		return nil // not there yet
	}
	path := filepath.Join(p.dir, p.socket)
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	pluginv1beta1.RegisterDevicePluginServer(server, p)
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()
	if err := p.register(ctx); err != nil {
		return err
	}
	log.Printf("%s: %d devices registered", p.resource.name, len(p.resource.devices))
	own, _ := inode(path)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(look):
		}
		now, there := inode(filepath.Join(p.dir, "kubelet.sock"))
		mine, still := inode(path)
		if !there || now != kubelet || !still || mine != own {
			return nil
		}
	}
}

func (p *plugin) register(ctx context.Context) error {
	conn, err := grpc.NewClient("unix://"+filepath.Join(p.dir, "kubelet.sock"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err = pluginv1beta1.NewRegistrationClient(conn).Register(ctx, &pluginv1beta1.RegisterRequest{
		Version: pluginv1beta1.Version, Endpoint: p.socket, ResourceName: p.resource.name,
	})
	if err != nil {
		return fmt.Errorf("register with the kubelet: %w", err)
	}
	return nil
}

// inode distinguishes sockets of the same name.
func inode(path string) (unix.Timespec, bool) {
	var s unix.Stat_t
	if unix.Stat(path, &s) != nil {
		return unix.Timespec{}, false
	}
	return s.Ctim, true // an inode number may be reused immediately
}

// GetDevicePluginOptions says that nothing optional is offered.
func (*plugin) GetDevicePluginOptions(context.Context, *pluginv1beta1.Empty) (*pluginv1beta1.DevicePluginOptions, error) {
	return &pluginv1beta1.DevicePluginOptions{}, nil
}

// ListAndWatch sends the devices once: they do not change.
func (p *plugin) ListAndWatch(_ *pluginv1beta1.Empty, stream pluginv1beta1.DevicePlugin_ListAndWatchServer) error {
	if err := stream.Send(&pluginv1beta1.ListAndWatchResponse{Devices: p.resource.devices}); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}

// Allocate names the devices in the container's environment, as NVIDIA's plugin does.
func (p *plugin) Allocate(_ context.Context, request *pluginv1beta1.AllocateRequest) (*pluginv1beta1.AllocateResponse, error) {
	response := &pluginv1beta1.AllocateResponse{}
	for _, container := range request.ContainerRequests {
		ids := make([]string, 0, len(container.DevicesIds))
		for _, id := range container.DevicesIds {
			device, _, _ := strings.Cut(id, "::")
			ids = append(ids, device)
		}
		response.ContainerResponses = append(response.ContainerResponses, &pluginv1beta1.ContainerAllocateResponse{
			Envs: map[string]string{"NVIDIA_VISIBLE_DEVICES": strings.Join(ids, ",")},
		})
	}
	return response, nil
}
