// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Command typecheck reports what does not compile for the platform of GOOS, GOARCH and CGO_ENABLED. It checks the types of the packages in its
// arguments and of all that they import, from their sources and without generating code, in a tenth of the time of a build.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// listed is a package as go list prints it, after the packages that it imports.
type listed struct {
	Dir, ImportPath string
	GoFiles         []string
	ImportMap       map[string]string
	DepOnly         bool
	Module          *struct{ GoVersion string }
	Error           *struct{ Err string }
}

// checker checks packages in the order in which they are listed.
type checker struct {
	files    *token.FileSet
	packages map[string]*types.Package
	errs     []error
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(patterns []string) error {
	cmd := exec.Command("go", append([]string{"list", "-deps", "-json=Dir,ImportPath,GoFiles,ImportMap,DepOnly,Module,Error"}, patterns...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	c := &checker{files: token.NewFileSet(), packages: map[string]*types.Package{"unsafe": types.Unsafe}}
	for decoder := json.NewDecoder(out); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		if p.ImportPath != "unsafe" {
			c.check(&p)
		}
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	return errors.Join(c.errs...)
}

// check checks a package. The bodies of functions of other modules are not of interest.
func (c *checker) check(p *listed) {
	if p.Error != nil {
		c.errs = append(c.errs, errors.New(p.Error.Err))
		return
	}
	var files []*ast.File
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(c.files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			c.errs = append(c.errs, err)
			return
		}
		files = append(files, file)
	}
	config := types.Config{
		IgnoreFuncBodies: p.DepOnly,
		Sizes:            types.SizesFor("gc", build.Default.GOARCH),
		Importer: importer(func(path string) (*types.Package, error) {
			if mapped, ok := p.ImportMap[path]; ok {
				path = mapped
			}
			if imported := c.packages[path]; imported != nil {
				return imported, nil
			}
			return nil, fmt.Errorf("package %s is not listed", path)
		}),
		Error: func(err error) { c.errs = append(c.errs, err) },
	}
	if p.Module != nil && p.Module.GoVersion != "" {
		config.GoVersion = "go" + p.Module.GoVersion
	}
	c.packages[p.ImportPath], _ = config.Check(p.ImportPath, c.files, files, nil)
}

// importer implements types.Importer.
type importer func(path string) (*types.Package, error)

func (i importer) Import(path string) (*types.Package, error) { return i(path) }
