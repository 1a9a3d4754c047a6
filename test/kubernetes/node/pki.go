// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/otelgpu/gpureceiver/test/kubernetes/cluster"
)

const validity = 30 * 24 * time.Hour

// authority signs the cluster's certificates.
type authority struct {
	layout      cluster.Layout
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	serial      int64
}

// makePKI makes the certificates and the kubeconfigs of all components.
func (n *node) makePKI() error {
	if err := os.MkdirAll(n.PKI(""), 0o700); err != nil {
		return err
	}
	ca, err := newAuthority(n.Layout)
	if err != nil {
		return err
	}
	local := net.IPv4(127, 0, 0, 1)
	address := net.ParseIP(n.NodeIP())
	server := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	client := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	admins := pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}}
	nodeName := pkix.Name{CommonName: "system:node:" + cluster.NodeName, Organization: []string{"system:nodes"}}
	errs := []error{
		ca.issue("apiserver", &x509.Certificate{
			Subject: pkix.Name{CommonName: "kube-apiserver"}, ExtKeyUsage: server,
			IPAddresses: []net.IP{local, address, net.ParseIP(cluster.ServiceIP)},
			DNSNames:    []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
		}),
		ca.issue("kubelet-serving", &x509.Certificate{
			Subject: nodeName, ExtKeyUsage: server, DNSNames: []string{cluster.NodeName},
			IPAddresses: []net.IP{local, address, net.ParseIP(n.MachineIP())},
		}),
		ca.issue("apiserver-kubelet", &x509.Certificate{Subject: admins, ExtKeyUsage: client}),
		ca.issue("admin", &x509.Certificate{Subject: admins, ExtKeyUsage: client}),
		ca.issue("kubelet", &x509.Certificate{Subject: nodeName, ExtKeyUsage: client}),
		ca.issue(cluster.ControllerManager, &x509.Certificate{
			Subject: pkix.Name{CommonName: "system:kube-controller-manager"}, ExtKeyUsage: client,
		}),
		ca.issue(cluster.Scheduler, &x509.Certificate{
			Subject: pkix.Name{CommonName: "system:kube-scheduler"}, ExtKeyUsage: client,
		}),
		ca.serviceAccounts(),
	}
	for name, host := range map[string]string{
		"admin": n.NodeIP(), "kubelet": "127.0.0.1", cluster.ControllerManager: "127.0.0.1", cluster.Scheduler: "127.0.0.1",
	} {
		errs = append(errs, ca.kubeconfig(name, "https://"+host))
	}
	return errors.Join(errs...)
}

func newAuthority(layout cluster.Layout) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	a := &authority{layout: layout, key: key}
	a.certificate = &x509.Certificate{
		Subject: pkix.Name{CommonName: "gpureceiver-e2e"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	return a, a.sign("ca", a.certificate, key)
}

// issue makes a key and a certificate.
func (a *authority) issue(name string, template *x509.Certificate) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	return a.sign(name, template, key)
}

func (a *authority) sign(name string, template *x509.Certificate, key *ecdsa.PrivateKey) error {
	a.serial++
	template.SerialNumber = big.NewInt(a.serial)
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(validity)
	certificate, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		return err
	}
	if template == a.certificate {
		if a.certificate, err = x509.ParseCertificate(certificate); err != nil {
			return err
		}
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return errors.Join(a.write(name+".crt", "CERTIFICATE", certificate), a.write(name+".key", "EC PRIVATE KEY", private))
}

// serviceAccounts makes the key that signs the tokens of service accounts.
func (a *authority) serviceAccounts() error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return err
	}
	return errors.Join(a.write("service-accounts.key", "RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key)),
		a.write("service-accounts.pub", "PUBLIC KEY", public))
}

func (a *authority) write(name, kind string, content []byte) error {
	return os.WriteFile(a.layout.PKI(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600)
}

func (a *authority) kubeconfig(name, server string) error {
	const only = "e2e"
	config := clientcmdapi.NewConfig()
	config.Clusters[only] = &clientcmdapi.Cluster{Server: server, CertificateAuthority: a.layout.PKI("ca.crt")}
	config.AuthInfos[only] = &clientcmdapi.AuthInfo{
		ClientCertificate: a.layout.PKI(name + ".crt"), ClientKey: a.layout.PKI(name + ".key"),
	}
	config.Contexts[only] = &clientcmdapi.Context{Cluster: only, AuthInfo: only}
	config.CurrentContext = only
	return clientcmd.WriteToFile(*config, a.layout.PKI(name+".kubeconfig"))
}
