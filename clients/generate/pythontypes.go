package generate

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// pythonTypes returns the Python file with the types of requests and answers. all has their schemas
// by name.
func pythonTypes(all map[string]*schema, operations []operation) (string, error) {
	var b strings.Builder
	b.WriteString(`# Written by "make clients" from the OpenAPI document. Do not edit it.
"""The requests and answers of the API: dicts, as they are in JSON.

Answers may get more members, and texts such as a code or a status more values.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Literal, NotRequired, TypedDict
`)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		b.WriteString("\n\n")
		if err := writeType(&b, name, all[name]); err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
	}
	versioned := map[string]bool{}
	for _, o := range operations {
		if o.versioned {
			versioned[o.answer] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(versioned)) {
		fmt.Fprintf(&b, "\n\nclass Versioned%s(%s):\n", name, name)
		b.WriteString(docstring("The same with its version.", "    "))
		b.WriteString("\n    etag: str\n" + docstring("The version in quotes, for if_match.", "    "))
	}
	return b.String(), nil
}

func writeType(b *strings.Builder, name string, s *schema) error {
	if len(s.Words) > 0 {
		fmt.Fprintf(b, "class %s(StrEnum):\n%s\n", name, docstring(s.Description, "    "))
		for _, w := range s.Words {
			fmt.Fprintf(b, "    %s = %q\n", strings.ToUpper(w), w)
		}
		return nil
	}
	if !slices.Equal(s.types(), []string{"object"}) {
		return errors.New("the Python client has only objects and words by name")
	}
	base := "TypedDict"
	var words []string // members that are words of the language
	for _, member := range slices.Sorted(maps.Keys(s.Properties)) {
		if reserved(member) {
			written, err := memberType(s, member)
			if err != nil {
				return err
			}
			words = append(words, fmt.Sprintf("    %q: %q,\n", member, written))
		}
	}
	if len(words) > 0 {
		base = "_" + name
		fmt.Fprintf(b, "%s = TypedDict(%q, {\n%s})\n\n\n", base, base, strings.Join(words, ""))
	}
	fmt.Fprintf(b, "class %s(%s):\n", name, base)
	if s.Description != "" {
		b.WriteString(docstring(s.Description, "    ") + "\n")
	}
	if len(words) == len(s.Properties) {
		b.WriteString("    pass\n")
	}
	for _, member := range slices.Sorted(maps.Keys(s.Properties)) {
		if reserved(member) {
			continue
		}
		written, err := memberType(s, member)
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "    %s: %s\n", member, written)
		p := s.Properties[member]
		about := p.Description
		if len(p.Words) > 0 {
			about += "\n\n" + strings.Join(p.Words, ", ") + "."
		}
		if about != "" {
			b.WriteString(docstring(about, "    "))
		}
	}
	return nil
}

func memberType(s *schema, member string) (string, error) {
	written, err := pythonType(s.Properties[member], "")
	if err != nil {
		return "", fmt.Errorf("%s: %w", member, err)
	}
	if !slices.Contains(s.Required, member) {
		written = "NotRequired[" + written + "]"
	}
	return written, nil
}

// pythonType returns the type of a schema's values. Names of schemas get a prefix.
func pythonType(s *schema, prefix string) (string, error) {
	if s.Ref != "" {
		if s.name() == codeSchema {
			return "str", nil // it may be a newer one
		}
		return prefix + s.name(), nil
	}
	var all []string
	for _, one := range s.AnyOf {
		written, err := pythonType(one, prefix)
		if err != nil {
			return "", err
		}
		all = append(all, written)
	}
	if len(s.Enum) > 0 {
		var words []string
		for _, v := range s.Enum {
			if text, ok := v.(string); ok {
				words = append(words, fmt.Sprintf("%q", text))
			}
		}
		all = append(all, "Literal["+strings.Join(words, ", ")+"]")
	} else {
		for _, name := range s.types() {
			written, err := s.pythonTypeOf(name, prefix)
			if err != nil {
				return "", err
			}
			all = append(all, written)
		}
	}
	if s.nullable() || s.Type == "null" {
		all = append(all, "None")
	}
	if len(all) == 0 {
		return "", errors.New("it has no type")
	}
	return strings.Join(all, " | "), nil
}

// pythonTypeOf returns the type for one of a schema's types.
func (s *schema) pythonTypeOf(name, prefix string) (string, error) {
	switch name {
	case "string":
		if s.Time {
			return "str | datetime", nil
		}
		return "str", nil
	case "integer":
		return "int", nil
	case "number":
		return "float", nil
	case "boolean":
		return "bool", nil
	case "array":
		if s.Items == nil {
			return "", errors.New("its items have no type")
		}
		items, err := pythonType(s.Items, prefix)
		return "list[" + items + "]", err
	case "object":
		values := s.values()
		if values == nil {
			return "", errors.New("its values have no type")
		}
		if values.Ref == "" && values.Type == nil && len(values.AnyOf) == 0 {
			return "dict[str, object]", nil // of any type
		}
		written, err := pythonType(values, prefix)
		return "dict[str, " + written + "]", err
	}
	return "", fmt.Errorf("unknown type %q", name)
}
