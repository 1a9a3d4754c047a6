// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Command demonode simulates the node of the demonstration around its GPUs: the process table, the users, the kubelet's log files and the
// kubelet's PodResources API. So the simulated processes have names, users and pods, and never the names of this machine's processes.
//
//	demonode DIRECTORY
//
// It writes into the directory, and serves the API on kubelet.sock in it until it is interrupted. test/nvmlsim/scenarios/demo.scenario has the GPUs and the processes.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	podresourcesv1 "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// pod is a pod with one container that holds GPUs.
type pod struct {
	namespace, name, container string
	gpus                       []int
	user                       int // ID of the user of its processes
	processes                  []process
}

type process struct {
	pid  int
	line []string
}

var users = map[int]string{1001: "ada", 1002: "grace", 1003: "linus"}

// pods are the pods of the node. The PIDs are the scenario's.
var pods = []pod{
	{"ml", "train-0", "trainer", []int{0, 1, 2, 3}, 1001, several(31001, 4, "python3", "train.py", "--epochs", "90")},
	{"serving", "chat-0", "triton", []int{4}, 1002, several(32100, 2, "tritonserver", "--model-repository=/models")},
	{"media", "transcode-0", "ffmpeg", []int{5}, 1003, append(several(33010, 3, "ffmpeg", "-hwaccel", "cuda"), several(33050, 1, "batch")...)},
	{"ml", "notebook-0", "jupyter", []int{6}, 1002, several(34200, 1, "python3", "-m", "ipykernel_launcher")},
}

// others are the processes outside of pods.
var others = several(2210, 1, "Xorg", ":0")

func several(first, count int, line ...string) []process {
	var all []process
	for i := range count {
		all = append(all, process{first + i, line})
	}
	return all
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "demonode:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: demonode DIRECTORY")
	}
	if err := write(args[0]); err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "unix", filepath.Join(args[0], "kubelet.sock"))
	if err != nil {
		return err
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, os.Interrupt, syscall.SIGTERM)
	server := grpc.NewServer()
	podresourcesv1.RegisterPodResourcesListerServer(server, kubelet{})
	go func() {
		<-ended
		server.Stop()
	}()
	return server.Serve(listener)
}

// write writes the process table, the users and the kubelet's log files.
func write(directory string) error {
	files := map[string]string{"proc/stat": "cpu  1 2 3\nbtime " + strconv.FormatInt(time.Now().Add(-time.Hour).Unix(), 10) + "\n"}
	var passwd strings.Builder
	passwd.WriteString("root:x:0:0::/root:/bin/sh\n")
	for id, name := range users {
		fmt.Fprintf(&passwd, "%s:x:%d:%d::/home/%s:/bin/sh\n", name, id, id, name)
	}
	files["etc/passwd"] = passwd.String()
	for _, p := range others {
		p.files(files, 0, "system.slice/display-manager.service")
	}
	for i, p := range pods {
		uid, id := fmt.Sprintf("00000000-0000-4000-8000-%012x", i+1), fmt.Sprintf("%064x", 0xc0ffee00+i)
		group := "kubepods.slice/kubepods-pod" + strings.ReplaceAll(uid, "-", "_") + ".slice/cri-containerd-" + id + ".scope"
		for _, one := range p.processes {
			one.files(files, p.user, group)
		}
		log := filepath.Join("log", "pods", p.namespace+"_"+p.name+"_"+uid, p.container, "0.log")
		files[log] = ""
		if err := os.MkdirAll(filepath.Join(directory, "log", "containers"), 0o700); err != nil {
			return err
		}
		link := filepath.Join(directory, "log", "containers", p.name+"_"+p.namespace+"_"+p.container+"-"+id+".log")
		target, err := filepath.Abs(filepath.Join(directory, log))
		if err != nil {
			return err
		}
		if err := os.Symlink(target, link); err != nil {
			return err
		}
	}
	for name, text := range files {
		path := filepath.Join(directory, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// files adds the files of a process.
func (p process) files(files map[string]string, user int, group string) {
	directory, name := "proc/"+strconv.Itoa(p.pid)+"/", p.line[0]
	files[directory+"stat"] = fmt.Sprintf("%d (%s) S 1 %d %d 0 -1 4194304 100 0 0 0 5 6 0 0 20 0 1 0 %d 1024 10 18446744073709551615 1 1 0 0\n",
		p.pid, name, p.pid, p.pid, p.pid)
	files[directory+"status"] = fmt.Sprintf("Name:\t%s\nUid:\t%d\t%d\t%d\t%d\n", name, user, user, user, user)
	files[directory+"comm"] = name + "\n"
	files[directory+"cgroup"] = "0::/" + group + "\n"
	files[directory+"cmdline"] = strings.Join(p.line, "\x00") + "\x00"
}

// kubelet is the PodResources API of the node.
type kubelet struct {
	podresourcesv1.UnimplementedPodResourcesListerServer
}

// List implements the API.
func (kubelet) List(context.Context, *podresourcesv1.ListPodResourcesRequest) (*podresourcesv1.ListPodResourcesResponse, error) {
	response := &podresourcesv1.ListPodResourcesResponse{}
	for _, p := range pods {
		devices := &podresourcesv1.ContainerDevices{ResourceName: "nvidia.com/gpu"}
		for _, number := range p.gpus {
			devices.DeviceIds = append(devices.DeviceIds, uuid(number))
		}
		response.PodResources = append(response.PodResources, &podresourcesv1.PodResources{
			Namespace: p.namespace, Name: p.name,
			Containers: []*podresourcesv1.ContainerResources{{Name: p.container, Devices: []*podresourcesv1.ContainerDevices{devices}}},
		})
	}
	return response, nil
}

// uuid returns the UUID that the simulator gives a GPU.
func uuid(number int) string {
	return fmt.Sprintf("GPU-%08x-5eed-4a11-8c0d-%012x", 0x6f1c2a00+number, 0xc0ffee00+number)
}
