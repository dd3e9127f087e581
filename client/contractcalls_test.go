package client_test

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/client"
)

// byHand has a call of each operation that is written by hand, with everything set that can be.
func byHand(p client.Policy) map[string]func(context.Context, *client.Client) []any {
	day := at("2026-11-22T00:00:00Z")
	m := client.Message{
		ID: "a", User: "alice", SendAt: day, Window: &client.Window{From: day, Until: day, Prefer: "nearest"}, Category: "c", Title: "t", Body: "b", Data: map[string]string{"k": "v"}, Campaign: "c", Metadata: map[string]string{"k": "v"},
		Image: "https://example.com/a.png", ClickURL: "myapp://a", Badge: new(1), Sound: "s", Priority: client.PriorityHigh, CollapseKey: "k",
		Channels: map[string]json.RawMessage{"fcm": []byte(`{}`)}, To: &client.Target{App: "a"},
		ExpiresAt: day, OnConflict: client.OnConflictShift, ShiftUntil: day, Late: "now",
		Local: client.LocalTimes{SendAt: client.LocalTime{Local: "2026-11-22T09:00", Zone: "user"}, Strict: true, FollowZone: true},
	}
	type ctx = context.Context
	type c = *client.Client
	return map[string]func(ctx, c) []any{
		"submitMessage": func(ctx ctx, c c) []any { return told(c.Submit(ctx, m)) },
		"putMessage":    func(ctx ctx, c c) []any { return told(c.Put(ctx, m, client.IfExists(), client.IfNone())) },
		"checkMessage":  func(ctx ctx, c c) []any { return told(c.DryRunPut(ctx, m)) },
		"submitBatch": func(ctx ctx, c c) []any {
			return all(c.SubmitBatch(ctx, slices.Values([]client.Message{m}), client.WithoutFreeTimes()))
		},
		"checkBatch": func(ctx ctx, c c) []any {
			rules := client.WhatIf{Rules: []string{"1/day"}, Policy: &p}
			return all(c.DryRunBatch(ctx, slices.Values([]client.Message{m}), rules, client.WithoutFreeTimes()))
		},
		"recordSent": func(ctx ctx, c c) []any { return all(c.RecordSent(ctx, slices.Values([]client.Message{m}))) },
		"moveMessage": func(ctx ctx, c c) []any {
			at, text, image, priority := day, "text", "https://example.com/a.png", client.PriorityHigh
			entries := map[string]*string{"kept": &text, "removed": nil}
			return told(c.Change(ctx, "alice", "a", client.MessageChange{
				SendAt: &at, OnConflict: client.OnConflictShift, ShiftUntil: day, Title: &text, Body: &text,
				Local: client.LocalTimes{SendAt: client.LocalTime{Local: "2026-11-22T09:00", Zone: "user"}, Strict: true, FollowZone: true},
				Data:  entries, Metadata: entries, ExpiresAt: &at,
				Image: &image, ClickURL: &image, Badge: new(1), Sound: &text, Priority: &priority, CollapseKey: &text,
				Channels: map[string]json.RawMessage{"fcm": nil}, To: entries,
			}))
		},
		"countCampaign": func(ctx ctx, c c) []any {
			return all(c.CampaignCounts(ctx, "c", client.CountCampaignQuery{Account: "acme"}))
		},
		"followEvents": func(ctx ctx, c c) []any {
			return all(c.Events(ctx, client.EventsRequest{Account: "acme", After: "1-0", PageSize: 1}))
		},
	}
}

// calls has a call of each operation, with every input set, and its results.
func (c *contract) calls(t *testing.T, operations map[string]*operation) map[string]func(context.Context, *client.Client) []any {
	t.Helper()
	var p client.Policy
	c.take(t, &schema{Ref: "#/components/schemas/PolicyDocument"}, &p)
	calls := byHand(p)
	for id, o := range operations {
		if calls[id] == nil {
			calls[id] = func(ctx context.Context, api *client.Client) []any { return c.call(ctx, t, api, o, "") }
		}
	}
	require.Len(t, calls, len(operations))
	return calls
}

