package message

import (
	"maps"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Edit changes the content, metadata or expiry of a message. The zero value changes nothing.
type Edit struct {
	Title, Body *string // nil keeps it, "" removes it
	// Data and Metadata have entries to set; a nil entry is removed. ClearData and ClearMetadata
	// remove all others first.
	Data, Metadata           map[string]*string
	ClearData, ClearMetadata bool
	PushEdit
	ExpiresAt *time.Time // nil keeps it, zero means the worker's default after the send time
}

// None reports whether the edit changes nothing.
func (e Edit) None() bool {
	return e.Title == nil && e.Body == nil && len(e.Data) == 0 && len(e.Metadata) == 0 &&
		!e.ClearData && !e.ClearMetadata && e.none() && e.ExpiresAt == nil
}

// Says reports whether the edit changes content or metadata.
func (e Edit) Says() bool {
	e.ExpiresAt = nil
	return !e.None()
}

// Of returns content and metadata after the edit. The error is as that of Message.Validate.
func (e Edit) Of(c Content, metadata map[string]string) (Content, map[string]string, error) {
	if e.Title != nil {
		c.Title = *e.Title
	}
	if e.Body != nil {
		c.Body = *e.Body
	}
	c.Data = merged(c.Data, e.Data, e.ClearData)
	var err error
	if c.PushContent, err = e.of(c.PushContent); err != nil {
		return c, nil, err
	}
	metadata = merged(metadata, e.Metadata, e.ClearMetadata)
	m := Message{Title: c.Title, Body: c.Body, Data: c.Data, PushContent: c.PushContent, Metadata: metadata}
	var wrong fault.InvalidErrors
	if m.Title == "" && m.Body == "" {
		wrong.Add(missingText())
	}
	m.validateMetadata(&wrong)
	m.validateContent(&wrong)
	return c, metadata, wrong.Err()
}

// merged returns entries with changes. It modifies neither map.
func merged(entries map[string]string, changes map[string]*string, removeAll bool) map[string]string {
	all := make(map[string]string, len(entries)+len(changes))
	if !removeAll {
		maps.Copy(all, entries)
	}
	for key, value := range changes {
		if value == nil {
			delete(all, key)
		} else {
			all[key] = *value
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

func missingText() *fault.InvalidError {
	return fault.Wrong("title", "title or body is required: a message has at least one of them")
}
