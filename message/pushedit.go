package message

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// PushDraft is a change of a PushContent, a JSON merge patch.
type PushDraft struct {
	Image       *string                    `json:"image,omitempty" doc:"The new image; null for none."` // nil keeps a text, "" removes it
	ClickURL    *string                    `json:"click_url,omitempty" doc:"The new click_url; null for none."`
	Badge       *int                       `json:"badge,omitempty" doc:"The new badge; null to leave the one at the icon."`
	Sound       *string                    `json:"sound,omitempty" doc:"The new sound; null for none."`
	Priority    *string                    `json:"priority,omitempty" doc:"The new priority; null for the channel's default."`
	CollapseKey *string                    `json:"collapse_key,omitempty" doc:"The new collapse_key; null for none."`
	Channels    map[string]json.RawMessage `json:"channels,omitempty" doc:"By the name of a channel, a merge patch of its additions, or null to remove them; null instead of an object removes all."`
	To          map[string]*string         `json:"to,omitempty" doc:"Members of to to set, or with null to remove; null instead of an object, or no member left, means all devices."`
}

// PushEdit is a PushDraft with the fields that it clears first.
type PushEdit struct {
	PushDraft

	ClearBadge, ClearChannels, ClearTo bool
}

func (e PushEdit) none() bool {
	return e.Image == nil && e.ClickURL == nil && e.Badge == nil && e.Sound == nil && e.Priority == nil && e.CollapseKey == nil &&
		len(e.Channels) == 0 && len(e.To) == 0 && !e.ClearBadge && !e.ClearChannels && !e.ClearTo
}

// of returns p after the edit, and does not modify p. The error is about JSON of the edit that
// can't be read.
func (e PushEdit) of(p PushContent) (PushContent, error) {
	for _, text := range []struct {
		to   *string
		from *string
	}{
		{&p.Image, e.Image}, {&p.ClickURL, e.ClickURL}, {&p.Sound, e.Sound}, {&p.Priority, e.Priority}, {&p.CollapseKey, e.CollapseKey},
	} {
		if text.from != nil {
			*text.to = *text.from
		}
	}
	switch {
	case e.Badge != nil:
		p.Badge = e.Badge
	case e.ClearBadge:
		p.Badge = nil
	}
	p.To = e.target(p.To)
	var err error
	p.Channels, err = e.channels(p.Channels)
	return p.canonical(), err
}

// target returns a Target after the edit; nil for none.
func (e PushEdit) target(former *Target) *Target {
	var t Target
	if former != nil && !e.ClearTo {
		t = *former
	}
	for name, text := range e.To {
		into := t.field(name)
		switch {
		case into == nil: // checkTarget refuses it
		case text == nil:
			*into = ""
		default:
			*into = *text
		}
	}
	if t == (Target{}) {
		return nil
	}
	return &t
}

func (e PushEdit) channels(former map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	all := make(map[string]json.RawMessage, len(former)+len(e.Channels))
	if !e.ClearChannels {
		maps.Copy(all, former)
	}
	for name, patch := range e.Channels {
		if isNull(patch) {
			delete(all, name)
			continue
		}
		value, err := mergeJSON(all[name], patch)
		if err != nil {
			return nil, fault.Wrong(fault.Clip("channels."+name), "%s is no JSON that every reader understands in the same way", fault.Clip("channels."+name))
		}
		all[name] = value
	}
	if len(all) == 0 {
		return nil, nil
	}
	return all, nil
}

// mergeJSON applies a JSON merge patch (RFC 7396) that is not null; value is nil for none.
func mergeJSON(value, patch json.RawMessage) (json.RawMessage, error) {
	var changes map[string]json.RawMessage
	if !isObject(patch) {
		return patch, nil
	}
	if err := json.Unmarshal(patch, &changes); err != nil {
		return nil, fmt.Errorf("reading a merge patch: %w", err)
	}
	members := make(map[string]json.RawMessage)
	if isObject(value) {
		if err := json.Unmarshal(value, &members); err != nil {
			return nil, fmt.Errorf("reading what a merge patch changes: %w", err)
		}
	}
	for name, change := range changes {
		if isNull(change) {
			delete(members, name)
			continue
		}
		member, err := mergeJSON(members[name], change)
		if err != nil {
			return nil, err
		}
		members[name] = member
	}
	merged, err := json.Marshal(members)
	if err != nil {
		return nil, fmt.Errorf("writing what a merge patch changed: %w", err)
	}
	return merged, nil
}

func isNull(text json.RawMessage) bool {
	return len(text) == 0 || strings.TrimSpace(string(text)) == "null"
}

func isObject(text json.RawMessage) bool {
	return strings.HasPrefix(strings.TrimSpace(string(text)), "{")
}

// field returns where a field of the target is; nil for an unknown name.
func (t *Target) field(name string) *string {
	return map[string]*string{"channel": &t.Channel, "app": &t.App, "device": &t.Device}[name]
}

// checkTarget notes each unknown member of a change of a Target.
func (f *Faults) checkTarget(changes map[string]*string) {
	for _, name := range sortedKeys(changes) {
		if (&Target{}).field(name) == nil {
			f.addUnread(unknownField(fault.Clip("to."+name), ": there are channel, app, device"))
		}
	}
}

// checkChannels notes each unknown channel of a change, even if its change is null.
func (f *Faults) checkChannels(changes map[string]json.RawMessage) {
	for _, name := range sortedKeys(changes) {
		if !slices.Contains(DeviceChannels(), name) {
			f.addUnread(unknownChannel(name))
		}
	}
}
