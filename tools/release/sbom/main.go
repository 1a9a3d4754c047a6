// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Command sbom prints a CycloneDX bill of materials of Go programs and Debian packages. The Go modules are those that the programs carry in
// themselves (go version -m), so the list is of what was linked. Every time is SOURCE_DATE_EPOCH, so the same files give the same bytes.
//
//	sbom NAME VERSION FILE...    a FILE is a Go program or a .deb
package main

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
)

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "sbom NAME VERSION FILE...")
		os.Exit(2)
	}
	if err := run(os.Stdout, os.Args[1], os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(output io.Writer, name, version string, files []string) error {
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return fmt.Errorf("read SOURCE_DATE_EPOCH: %w; set it to the seconds since 1970", err)
	}
	found := components{}
	for _, file := range files {
		if strings.HasSuffix(file, ".deb") {
			err = found.addPackage(file)
		} else {
			err = found.addProgram(file, version)
		}
		if err != nil {
			return err
		}
	}
	list := slices.SortedFunc(maps.Values(found), func(a, b cyclonedx.Component) int { return strings.Compare(a.BOMRef, b.BOMRef) })
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{
		Timestamp: time.Unix(seconds, 0).UTC().Format(time.RFC3339),
		Component: &cyclonedx.Component{Type: cyclonedx.ComponentTypeApplication, Name: name, Version: version},
	}
	bom.Components = &list
	return cyclonedx.NewBOMEncoder(output, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
}

// components are what was found, by its package URL.
type components map[string]cyclonedx.Component

func (c components) add(purl, name, version string) {
	c[purl] = cyclonedx.Component{BOMRef: purl, Type: cyclonedx.ComponentTypeLibrary, Name: name, Version: version, PackageURL: purl}
}

// addProgram adds the modules of a Go program, and Go's own library. What comes from this tree has its version.
func (c components) addProgram(file, version string) error {
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the modules of %s: %w", file, err)
	}
	goVersion := strings.TrimPrefix(info.GoVersion, "go")
	c.add("pkg:golang/std@"+goVersion, "std", goVersion)
	for _, module := range append([]*debug.Module{&info.Main}, info.Deps...) {
		// A replacement by a directory of this tree has no version of its own.
		if module.Replace != nil && module.Replace.Version != "" {
			module = module.Replace
		}
		moduleVersion := module.Version
		if moduleVersion == "" || moduleVersion == "(devel)" || moduleVersion == "v0.0.0" {
			moduleVersion = "v" + version
		}
		c.add("pkg:golang/"+module.Path+"@"+strings.ReplaceAll(moduleVersion, "+", "%2B"), module.Path, moduleVersion)
	}
	return nil
}

// addPackage adds a Debian package.
func (c components) addPackage(file string) error {
	out, err := exec.Command("dpkg-deb", "--showformat=${Package} ${Version} ${Architecture}", "--show", file).Output() //nolint:gosec // the release's script names it
	if err != nil {
		return fmt.Errorf("read the package %s: %w", file, err)
	}
	fields := strings.Fields(string(out))
	if len(fields) != 3 {
		return errors.New("dpkg-deb prints no name, version and architecture of " + filepath.Base(file))
	}
	name, version, architecture := fields[0], fields[1], fields[2]
	c.add(fmt.Sprintf("pkg:deb/debian/%s@%s?arch=%s", name, strings.ReplaceAll(version, "+", "%2B"), architecture), name, version)
	return nil
}
