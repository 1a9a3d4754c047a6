// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/otelgpu/gpureceiver/test/fleet/simulation"
	"github.com/otelgpu/gpureceiver/test/kubernetes/cluster"
)

// Paths in the cluster.
const (
	driverNamespace   = "gpu-operator"
	workloadNamespace = "training"
	ownNamespace      = "monitoring"
	account           = "gpureceiver"
)

// Defaults for the environment: the programs that test/kubernetes/build.sh builds, relative to the root of the repository, and an index
// that the other tests do not use.
const (
	usualCache = ".tools/kubernetes"
	usualIndex = "2"
)

// fleet is the control plane and its simulated nodes.
type fleet struct {
	layout cluster.Layout
	client kubernetes.Interface
	nodes  *simulation.Nodes
	execs  *simulation.Execs
	server *http.Server
	end    func() // of the nodes
}

// startControlPlane starts a control plane of its own. It never writes to a cluster that it did not start: it refuses one that the
// environment names, and `node up` refuses one that already runs.
func startControlPlane(ctx context.Context) (*fleet, error) {
	if run := os.Getenv(cluster.EnvRun); run != "" {
		return nil, fmt.Errorf("%s names the running cluster %s; unset it: the fleet writes thousands of objects, and only to a cluster of its own",
			cluster.EnvRun, run)
	}
	for name, usual := range map[string]string{cluster.EnvCache: usualCache, cluster.EnvIndex: usualIndex} {
		if os.Getenv(name) == "" {
			if err := os.Setenv(name, usual); err != nil {
				return nil, err
			}
		}
	}
	layout, err := cluster.LayoutFromEnv()
	if err != nil {
		return nil, err
	}
	up := exec.CommandContext(ctx, layout.Bin("node"), "up", "-control-plane")
	up.Stderr = os.Stderr
	if err := up.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w; build it with test/kubernetes/build.sh", strings.Join(up.Args, " "), err)
	}
	f := &fleet{layout: layout}
	config, err := clientcmd.BuildConfigFromFlags("", f.layout.Kubeconfig())
	if err != nil {
		return f, err
	}
	config.QPS, config.Burst = 2000, 4000
	config.ContentType, config.AcceptContentTypes = "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf,application/json"
	f.client, err = kubernetes.NewForConfig(config)
	return f, err
}

// populate creates the nodes, their driver pods, and the pods that use their GPUs, and waits until all run.
func (f *fleet) populate(ctx context.Context, o *options) error {
	listener, err := net.Listen("tcp", net.JoinHostPort(f.layout.MachineIP(), "0"))
	if err != nil {
		return err
	}
	tls, err := simulation.ServerTLS(f.layout.PKI("kubelet-serving.crt"), f.layout.PKI("kubelet-serving.key"), f.layout.PKI("ca.crt"))
	if err != nil {
		return err
	}
	f.nodes = &simulation.Nodes{
		Client: f.client, Count: o.nodes, GPUs: o.gpus, Address: f.layout.MachineIP(), WorkloadNS: workloadNamespace,
		Port: int32(listener.Addr().(*net.TCPAddr).Port),
	}
	f.execs = &simulation.Execs{Shell: &simulation.Shell{Tool: simulation.NewTool()}, Find: f.nodes.Find}
	f.server = &http.Server{Handler: f.execs, TLSConfig: tls, ReadHeaderTimeout: time.Minute}
	go func() { _ = f.server.ServeTLS(listener, "", "") }()

	if err := f.nodes.Register(ctx); err != nil {
		return fmt.Errorf("register nodes: %w", err)
	}
	running, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.nodes.Run(running)
	}()
	f.end = func() {
		cancel()
		<-ended
		_ = f.server.Close()
	}
	for _, name := range []string{driverNamespace, workloadNamespace, ownNamespace} {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := f.client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	if _, err := f.client.AppsV1().DaemonSets(driverNamespace).Create(ctx, driver(), metav1.CreateOptions{}); err != nil {
		return err
	}
	for i := range o.nodes {
		if _, err := f.client.CoreV1().Pods(workloadNamespace).Create(ctx, workload(i), metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return f.waitRunning(ctx, int64(2*o.nodes))
}

// waitRunning waits for pods to run.
func (f *fleet) waitRunning(ctx context.Context, want int64) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	for f.nodes.Running() < want {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d pods run, %d calls failed: %w", f.nodes.Running(), want, f.nodes.Failed(), ctx.Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
	return nil
}

// driver is a DaemonSet like the driver DaemonSet of the GPU operator.
func driver() *appsv1.DaemonSet {
	labels := map[string]string{"app": "nvidia-driver-daemonset"}
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "nvidia-driver-daemonset", Labels: labels},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					HostPID: true, Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
					Containers: []corev1.Container{{Name: "nvidia-driver-ctr", Image: "localhost/driver:1"}},
				},
			},
		},
	}
}

// workload is a pod that uses all GPUs of a node.
func workload(i int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("train-%04d", i), Labels: map[string]string{"app": "train"}},
		Spec: corev1.PodSpec{
			NodeName:   simulation.Name(i),
			Containers: []corev1.Container{{Name: "main", Image: "localhost/train:1"}},
		},
	}
}

// access creates the collector's service account, with the minimum permissions, and returns the path of its token.
func (f *fleet) access(ctx context.Context, dir string) (token string, err error) {
	meta := metav1.ObjectMeta{Name: account}
	subjects := []rbacv1.Subject{{Kind: "ServiceAccount", Name: account, Namespace: ownNamespace}}
	rbac := f.client.RbacV1()
	_, err1 := f.client.CoreV1().ServiceAccounts(ownNamespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: meta}, metav1.CreateOptions{})
	_, err2 := rbac.ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"nodes", "pods"}, Verbs: []string{"list", "watch"}},
		{APIGroups: []string{"apps"}, Resources: []string{"replicasets"}, Verbs: []string{"list", "watch"}},
		{APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: []string{"list", "watch"}},
	}}, metav1.CreateOptions{})
	_, err3 := rbac.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, Subjects: subjects, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: account, APIGroup: rbacv1.GroupName},
	}, metav1.CreateOptions{})
	errs := []error{err1, err2, err3}
	for namespace, rules := range map[string][]rbacv1.PolicyRule{
		driverNamespace: {{APIGroups: []string{""}, Resources: []string{"pods/exec"}, Verbs: []string{"get", "create"}}},
		ownNamespace: {{
			APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"list", "create", "update", "delete"},
		}},
	} {
		_, err4 := rbac.Roles(namespace).Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{})
		_, err5 := rbac.RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: meta, Subjects: subjects, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: account, APIGroup: rbacv1.GroupName},
		}, metav1.CreateOptions{})
		errs = append(errs, err4, err5)
	}
	if err := errors.Join(errs...); err != nil {
		return "", err
	}
	seconds := int64(24 * 3600)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	answer, err := f.client.CoreV1().ServiceAccounts(ownNamespace).CreateToken(ctx, account, request, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	token = filepath.Join(dir, "token")
	return token, os.WriteFile(token, []byte(answer.Status.Token), 0o600)
}

// stop ends what was started.
func (f *fleet) stop() {
	if f.end != nil {
		f.end()
	}
	down := exec.Command(f.layout.Bin("node"), "down")
	down.Stderr = os.Stderr
	if err := down.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
	}
}
