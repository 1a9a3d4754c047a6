// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// slice is the ResourceSlice by which the devices are published.
func (d *driver) slice() *resourcev1.ResourceSlice {
	s := &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: d.node + "-" + strings.ReplaceAll(d.name, "/", "-")},
		Spec: resourcev1.ResourceSliceSpec{
			Driver: d.name, NodeName: &d.node,
			Pool: resourcev1.ResourcePool{Name: d.node, Generation: 1, ResourceSliceCount: 1},
		},
	}
	kind, model := "gpu", "NVIDIA H100 80GB HBM3"
	for _, dev := range d.devices {
		s.Spec.Devices = append(s.Spec.Devices, resourcev1.Device{
			Name: dev.name,
			Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
				"type":        {StringValue: &kind},
				"productName": {StringValue: &model},
				"uuid":        {StringValue: &dev.uuid},
			},
		})
	}
	return s
}

// publish creates the slice if it does not exist.
func (d *driver) publish(ctx context.Context) error {
	s := d.slice()
	_, err := d.api.ResourceSlices().Get(ctx, s.Name, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		return err
	}
	_, err = d.api.ResourceSlices().Create(ctx, s, metav1.CreateOptions{})
	return err
}
