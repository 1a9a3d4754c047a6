// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"errors"
	"net"
	"os"
)

// down ends the node and removes its remains. A missing node is not an error.
func (n *node) down(keep bool) error {
	if err := n.end(); err != nil {
		return err
	}
	var errs []error
	if n.connected() {
		// The kernel removes it soon after the last process of the node.
		if err := ip("link", "delete", n.MachineLink()); err != nil && n.connected() {
			errs = append(errs, err)
		}
	}
	if !keep {
		errs = append(errs, os.RemoveAll(n.Run()))
	}
	return errors.Join(errs...)
}

// connected reports whether a virtual Ethernet cable leads to the node.
func (n *node) connected() bool {
	_, err := net.InterfaceByName(n.MachineLink())
	return err == nil
}
