package generate

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

const jsonType = "application/json"

// kind says how a client answers an operation.
type kind int

const (
	value  kind = iota // with the answer
	pages              // with the entries of all pages
	lines              // with the lines of the answer, while they arrive
	byHand             // with code of its own
)

// operation is an operation in the form that the clients need.
type operation struct {
	id, method, path     string
	summary, description string
	segments             []string    // parameters in the path, in order
	query                []parameter // in the order of the document
	body                 string      // the schema of its body; "" for none
	conditional          bool        // takes If-Match and If-None-Match
	keyed                bool        // takes an Idempotency-Key
	versioned            bool        // answers with an ETag
	repeatable           bool        // doing it twice is the same as once
	kind                 kind
	answer               string   // the schema of its answer
	member, entry        string   // of a page: the member with the entries, and their schema
	lines                []string // the schemas of the lines
}

// written are the operations with hand-written code in each client, with the reason.
func written() map[string]string {
	return map[string]string{
		"submitBatch":  "it sends the messages that the API did not answer again",
		"checkBatch":   "its answer belongs to the messages, and a policy may come before them",
		"recordSent":   "it sends the messages that the API did not answer again",
		"followEvents": "it is opened again behind the last event, and has an answer of another form with follow=false",
	}
}

// repeatables are the POST operations that may be repeated, with the reason. Other methods may be
// repeated, as HTTP defines them.
func repeatables() map[string]string {
	return map[string]string{
		"submitMessage":    "the message has its id before it is first sent",
		"checkMessage":     "nothing is stored",
		"rollbackPolicy":   "it stores the same policy again",
		"dryRunPolicy":     "nothing is changed",
		"refitPolicy":      "what was moved fits",
		"retryDeadLetter":  "a message that was retried is no dead letter",
		"retryDeadAlert":   "an alert that was retried is no dead one",
		"retryDeadLetters": "a message that was retried is no dead letter",
		"resumeChannel":    "it runs already",
		"stopSending":      "it is stopped already",
		"startSending":     "it runs already",
		"addDevice":        "the same device is registered once",
		"pauseCampaign":    "it is paused already",
		"resumeCampaign":   "a message that was resumed waits no longer",
		"cancelCampaign":   "what was cancelled stays so",
		"reopenCampaign":   "it is open already",
	}
}

// onces are the operations with other methods that must not be repeated, with the reason.
func onces() map[string]string {
	return map[string]string{"setCallback": "only the answer to the request that makes the secret has it"}
}

// operations returns the operations of a document by path and method.
func (d document) operations() ([]operation, error) {
	var all []operation
	for path, item := range d.Paths {
		for method, described := range item {
			o, err := d.operation(path, strings.ToUpper(method), described)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", described.ID, err)
			}
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(a, b operation) int {
		return cmp.Or(strings.Compare(a.path, b.path), strings.Compare(a.method, b.method))
	})
	return all, nil
}

func (d document) operation(path, method string, from described) (operation, error) {
	o := operation{id: from.ID, method: method, path: path, summary: from.Summary, description: from.Description}
	_, sure := repeatables()[o.id]
	o.repeatable = (method != "POST" || sure) && onces()[o.id] == ""
	for _, p := range from.Parameters {
		switch known := p.In + " " + p.Name; {
		case p.In == "path":
			o.segments = append(o.segments, p.Name)
		case p.In == "query":
			o.query = append(o.query, p)
		case known == "header If-Match", known == "header If-None-Match":
			o.conditional = true
		case known == "header Idempotency-Key":
			o.keyed = true
		case written()[o.id] == "":
			return o, fmt.Errorf("the clients have no %s %s", p.In, p.Name)
		}
	}
	if written()[o.id] != "" {
		o.kind = byHand
		return o, nil
	}
	for mediaType, c := range from.RequestBody.Content {
		if o.body = c.Schema.name(); o.body == "" || mediaType != jsonType {
			return o, errors.New("the clients send only JSON, with a schema that has a name")
		}
	}
	return o, o.answered(d, from)
}

// answered sets the answer of the operation.
func (o *operation) answered(d document, from described) error {
	for _, status := range slices.Sorted(maps.Keys(from.Responses)) {
		r := from.Responses[status]
		if !strings.HasPrefix(status, "2") {
			continue
		}
		for mediaType, c := range r.Content {
			switch mediaType {
			case jsonType:
				o.answer = c.Schema.name()
			case "application/x-ndjson":
				o.kind = lines
				for _, one := range c.Schema.AnyOf {
					if one.name() != "Outcome" { // that of an error
						o.lines = append(o.lines, one.name())
					}
				}
			default:
				return fmt.Errorf("the clients don't read %s", mediaType)
			}
		}
		if _, has := r.Headers["ETag"]; has {
			o.versioned = true
		}
	}
	if o.answer == "" && len(o.lines) == 0 {
		return errors.New("its answer has no schema with a name")
	}
	if !slices.ContainsFunc(o.query, func(p parameter) bool { return p.Name == "cursor" }) {
		return nil
	}
	o.kind = pages
	answer := d.Components.Schemas[o.answer]
	for _, name := range slices.Sorted(maps.Keys(answer.Properties)) {
		if items := answer.Properties[name].Items; items != nil && items.Ref != "" {
			o.member, o.entry = name, items.name()
		}
	}
	if o.entry == "" || answer.Properties["next_cursor"] == nil {
		return fmt.Errorf("%s is no page", o.answer)
	}
	return nil
}

func (o operation) doc() string {
	return strings.TrimSpace(strings.TrimSuffix(o.summary, ".") + ".\n\n" + o.description)
}
