// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Command archive packs a directory as .tar.gz or .zip. The same files give the same bytes: names are sorted, owners are 0, and every time
// is SOURCE_DATE_EPOCH.
//
//	archive DIRECTORY OUTPUT
package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "archive DIRECTORY OUTPUT")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "archive:", err)
		os.Exit(1)
	}
}

func run(directory, output string) error {
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return fmt.Errorf("read SOURCE_DATE_EPOCH: %w; set it to the seconds since 1970", err)
	}
	file, err := os.Create(output) //nolint:gosec // the release's script names it
	if err != nil {
		return err
	}
	p := packer{directory: directory, time: time.Unix(seconds, 0).UTC()}
	if strings.HasSuffix(output, ".zip") {
		err = p.zip(file)
	} else {
		err = p.tarGz(file)
	}
	if err != nil {
		_ = file.Close()
		return fmt.Errorf("pack %s: %w", directory, err)
	}
	return file.Close()
}

// packer packs a directory; the archive's paths start with the directory's last name.
type packer struct {
	directory string
	time      time.Time
}

// entry is a file or a directory to pack.
type entry struct {
	name   string // with a final / if it is a directory
	mode   fs.FileMode
	size   int64
	source string // empty for a directory
}

// each calls add for every entry in the order of the names. Modes are 0755 or 0644, independent of the developer's umask.
func (p packer) each(add func(entry) error) error {
	return filepath.WalkDir(p.directory, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(p.directory, file)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		e := entry{name: path.Join(filepath.Base(p.directory), filepath.ToSlash(inside)), mode: 0o644, size: info.Size(), source: file}
		switch {
		case d.IsDir():
			e.name, e.mode, e.size, e.source = e.name+"/", 0o755|fs.ModeDir, 0, ""
		case !info.Mode().IsRegular():
			return fmt.Errorf("%s is neither a file nor a folder", file)
		case info.Mode()&0o100 != 0:
			e.mode = 0o755
		}
		return add(e)
	})
}

func (p packer) tarGz(output io.Writer) error {
	compressed, err := gzip.NewWriterLevel(output, gzip.DefaultCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(compressed)
	err = p.each(func(e entry) error {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Mode: int64(e.mode.Perm()), Size: e.size, ModTime: p.time, Format: tar.FormatUSTAR}
		if e.mode.IsDir() {
			header.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(header); err != nil {
			return err
		}
		return e.copyTo(w)
	})
	if err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return compressed.Close()
}

func (p packer) zip(output io.Writer) error {
	w := zip.NewWriter(output)
	err := p.each(func(e entry) error {
		header := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: p.time}
		header.SetMode(e.mode)
		content, err := w.CreateHeader(header)
		if err != nil {
			return err
		}
		return e.copyTo(content)
	})
	if err != nil {
		return err
	}
	return w.Close()
}

func (e entry) copyTo(w io.Writer) error {
	if e.source == "" {
		return nil
	}
	file, err := os.Open(e.source)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	_, err = io.Copy(w, file)
	return err
}
