// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"errors"
	"os"
	"strings"

	"github.com/otelgpu/gpureceiver/test/kubernetes/cluster"
)

// pauseImage holds the namespaces of pods.
const pauseImage = "localhost/pause:1"

// containerdConfig is for containerd 1.6, Debian's. The processes of containers keep their OOM scores if root lacks CAP_SYS_RESOURCE, as in
// a sandbox; without restrict_oom_score_adj runc starts nothing there.
const containerdConfig = `version = 2
root = "RUN/containerd"
state = "RUN/containerd-state"
[grpc]
  address = "RUN/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "RUN/containerd-opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "` + pauseImage + `"
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "BIN/cni"
    conf_dir = "RUN/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      BinaryName = "BIN/runc"
      SystemdCgroup = false
`

const networkConfig = `{
  "cniVersion": "1.0.0",
  "name": "pods",
  "plugins": [{
    "type": "bridge", "bridge": "pods", "isGateway": true, "ipMasq": false, "hairpinMode": true,
    "ipam": {
      "type": "host-local", "dataDir": "RUN/cni-addresses", "ranges": [[{"subnet": "PODS"}]], "routes": [{"dst": "0.0.0.0/0"}]
    }
  }]
}
`

// kubeletConfig accepts control groups of version 1 if the machine has them, which a kubelet of 1.35 and later refuses by default, and
// disables eviction because the disk is the machine's.
const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
cgroupDriver: cgroupfs
cgroupRoot: /CGROUP
containerRuntimeEndpoint: unix://RUN/containerd.sock
address: 0.0.0.0
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: PKI/ca.crt}}
authorization: {mode: Webhook}
tlsCertFile: PKI/kubelet-serving.crt
tlsPrivateKeyFile: PKI/kubelet-serving.key
clusterDomain: cluster.local
resolvConf: /etc/resolv.conf
failSwapOn: false
evictionHard: {memory.available: 50Mi, nodefs.available: 0%, nodefs.inodesFree: 0%, imagefs.available: 0%}
imageGCHighThresholdPercent: 100
nodeStatusUpdateFrequency: 5s
fileCheckFrequency: 1s
`

// auditPolicy makes the API server log the requests of service accounts, separately from its own controllers' requests.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: None, userGroups: ["system:serviceaccounts:kube-system"]}
- {level: Metadata, userGroups: ["system:serviceaccounts"]}
- {level: None}
`

func (n *node) writeConfig() error {
	fill := strings.NewReplacer("RUN", n.Run(), "BIN", n.Bin(""), "PKI", n.PKI(""), "CGROUP", n.Cgroup(), "PODS", n.PodRange())
	var errs []error
	for name, text := range map[string]string{
		"containerd.toml": containerdConfig, "cni/10-pods.conflist": networkConfig, "kubelet.yaml": kubeletConfig,
		"audit.yaml": auditPolicy,
	} {
		errs = append(errs, os.WriteFile(n.Run(name), []byte(fill.Replace(text)), 0o600))
	}
	return errors.Join(errs...)
}

// component is a process of the node.
type component struct {
	name string
	args []string
	// after is a file to wait for.
	after string
}

const storage = "http://127.0.0.1:2379"

func (n *node) components() []component {
	all := []component{
		{name: cluster.Etcd, args: []string{
			"--name=" + cluster.NodeName, "--data-dir=" + n.Run("etcd"), "--listen-client-urls=" + storage, "--advertise-client-urls=" + storage,
			"--listen-peer-urls=http://127.0.0.1:2380", "--initial-advertise-peer-urls=http://127.0.0.1:2380",
			"--initial-cluster=" + cluster.NodeName + "=http://127.0.0.1:2380", "--quota-backend-bytes=2147483648",
		}},
		{name: cluster.APIServer, args: []string{
			"--etcd-servers=" + storage, "--bind-address=0.0.0.0", "--secure-port=443", "--advertise-address=" + n.NodeIP(),
			"--service-cluster-ip-range=10.96.0.0/16", "--allow-privileged=true", "--authorization-mode=Node,RBAC",
			"--enable-admission-plugins=NodeRestriction", "--client-ca-file=" + n.PKI("ca.crt"),
			"--tls-cert-file=" + n.PKI("apiserver.crt"), "--tls-private-key-file=" + n.PKI("apiserver.key"),
			"--kubelet-client-certificate=" + n.PKI("apiserver-kubelet.crt"), "--kubelet-client-key=" + n.PKI("apiserver-kubelet.key"),
			"--kubelet-certificate-authority=" + n.PKI("ca.crt"), "--kubelet-preferred-address-types=InternalIP,Hostname",
			"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file=" + n.PKI("service-accounts.pub"),
			"--service-account-signing-key-file=" + n.PKI("service-accounts.key"), "--profiling=false", "--v=1",
		}},
		// With the default limits the first service account takes 10 s.
		{name: cluster.ControllerManager, args: []string{
			"--kubeconfig=" + n.PKI(cluster.ControllerManager+".kubeconfig"), "--leader-elect=false", "--use-service-account-credentials=true",
			"--root-ca-file=" + n.PKI("ca.crt"), "--service-account-private-key-file=" + n.PKI("service-accounts.key"),
			"--allocate-node-cidrs=false", "--bind-address=127.0.0.1", "--kube-api-qps=500", "--kube-api-burst=1000", "--v=1",
		}},
		{name: cluster.Scheduler, args: []string{
			"--kubeconfig=" + n.PKI(cluster.Scheduler+".kubeconfig"), "--leader-elect=false", "--bind-address=127.0.0.1", "--v=1",
		}},
	}
	if n.controlPlane {
		return all
	}
	all[1].args = append(all[1].args, "--audit-policy-file="+n.Run("audit.yaml"), "--audit-log-path="+n.Log("audit"))
	return append(all,
		component{name: cluster.Containerd, args: []string{"--config=" + n.Run("containerd.toml")}},
		component{name: cluster.Kubelet, after: n.Run("images-ready"), args: []string{
			"--config=" + n.Run("kubelet.yaml"), "--kubeconfig=" + n.PKI("kubelet.kubeconfig"), "--hostname-override=" + cluster.NodeName,
			"--node-ip=" + n.NodeIP(), "--root-dir=/var/lib/kubelet", "--v=2",
		}})
}
