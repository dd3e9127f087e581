package docs

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// anything is the type of a value of any JSON type.
const anything = "anything"

// typeOf returns the type of a schema in words, and the named schema with the details.
func typeOf(s *huma.Schema) (what, schema string) {
	switch {
	case s == nil:
		return anything, ""
	case s.AnyOf != nil: // the type or null
		return typeOf(s.AnyOf[0])
	case s.Ref != "":
		return "", s.Ref[strings.LastIndex(s.Ref, "/")+1:]
	case s.Items != nil:
		what, schema = typeOf(s.Items)
		return strings.TrimSpace("array of " + what), schema
	}
	if entry, some := s.AdditionalProperties.(*huma.Schema); some {
		if what, schema = typeOf(entry); what != anything {
			return strings.TrimSpace("object of " + what), schema
		}
	}
	switch {
	case s.Type == "":
		return anything, ""
	case s.Format != "":
		return s.Type + " (" + s.Format + ")", ""
	}
	return s.Type, ""
}

// fact is one constraint of a value: text, and values as code after it.
type fact struct {
	Text   string
	Values []string
	Codes  bool // the values are the problem codes, which have a list of their own
}

// facts returns the constraints of a value, beside its type.
func (s Source) facts(schema *huma.Schema) []fact {
	if schema == nil {
		return nil
	}
	all := s.words(schema)
	add := func(text string, values ...string) {
		if len(values) > 0 {
			all = append(all, fact{Text: text, Values: values})
		}
	}
	say := func(text string) { all = append(all, fact{Text: text}) }
	if schema.Default != nil {
		add("Default", valueText(schema.Default))
	}
	if text := between(schema.Minimum, schema.Maximum); text != "" {
		say(text)
	}
	if text := many(schema.MinLength, schema.MaxLength, "character"); text != "" {
		say(text)
	}
	if text := many(schema.MinItems, schema.MaxItems, "entry"); text != "" {
		say(text)
	}
	if schema.UniqueItems {
		say("No entry twice")
	}
	if text := many(schema.MinProperties, schema.MaxProperties, "member"); text != "" {
		say(text)
	}
	if schema.Pattern != "" {
		add("Pattern", schema.Pattern)
	}
	if names, some := schema.Extensions["propertyNames"].(*huma.Schema); some {
		all = append(all, prefixed("Names", s.facts(names))...)
	}
	if entry, some := schema.AdditionalProperties.(*huma.Schema); some {
		all = append(all, prefixed("Values", s.facts(entry))...)
	}
	if schema.Items != nil {
		all = append(all, prefixed("Entries", s.facts(schema.Items))...)
	}
	return all
}

func prefixed(prefix string, all []fact) []fact {
	for i := range all {
		all[i].Text = prefix + ": " + strings.ToLower(all[i].Text[:1]) + all[i].Text[1:]
	}
	return all
}

// words returns the possible words of a value. Only a closed set lists them all.
func (s Source) words(schema *huma.Schema) []fact {
	if words := wordsOf(schema.Enum); len(words) > 0 {
		return []fact{{Text: "One of", Values: words}}
	}
	words := wordsOf(schema.Examples)
	if len(schema.Examples) == 1 { // of an array there is one example, which has all words
		switch list := schema.Examples[0].(type) {
		case []string:
			words = list
		case []any:
			words = wordsOf(list)
		}
	}
	switch {
	case len(words) == 0:
		return nil
	case s.areCodes(words):
		return []fact{{Text: "One of the", Codes: true}}
	}
	return []fact{{Text: "Such as", Values: words}}
}

// areCodes reports whether the words are the codes of problems.
func (s Source) areCodes(words []string) bool {
	if len(words) != len(s.Problems) {
		return false
	}
	for i, p := range s.Problems {
		if words[i] != p.Code {
			return false
		}
	}
	return true
}

// wordsOf returns the values as words. The empty text and null stand for an absent value.
func wordsOf(values []any) []string {
	var words []string
	for _, value := range values {
		if word := valueText(value); value != nil && word != "" {
			words = append(words, word)
		}
	}
	return words
}

// valueText returns a value as it is written in a query: a text without quotes.
func valueText(value any) string {
	if text, is := value.(string); is {
		return text
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

func between(least, most *float64) string {
	number := func(n *float64) string { return strconv.FormatFloat(*n, 'f', -1, 64) }
	switch {
	case least != nil && most != nil:
		return number(least) + " to " + number(most)
	case least != nil:
		return "At least " + number(least)
	case most != nil:
		return "At most " + number(most)
	}
	return ""
}

// many describes the allowed number of items.
func many(least, most *int, what string) string {
	number := func(n int) string {
		switch {
		case n == 1:
			return "1 " + what
		case strings.HasSuffix(what, "y"):
			return strconv.Itoa(n) + " " + strings.TrimSuffix(what, "y") + "ies"
		}
		return strconv.Itoa(n) + " " + what + "s"
	}
	switch {
	case least != nil && most != nil:
		return strconv.Itoa(*least) + " to " + number(*most)
	case least != nil:
		return "At least " + number(*least)
	case most != nil:
		return "At most " + number(*most)
	}
	return ""
}
