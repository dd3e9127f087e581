package docs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// YAML returns a JSON document as YAML with the same content in the same order. Texts are
// in double quotes, where YAML reads the escapes of JSON. It looks at each token once:
// converters that find out where a text needs no quotes take many times as long.
func YAML(document []byte) ([]byte, error) {
	w := yamlWriter{tokens: json.NewDecoder(bytes.NewReader(document))}
	w.tokens.UseNumber()
	w.scalars = json.NewEncoder(&w.out)
	w.scalars.SetEscapeHTML(false)
	if err := w.value("", ""); err != nil {
		return nil, fmt.Errorf("reading JSON: %w", err)
	}
	if _, err := w.tokens.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more after the JSON value")
	}
	return w.out.Bytes(), nil
}

type yamlWriter struct {
	tokens  *json.Decoder
	scalars *json.Encoder // writes JSON to out, which YAML contains, and a newline
	out     bytes.Buffer
}

// value writes the next value, which follows a dash, or a name and a colon on its line. Before
// is what comes between a name and a value on that line, "" after a dash. There an object
// begins on the line of the dash.
func (w *yamlWriter) value(indent, before string) error {
	token, err := w.tokens.Token()
	if err != nil {
		return err
	}
	delim, nested := token.(json.Delim)
	switch {
	case !nested:
		w.out.WriteString(before)
		return w.scalars.Encode(token)
	case !w.tokens.More() && delim == '{':
		w.out.WriteString(before + "{}\n")
	case !w.tokens.More():
		w.out.WriteString(before + "[]\n")
	case before != "":
		w.out.WriteByte('\n')
	}
	for first := true; w.tokens.More(); first = false {
		if !first || before != "" {
			w.out.WriteString(indent)
		}
		if err := w.entry(delim, indent); err != nil {
			return err
		}
	}
	_, err = w.tokens.Token() // the end
	return err
}

// entry writes a member of an object, or an element of an array.
func (w *yamlWriter) entry(delim json.Delim, indent string) error {
	if delim == '[' {
		w.out.WriteString("- ")
		return w.value(indent+"  ", "")
	}
	token, err := w.tokens.Token()
	if err != nil {
		return err
	}
	if name, is := token.(string); is && plain(name) {
		w.out.WriteString(name)
	} else if err := w.scalars.Encode(token); err != nil {
		return err
	} else {
		w.out.Truncate(w.out.Len() - len("\n"))
	}
	w.out.WriteByte(':')
	return w.value(indent+"  ", " ")
}

// plain reports whether a name needs no quotes: it is a word that YAML takes for nothing
// else, as it does "on" and "null".
func plain(name string) bool {
	switch strings.ToLower(name) {
	case "", "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return false
	}
	for i, c := range []byte(name) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c == '/' || c == '_'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789-{}", rune(c))) {
			return false
		}
	}
	return true
}
