// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// schemas are the schemas of Go types, by name.
type schemas struct {
	comments map[string]string // of types and fields: package.Type, package.Type.Field
	all      object
}

func (s *schemas) schemaOf(v any) object { return s.schema(reflect.TypeOf(v)) }

func (s *schemas) schema(t reflect.Type) object {
	if t == reflect.TypeFor[time.Time]() {
		return object{"type": "string", "format": "date-time"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		schema := s.schema(t.Elem())
		if name, ok := schema["type"].(string); ok { // lists and fields have no pointers to structures that are nil
			schema["type"] = []string{name, "null"}
		}
		return schema
	case reflect.Struct:
		return s.reference(t)
	case reflect.Slice:
		return object{"type": "array", "items": s.schema(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.schema(t.Elem())}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return object{"type": "integer"}
	case reflect.Uint64:
		return object{"type": "integer", "minimum": 0}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Interface:
		return object{}
	default:
		panic(fmt.Sprintf("a field of type %s", t))
	}
}

// reference puts a structure among the components, and returns a reference to it.
func (s *schemas) reference(t reflect.Type) object {
	name := typeName(t)
	reference := object{"$ref": "#/components/schemas/" + name}
	if _, ok := s.all[name]; ok {
		return reference
	}
	properties, required := object{}, []string{}
	schema := object{"type": "object", "properties": properties}
	s.all[name] = schema // before the fields: they may refer to it
	if text := s.comments[declared(t)]; text != "" {
		schema["description"] = text
	}
	for _, f := range reflect.VisibleFields(t) {
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && tag == "" || tag == "-" {
			continue
		}
		property := s.schema(f.Type)
		if text := s.comments[declared(owner(t, f.Index))+"."+f.Name]; text != "" {
			property["description"] = text
		}
		properties[tag] = property
		if options != "omitempty" {
			required = append(required, tag)
		}
	}
	schema["required"] = required
	return reference
}

// owner returns the structure that declares a field: t, or one that it embeds.
func owner(t reflect.Type, index []int) reflect.Type {
	for _, i := range index[:len(index)-1] {
		t = t.Field(i).Type
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
	}
	return t
}

// declared returns the name of a type's declaration, package.Type.
func declared(t reflect.Type) string {
	name, _, _ := strings.Cut(t.String(), "[")
	return name
}

// typeName returns a type's name, of List[Node] NodeList.
func typeName(t reflect.Type) string {
	name, argument, generic := strings.Cut(t.Name(), "[")
	if !generic {
		return name
	}
	return strings.TrimSuffix(argument[strings.LastIndex(argument, ".")+1:], "]") + name
}

// comments returns what the sources of packages say of their types and fields.
func comments(t *testing.T, directories ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, directory := range directories {
		files, err := filepath.Glob(filepath.Join(directory, "*.go"))
		require.NoError(t, err)
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
			require.NoError(t, err)
			for _, d := range parsed.Decls {
				if declaration, ok := d.(*ast.GenDecl); ok && declaration.Tok == token.TYPE {
					addComments(all, parsed.Name.Name, declaration)
				}
			}
		}
	}
	return all
}

func addComments(all map[string]string, pkg string, declaration *ast.GenDecl) {
	for _, spec := range declaration.Specs {
		declared, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		name := pkg + "." + declared.Name.Name
		all[name] = strings.Join(strings.Fields(declaration.Doc.Text()), " ")
		structure, ok := declared.Type.(*ast.StructType)
		if !ok {
			continue
		}
		for _, f := range structure.Fields.List {
			for _, field := range f.Names {
				all[name+"."+field.Name] = strings.Join(strings.Fields(f.Doc.Text()+" "+f.Comment.Text()), " ")
			}
		}
	}
}
