package docs

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// command is a curl command. The address of the server is separate, since the script of the page
// replaces it.
type command struct{ Before, Server, After string }

// command returns a request of the operation as a command for a POSIX shell, with the examples of
// the required parameters and of the body.
func (s Source) command(o *huma.Operation) command {
	before := "curl "
	if _, streams := responseTypes(o)["text/event-stream"]; streams {
		before += "-N "
	}
	if o.Method != http.MethodGet {
		before += "-X " + o.Method + " "
	}
	target, headers := example(o, s.Optional[o.OperationID])
	lines := []string{target + "'"}
	if s.Scopes[o.OperationID] != "" {
		lines = append(lines, "-H "+s.authorization())
	}
	for _, header := range headers {
		lines = append(lines, "-H "+quoted(header))
	}
	if o.RequestBody != nil {
		mediaType, body := s.body(o)
		lines = append(lines, "-H "+quoted("Content-Type: "+mediaType), "--data-binary "+quoted(body))
	}
	return command{Before: before + "'", Server: Server, After: strings.Join(lines, " \\\n  ")}
}

// authorization returns the header with the key, in double quotes. If keys are optional, the header
// is only sent if the variable is set.
func (s Source) authorization() string {
	if s.KeysOptional {
		return `"${SENDLIMIT_KEY:+Authorization: Bearer $SENDLIMIT_KEY}"`
	}
	return `"Authorization: Bearer $SENDLIMIT_KEY"`
}

// example returns the path and query of the operation with the examples of its parameters, and its
// headers. It includes only the optional parameters in optional.
func example(o *huma.Operation, optional []string) (target string, headers []string) {
	target = o.Path
	query := make(url.Values)
	for _, p := range o.Parameters {
		value := valueText(p.Example)
		switch {
		case p.In == "path":
			target = strings.ReplaceAll(target, "{"+p.Name+"}", url.PathEscape(value))
		case !p.Required && !slices.Contains(optional, p.Name):
		case p.In == "query":
			query.Set(p.Name, value)
		case p.In == "header":
			headers = append(headers, p.Name+": "+value)
		}
	}
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	return strings.ReplaceAll(target, "'", "%27"), headers
}

// body returns the example of the body, and its media type.
func (s Source) body(o *huma.Operation) (mediaType, body string) {
	if lines := s.Lines[o.OperationID]; len(lines) > 0 {
		texts := make([]string, len(lines))
		for i, line := range lines {
			texts[i] = string(line)
		}
		mediaType = "application/x-ndjson"
		return mediaType, strings.Join(texts, "\n")
	}
	for _, mediaType := range slices.Sorted(maps.Keys(o.RequestBody.Content)) {
		text, err := json.Marshal(o.RequestBody.Content[mediaType].Example)
		if err != nil {
			continue
		}
		var indented bytes.Buffer
		if err := json.Indent(&indented, text, "  ", "  "); err != nil {
			continue
		}
		return mediaType, indented.String()
	}
	return "", ""
}

// responseTypes returns the media types of the operation's successes.
func responseTypes(o *huma.Operation) map[string]*huma.MediaType {
	for _, status := range slices.Sorted(maps.Keys(o.Responses)) {
		if strings.HasPrefix(status, "2") {
			return o.Responses[status].Content
		}
	}
	return nil
}

// quoted quotes a text as one word of a shell.
func quoted(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
