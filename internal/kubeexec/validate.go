// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/labels"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi"
)

// maxConcurrentLimit bounds max_concurrent. An API server serves about 250 execs a second for each of its processors.
const maxConcurrentLimit = 1024

const (
	// maxShards bounds shards: the Lease of each is written every two seconds.
	maxShards = 64
	// maxLeaseName leaves room for the rest of the names and labels of Leases.
	maxLeaseName = 40
)

// Check returns what is wrong with the configuration, each error with its key below the scraper's own.
func (c *Config) Check() error {
	errs := c.validateClusters()
	for i := range c.Targets {
		errs = append(errs, keyed(fmt.Sprintf("targets::%d", i), c.Targets[i].validate())...)
	}
	if _, err := labels.Parse(c.NodeSelector); err != nil {
		errs = append(errs, fmt.Errorf("node_selector: %q is not a label selector: %w", c.NodeSelector, err))
	}
	if c.MaxConcurrent < 1 || c.MaxConcurrent > maxConcurrentLimit {
		errs = append(errs, fmt.Errorf("max_concurrent: must be from 1 to %d, got %d", maxConcurrentLimit, c.MaxConcurrent))
	}
	if c.Shards < 1 || c.Shards > maxShards {
		errs = append(errs, fmt.Errorf("shards: must be from 1 to %d, got %d; two or three for each replica are enough", maxShards, c.Shards))
	}
	errs = append(errs, keyed(leaderElectionKey, c.validateLeaderElection())...)
	errs = append(errs, keyed("owners", kube.CheckNames(c.Owners.Kinds, c.Owners.Labels, c.Owners.Annotations))...)
	if !c.AttributePods && len(c.Owners.Labels)+len(c.Owners.Annotations) > 0 {
		errs = append(errs, errors.New("owners: labels and annotations come from the pods that processes are attributed to; set attribute_pods: true, or leave them out"))
	}
	errs = append(errs, keyed("node_labels", kube.CheckNodeLabels(c.NodeLabels))...)
	return errors.Join(errs...)
}

func (c *Config) validateLeaderElection() error {
	e := c.leaderElection()
	if e == nil {
		return nil
	}
	var errs []error
	if len(e.LeaseName) > maxLeaseName || len(utilvalidation.IsDNS1123Label(e.LeaseName)) > 0 {
		errs = append(errs, fmt.Errorf("lease_name: %q must contain only lower-case letters, digits and -, and at most %d of them", e.LeaseName, maxLeaseName))
	}
	if e.LeaseNamespace != "" {
		if problems := validation.ValidateNamespaceName(e.LeaseNamespace, false); len(problems) > 0 {
			errs = append(errs, fmt.Errorf("lease_namespace: %q is not the name of a namespace: %s", e.LeaseNamespace, problems[0]))
		}
		return errors.Join(errs...)
	}
	for i := range c.Clusters {
		if api := &c.Clusters[i].API; api.Endpoint != "" || api.AuthType == kube.AuthKubeConfig {
			errs = append(errs, fmt.Errorf("lease_namespace: must be set, because clusters::%d is not read with the service account "+
				"of the collector's pod; it is the namespace of the Leases of the shards", i))
			break
		}
	}
	return errors.Join(errs...)
}

func (c *Config) validateClusters() []error {
	if len(c.Clusters) == 0 {
		return []error{errors.New("clusters: must name the clusters to read, such as [{name: prod, auth_type: serviceAccount}]")}
	}
	var errs []error
	first := map[string]int{}
	for i := range c.Clusters {
		cluster := &c.Clusters[i]
		key := fmt.Sprintf("clusters::%d", i)
		if cluster.Name == "" {
			errs = append(errs, fmt.Errorf("%s::name: must be set; it becomes k8s.cluster.name", key))
		} else if other, duplicate := first[cluster.Name]; duplicate {
			errs = append(errs, fmt.Errorf("%s::name: %q is the name of clusters::%d too, so their nodes could not be distinguished",
				key, cluster.Name, other))
		} else {
			first[cluster.Name] = i
		}
		errs = append(errs, keyed(key, cluster.API.Check())...)
		for t := range cluster.Targets {
			errs = append(errs, keyed(fmt.Sprintf("%s::targets::%d", key, t), cluster.Targets[t].validate())...)
		}
	}
	return errs
}

func (t TargetConfig) validate() error {
	var errs []error
	if t.LabelSelector == "" {
		errs = append(errs, errors.New("label_selector: must be set; the tool is run in every pod that it selects"))
	} else if _, err := labels.Parse(t.LabelSelector); err != nil {
		errs = append(errs, fmt.Errorf("label_selector: %q is not a label selector: %w", t.LabelSelector, err))
	}
	t = t.withDefaults()
	if problems := validation.ValidateNamespaceName(t.Namespace, false); len(problems) > 0 {
		errs = append(errs, fmt.Errorf("namespace: %q is not the name of a namespace: %s", t.Namespace, problems[0]))
	}
	if _, known := tools[t.Tool]; !known {
		errs = append(errs, fmt.Errorf("tool: %q is unknown; allowed are %s, %s and %s", t.Tool, ToolNvidiaSMI, ToolROCmSMI, ToolAMDSMI))
	}
	switch {
	case t.Container == "":
		errs = append(errs, fmt.Errorf("container: must be set with tool: %s", t.Tool))
	case len(utilvalidation.IsDNS1123Label(t.Container)) > 0:
		errs = append(errs, fmt.Errorf("container: %q is not the name of a container", t.Container))
	}
	switch {
	case t.Tool == ToolNvidiaSMI && t.Query != nvidiasmi.QueryFast && t.Query != nvidiasmi.QueryFull:
		errs = append(errs, fmt.Errorf("query: %q is unknown; allowed are %s and %s", t.Query, nvidiasmi.QueryFast, nvidiasmi.QueryFull))
	case t.Tool != ToolNvidiaSMI && t.Query != "":
		errs = append(errs, fmt.Errorf("query: is only allowed with tool: %s", ToolNvidiaSMI))
	}
	return errors.Join(errs...)
}

// keyed puts a key before each of joined errors.
func keyed(key string, err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error }) // not errors.As: an error that wraps a join has text of its own before it
	if !ok {
		return []error{fmt.Errorf("%s::%w", key, err)}
	}
	var errs []error
	for _, e := range joined.Unwrap() {
		errs = append(errs, keyed(key, e)...)
	}
	return errs
}
