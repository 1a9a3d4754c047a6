// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"errors"
	"fmt"
	"os"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// localHost returns the names of this machine. The hostname of a pod is not the machine's, so in a pod only the configured
// node name counts.
func localHost(cfg *Config) (gpu.Host, error) {
	host := gpu.Host{
		Name:        cfg.Attribution.NodeName,
		NodeName:    cfg.Attribution.NodeName,
		ClusterName: cfg.Attribution.ClusterName,
	}
	if host.Name != "" {
		return host, nil
	}
	if os.Getenv("KUBERNETES_SERVICE_HOST") != "" {
		return host, errors.New("running in a pod without attribution::node_name: host.name and k8s.node.name are absent, " +
			"so nodes cannot be distinguished; set it to ${env:K8S_NODE_NAME}, from the downward API's spec.nodeName")
	}
	name, err := os.Hostname()
	if err != nil {
		return host, fmt.Errorf("read the hostname for host.name: %w; set attribution::node_name", err)
	}
	host.Name = name
	return host, nil
}