// call calls the method of an operation with everything set that can be, but for one name in the
// path; "" for none.
func (c *contract) call(ctx context.Context, t *testing.T, api *client.Client, o *operation, without string) []any {
	t.Helper()
	name := strings.TrimPrefix(o.ID, "get")
	method := reflect.ValueOf(api).MethodByName(strings.ToUpper(name[:1]) + name[1:])
	require.True(t, method.IsValid(), o.ID)
	arguments := []reflect.Value{reflect.ValueOf(ctx)}
	for _, p := range o.Parameters {
		if p.In == "path" {
			arguments = append(arguments, reflect.ValueOf(map[bool]string{false: "a/b", true: ""}[p.Name == without]))
		}
	}
	for len(arguments) < method.Type().NumIn() {
		next := reflect.New(method.Type().In(len(arguments)))
		switch is := next.Interface().(type) {
		case *[]client.Condition:
			arguments = append(arguments, reflect.ValueOf(client.IfVersion("1")), reflect.ValueOf(client.IfNone()))
			continue
		default:
			if strings.HasSuffix(next.Elem().Type().Name(), "Query") {
				c.ask(t, o, next.Elem())
			} else {
				c.take(t, o.RequestBody.Content[plainJSON].Schema, is)
			}
		}
		arguments = append(arguments, next.Elem())
	}
	returned := method.Call(arguments)
	if len(returned) == 2 {
		return []any{returned[0].Interface(), returned[1].Interface()}
	}
	var said []any
	for one, err := range returned[0].Seq2() {
		said = append(said, one.Interface(), err.Interface())
	}
	return said
}

// ask sets the fields of a query.
func (c *contract) ask(t *testing.T, o *operation, query reflect.Value) {
	t.Helper()
	for _, p := range o.Parameters {
		field := query.FieldByNameFunc(func(name string) bool { return strings.EqualFold(name, strings.ReplaceAll(p.Name, "_", "")) })
		if !field.IsValid() {
			continue
		}
		if time, is := reflect.TypeAssert[time.Time](field); is {
			field.Set(reflect.ValueOf(at("2026-11-22T00:00:00Z")).Convert(reflect.TypeOf(time)))
			continue
		}
		c.take(t, p.Schema, field.Addr().Interface())
	}
}

// take sets the value that into points to, to a value that the schema accepts.
func (c *contract) take(t *testing.T, of *schema, into any) {
	t.Helper()
	text, err := json.Marshal(c.taken(of))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, into), "%s", text)
}

// taken is a value that a schema takes, with every member there is.
func (c *contract) taken(of *schema) any {
	if name, is := strings.CutPrefix(of.Ref, "#/components/schemas/"); is {
		of = c.Components.Schemas[name]
	}
	kind := of.Type
	if several, is := kind.([]any); is {
		kind = several[0]
	}
	switch {
	case len(of.Enum) > 0:
		return of.Enum[0]
	case len(of.Properties) > 0:
		object := make(map[string]any)
		for name, member := range of.Properties {
			object[name] = c.taken(member)
		}
		return object
	case of.Items != nil:
		return []any{c.taken(of.Items)}
	case kind == "object":
		return map[string]any{"name": c.taken(of.values())}
	case kind == "integer":
		return 1
	case kind == "boolean":
		return true
	}
	for seed := 0; of.Pattern != ""; seed++ {
		if text := rapid.StringMatching(of.Pattern).Example(seed); text != "" {
			return text
		}
	}
	return "a"
}

func told[T any](answer T, err error) []any { return []any{answer, err} }

// all returns the values of a sequence.
func all[T any](sequence iter.Seq2[T, error]) (said []any) {
	for one, err := range sequence {
		said = append(said, one, err)
	}
	return said
}

// listed returns the values of a sequence without errors.
func listed[T any](t *testing.T, sequence iter.Seq2[T, error]) []T {
	t.Helper()
	var list []T
	for one, err := range sequence {
		require.NoError(t, err)
		list = append(list, one)
	}
	return list
}

// words are the members of an answer that the client depends on.
func words(operation string, status int) map[string]any {
	words := map[string]any{
		"UserProgress.outcome": "progress", "UserEntry.outcome": "entry", "UserExport.outcome": "exported", "UserErasure.outcome": "erased",
		"CampaignProgress.outcome": "progress", "CampaignSummary.outcome": "campaign_moved",
		"RefitProgress.outcome": "progress", "Misfit.outcome": client.OutcomeMisfit, "RefitSummary.outcome": "dry_run",
		"Outcome.outcome": map[string]string{
			"cancelMessage": "cancelled", "moveMessage": "moved", "retryDeadLetter": "retried", "purgeDeadLetter": "purged",
			"submitBatch": "invalid", "recordSent": "recorded", "checkBatch": "invalid", "dryRunPolicy": "error", "exportUser": "error", "eraseUser": "error", "refitPolicy": "error",
			"resumeCampaign": "error", "cancelCampaign": "error", "moveCampaign": "error",
		}[operation],
		"AlertDone.outcome": map[string]string{"retryDeadAlert": "retried", "purgeDeadAlert": "purged"}[operation],
		"Events.next":       "2-0", // which is asked for
		"Outcome.code":      client.CodeRefitRunning, "Problem.code": client.CodeSendLimit, "Problem.outcome": "refused",
	}
	if words["Outcome.outcome"] == "" {
		words["Outcome.outcome"] = "accepted"
	}
	if operation == "checkBatch" {
		words["Outcome.line"] = 2 // the first is a policy
	}
	if status == http.StatusUnprocessableEntity {
		words["Problem.outcome"] = "invalid"
	}
	return words
}
