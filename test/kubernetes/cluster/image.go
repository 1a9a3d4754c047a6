// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
)

// Image is a container image of one layer. It does not come from a registry: Write creates the archive that a container runtime imports.
type Image struct {
	Name       string // with a tag other than latest, or the kubelet asks a registry for it
	Entrypoint []string
	Files      []File
}

// File is a file of an image: a copy, or a symbolic link.
type File struct {
	Path string // absolute
	From string // the file to copy
	Link string // or what to link to
}

// Applets are links to a busybox at /bin/busybox.
func Applets(names ...string) []File {
	files := make([]File, 0, len(names))
	for _, name := range names {
		files = append(files, File{Path: "/bin/" + name, Link: "busybox"})
	}
	return files
}

type object = map[string]any

// Write writes the image as an OCI image layout in a tar archive.
func (i *Image) Write(w io.Writer) error {
	layer, err := i.layer()
	if err != nil {
		return err
	}
	archive := &archive{w: tar.NewWriter(w)}
	layerDigest := archive.blob(layer)
	config := archive.json(object{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": object{"Entrypoint": i.Entrypoint, "Env": []string{"PATH=/usr/bin:/bin"}, "WorkingDir": "/"},
		"rootfs": object{"type": "layers", "diff_ids": []string{layerDigest}},
	}, "application/vnd.oci.image.config.v1+json")
	manifest := archive.json(object{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config,
		"layers": []object{{"mediaType": "application/vnd.oci.image.layer.v1.tar", "digest": layerDigest, "size": len(layer)}},
	}, "application/vnd.oci.image.manifest.v1+json")
	manifest["annotations"] = object{"io.containerd.image.name": i.Name, "org.opencontainers.image.ref.name": i.Name}
	index, err := json.Marshal(object{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": []object{manifest},
	})
	if err != nil {
		return err
	}
	archive.file("index.json", index)
	archive.file("oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`))
	if archive.err != nil {
		return fmt.Errorf("image %s: %w", i.Name, archive.err)
	}
	return archive.w.Close()
}

func (i *Image) layer() ([]byte, error) {
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	existing := map[string]bool{}
	files := append(slices.Clone(i.Files), File{Path: "/tmp/."}, File{Path: "/etc/."})
	for _, f := range files {
		if err := directories(w, existing, path.Dir(f.Path)); err != nil {
			return nil, err
		}
		if strings.HasSuffix(f.Path, "/.") {
			continue
		}
		header := &tar.Header{Typeflag: tar.TypeReg, Name: strings.TrimPrefix(f.Path, "/"), Mode: 0o755}
		var content []byte
		if f.Link != "" {
			header.Typeflag, header.Linkname = tar.TypeSymlink, f.Link
		} else {
			var err error
			if content, err = os.ReadFile(f.From); err != nil {
				return nil, fmt.Errorf("image %s: %w", i.Name, err)
			}
			header.Size = int64(len(content))
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return layer.Bytes(), nil
}

// directories creates a directory and its parents.
func directories(w *tar.Writer, existing map[string]bool, directory string) error {
	if directory == "/" || existing[directory] {
		return nil
	}
	if err := directories(w, existing, path.Dir(directory)); err != nil {
		return err
	}
	existing[directory] = true
	return w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: strings.TrimPrefix(directory, "/") + "/", Mode: 0o755})
}

// archive writes files until one fails.
type archive struct {
	w   *tar.Writer
	err error
}

func (a *archive) file(name string, content []byte) {
	if a.err == nil {
		a.err = a.w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(content))})
	}
	if a.err == nil {
		_, a.err = a.w.Write(content)
	}
}

// blob writes a file that is known by its digest.
func (a *archive) blob(content []byte) string {
	sum := sha256.Sum256(content)
	digest := hex.EncodeToString(sum[:])
	a.file("blobs/sha256/"+digest, content)
	return "sha256:" + digest
}

// json writes an object and returns its descriptor.
func (a *archive) json(o object, mediaType string) object {
	content, err := json.Marshal(o)
	if err != nil && a.err == nil {
		a.err = err
	}
	return object{"mediaType": mediaType, "digest": a.blob(content), "size": len(content)}
}
