package userdata

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// indentation is that of one level of a printed document.
const indentation = "  "

// Print writes a document as indented JSON. Only one entry at a time is in memory as text.
func (d Document) Print(w io.Writer) error {
	p := &printer{to: bufio.NewWriter(w)}
	p.document(d, "\n")
	p.text("\n")
	if p.err == nil {
		p.err = p.to.Flush()
	}
	if p.err != nil {
		return fmt.Errorf("printing the data of a user: %w", p.err)
	}
	return nil
}

// printer writes a document until something fails.
type printer struct {
	to  *bufio.Writer
	err error
}

func (p *printer) text(text string) {
	if p.err == nil {
		_, p.err = p.to.WriteString(text)
	}
}

// document prints a document. line begins a line at its level.
func (p *printer) document(d Document, line string) {
	p.text("{")
	separator := ""
	for field, value := range reflect.ValueOf(d).Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if options == "omitzero" && value.IsZero() || options == "omitempty" && value.Len() == 0 {
			continue
		}
		p.text(separator + line + indentation + `"` + name + `": `)
		separator = ","
		if value.Kind() == reflect.Slice && value.Len() > 0 {
			p.list(value, line+indentation)
		} else {
			p.value(value, line+indentation)
		}
	}
	p.text(line + "}")
}

// list prints a list that is not empty.
func (p *printer) list(list reflect.Value, line string) {
	p.text("[")
	separator := ""
	for i := range list.Len() {
		p.text(separator + line + indentation)
		separator = ","
		if run, ok := reflect.TypeAssert[Document](list.Index(i)); ok {
			p.document(run, line+indentation)
		} else {
			p.value(list.Index(i), line+indentation)
		}
	}
	p.text(line + "]")
}

// value prints any other value.
func (p *printer) value(value reflect.Value, line string) {
	if p.err != nil {
		return
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent(strings.TrimPrefix(line, "\n"), indentation)
	if p.err = encoder.Encode(value.Interface()); p.err == nil {
		_, p.err = p.to.Write(bytes.TrimSuffix(text.Bytes(), []byte("\n")))
	}
}
