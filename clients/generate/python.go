package generate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// pythonMethods returns the file with the methods of the Python client.
func pythonMethods(operations []operation) (string, error) {
	var b strings.Builder
	b.WriteString(`# Written by "make clients" from the OpenAPI document. Do not edit it.
"""The operations of the API, by the names that the OpenAPI document gives them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Literal

from . import types as api
from ._caller import Caller, Request, segment
from .cancel import Cancel
from .pages import Pages


class Operations(Caller):
    """Has a method for each operation."""
`)
	for _, o := range operations {
		if o.kind != byHand {
			if err := o.python(&b); err != nil {
				return "", fmt.Errorf("%s: %w", o.id, err)
			}
		}
	}
	return b.String(), nil
}

func (o operation) python(b *strings.Builder) error {
	signature := []string{"self"}
	path := o.path
	for _, name := range o.segments {
		signature = append(signature, name+": str")
		path = strings.ReplaceAll(path, "{"+name+"}", fmt.Sprintf("{segment('%s', %s)}", name, name))
	}
	request := []string{strconv.Quote(o.method), pythonPath(path)}
	if o.body != "" {
		signature = append(signature, "body: api."+o.body)
		request = append(request, "body=body")
	}
	signature = append(signature, "*")
	if len(o.query) > 0 {
		var members []string
		for _, p := range o.query {
			written, err := pythonType(p.Schema, "api.")
			if err != nil {
				return err
			}
			name := pythonName(p.Name)
			argument := name + ": " + written
			if !p.Required {
				argument += " | None = None"
			}
			signature = append(signature, argument)
			members = append(members, fmt.Sprintf("%q: %s", p.Name, name))
		}
		request = append(request, "query={"+strings.Join(members, ", ")+"}")
	}
	if o.conditional {
		signature = append(signature, "if_match: str | None = None", "if_none_match: str | None = None")
		request = append(request, "if_match=if_match", "if_none_match=if_none_match")
	}
	if o.keyed {
		signature = append(signature, "idempotency_key: str | None = None")
		request = append(request, "keyed=True", "idempotency_key=idempotency_key")
	}
	if !o.repeatable {
		request = append(request, "once=True")
	}
	signature = append(signature, "cancel: Cancel | None = None")
	answer, call, last := o.pythonAnswer()

	fmt.Fprintf(b, "\n    def %s(\n        %s,\n    ) -> %s:\n", snake(o.id), strings.Join(signature, ",\n        "), answer)
	b.WriteString(docstring(o.doc(), "        "))
	fmt.Fprintf(b, "        request = Request(\n            %s,\n        )\n", strings.Join(request, ",\n            "))
	if o.kind == value {
		fmt.Fprintf(b, "        answer: %s = self.%s(request, cancel)\n        return answer\n", answer, call)
	} else {
		fmt.Fprintf(b, "        return self.%s(request, %scancel)\n", call, last)
	}
	return nil
}

// pythonAnswer returns the type of the method, the method of Caller that answers, and its further
// arguments.
func (o operation) pythonAnswer() (answer, call, arguments string) {
	switch o.kind {
	case pages:
		return fmt.Sprintf("Pages[api.%s, api.%s]", o.answer, o.entry), "_pages", fmt.Sprintf("%q, ", o.member)
	case lines:
		return "Iterator[api." + strings.Join(o.lines, " | api.") + "]", "_lines", ""
	case value, byHand:
	}
	if o.versioned {
		return "api.Versioned" + o.answer, "_versioned", ""
	}
	return "api." + o.answer, "_value", ""
}

func pythonPath(path string) string {
	if strings.Contains(path, "{") {
		return `f"` + path + `"`
	}
	return `"` + path + `"`
}

func snake(name string) string {
	var b strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// pythonName returns the name of a parameter, which may be a Python keyword.
func pythonName(name string) string {
	if reserved(name) {
		return name + "_"
	}
	return name
}

func reserved(name string) bool {
	return slices.Contains([]string{
		"and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else", "except",
		"finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise",
		"return", "try", "while", "with", "yield",
	}, name)
}

// docstring returns a text as the docstring of the code above it.
func docstring(text, indent string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, `\`, `\\`), `"""`, `\"\"\"`)
	all := wrapped(text, widest-len(indent)-3)
	if len(all) == 1 && !strings.HasSuffix(all[0], `"`) {
		return indent + `"""` + all[0] + `"""` + "\n"
	}
	var b strings.Builder
	for i, line := range all {
		if i == 0 {
			line = `"""` + line
		}
		b.WriteString(strings.TrimRight(indent+line, " ") + "\n")
	}
	return b.String() + indent + `"""` + "\n"
}
