package client_test

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// calls has a call of each operation, with everything set that can be, and what
// the caller is told.
func calls() map[string]func(context.Context, *client.Client) []any {
	day := at("2026-11-22T00:00:00Z")
	text, yes, to, zone, clock := "a", true, "a@example.org", "UTC", "08:00"
	m := client.Message{
		ID: "a", User: "alice", SendAt: day, Category: "c", Title: "t", Body: "b", Data: map[string]string{"k": "v"}, Campaign: "c", Metadata: map[string]string{"k": "v"},
		Image: "https://example.com/a.png", ClickURL: "myapp://a", Badge: new(1), Sound: "s", Priority: client.PriorityHigh, CollapseKey: "k",
		Channels: map[string]json.RawMessage{"fcm": []byte(`{}`)}, To: &client.Target{App: "a"},
		ExpiresAt: day, OnConflict: client.OnConflictShift, ShiftUntil: day,
	}
	p := client.Policy{
		Name: "vip", TimeZone: "UTC", UserTimeZone: true, Rules: []string{"1/day"}, QuietHours: []string{"22:00-08:00"}, Reach: "1d",
		Only: []string{"07:00-23:00"}, Blackouts: []string{"holidays"}, Calendars: map[string][]string{"holidays": {"12-25"}},
		Changes:    []policy.ChangeDocument{{From: "2027-01-01", Rules: []string{"2/day"}}},
		OnConflict: client.OnConflictShift, AccountShare: "50%", AlertAt: []int{80}, AlertTo: "a@example.org",
		Categories: map[string]client.PolicyCategory{"c": {Rules: []string{"1/day"}, Exempt: true, Counts: &yes}}, UnknownCategories: "allow", Version: 1,
	}
	s := client.Settings{
		Contact: to, Policy: "vip", Limits: []string{"1/day"}, TimeZone: "UTC", Blocked: true,
		Categories: map[string][]string{"ads": {"1/day"}}, OptOut: []string{"ads"}, QuietHours: []string{"12:00-13:00"},
	}
	change := client.SettingsChange{
		Contact: &to, Policy: &text, Limits: []string{}, TimeZone: &zone, Blocked: &yes,
		Categories: map[string][]string{}, OptOut: []string{}, QuietHours: []string{},
	}
	campaign := client.CampaignName{Name: "c", Account: "acme"}
	both := []client.Condition{client.IfVersion("1"), client.IfNone()}
	type ctx = context.Context
	type c = *client.Client
	return map[string]func(ctx, c) []any{
		"submitMessage": func(ctx ctx, c c) []any { return told(c.Submit(ctx, m)) },
		"checkMessage":  func(ctx ctx, c c) []any { return told(c.DryRun(ctx, m)) },
		"submitBatch": func(ctx ctx, c c) []any {
			return all(c.SubmitBatch(ctx, slices.Values([]client.Message{m}), client.WithoutFreeTimes()))
		},
		"checkBatch": func(ctx ctx, c c) []any {
			rules := client.WhatIf{Rules: []string{"1/day"}, Policy: &p}
			return all(c.DryRunBatch(ctx, slices.Values([]client.Message{m}), rules, client.WithoutFreeTimes()))
		},
		"recordSent":  func(ctx ctx, c c) []any { return all(c.RecordSent(ctx, slices.Values([]client.Message{m}))) },
		"findMessage": func(ctx ctx, c c) []any { return all(c.FindMessage(ctx, "a", client.PageRequest{PageSize: 1})) },
		"findMessages": func(ctx ctx, c c) []any {
			return all(c.Messages(ctx, client.MessagesRequest{
				Campaign: "c", Category: "c", Status: client.StatusMoved, From: day, Until: day, User: "alice", UserPrefix: "a", Account: "acme",
				PageSize: 1,
			}))
		},
		"getMessage": func(ctx ctx, c c) []any { return told(c.Status(ctx, "alice", "a")) },
		"moveMessage": func(ctx ctx, c c) []any {
			at, text, image, priority := day, "text", "https://example.com/a.png", client.PriorityHigh
			entries := map[string]*string{"kept": &text, "removed": nil}
			return told(c.Change(ctx, "alice", "a", client.MessageChange{
				SendAt: &at, OnConflict: client.OnConflictShift, ShiftUntil: day, Title: &text, Body: &text,
				Data: entries, Metadata: entries, ExpiresAt: &at,
				Image: &image, ClickURL: &image, Badge: new(1), Sound: &text, Priority: &priority, CollapseKey: &text,
				Channels: map[string]json.RawMessage{"fcm": nil}, To: entries,
			}))
		},
		"cancelMessage": func(ctx ctx, c c) []any { return told(c.Cancel(ctx, "alice", "a")) },
		"listMessages": func(ctx ctx, c c) []any {
			return all(c.List(ctx, client.ListRequest{User: "alice", From: day, To: day, Titles: true, PageSize: 1}))
		},
		"getUsage": func(ctx ctx, c c) []any {
			return told(c.Usage(ctx, client.UsageRequest{User: "alice", At: day, From: day, To: day, Category: "c"}))
		},
		"getNextFree": func(ctx ctx, c c) []any {
			return told(c.NextFree(ctx, client.NextFreeRequest{User: "alice", From: day, Count: 1, Category: "c"}))
		},

		"listDeadLetters": func(ctx ctx, c c) []any {
			return all(c.DeadLetters(ctx, client.DeadLettersRequest{User: "alice", PageSize: 1}))
		},
		"getDeadLetter":   func(ctx ctx, c c) []any { return told(c.DeadLetter(ctx, "alice", "a", true)) },
		"retryDeadLetter": func(ctx ctx, c c) []any { return told(c.RetryDeadLetter(ctx, "alice", "a")) },
		"retryDeadLetters": func(ctx ctx, c c) []any {
			return all(c.RetryDeadLetters(ctx, client.DeadLettersRequest{User: "alice", PageSize: 1}))
		},
		"purgeDeadLetter": func(ctx ctx, c c) []any { return told(c.PurgeDeadLetter(ctx, "alice", "a")) },

		"purgeDeadLetters": func(ctx ctx, c c) []any { return told(c.PurgeDeadLetters(ctx, time.Hour, 1)) },
		"listDeadAlerts":   func(ctx ctx, c c) []any { return all(c.DeadAlerts(ctx, client.PageRequest{PageSize: 1})) },
		"getDeadAlert":     func(ctx ctx, c c) []any { return told(c.DeadAlert(ctx, "daily_report/0/acme")) },
		"retryDeadAlert":   func(ctx ctx, c c) []any { return told(c.RetryDeadAlert(ctx, "daily_report/0/acme")) },
		"purgeDeadAlert":   func(ctx ctx, c c) []any { return told(c.PurgeDeadAlert(ctx, "daily_report/0/acme")) },
		"purgeDeadAlerts":  func(ctx ctx, c c) []any { return told(c.PurgeDeadAlerts(ctx, time.Hour, 1)) },

		"listAccounts": func(ctx ctx, c c) []any { return all(c.Accounts(ctx, client.PageRequest{PageSize: 1})) },
		"getAccount":   func(ctx ctx, c c) []any { return told(c.Account(ctx, "acme")) },
		"createAccount": func(ctx ctx, c c) []any {
			return told(c.CreateAccount(ctx, client.NewAccount{Name: "acme", Tier: "t", Contact: to, TimeZone: zone, ReportAt: "08:00"}))
		},
		"changeAccount": func(ctx ctx, c c) []any {
			return told(c.ChangeAccount(ctx, "acme", client.AccountChange{
				Tier: &text, Contact: &to, TimeZone: &zone, ReportAt: &clock, Disabled: &yes,
			}))
		},
		"addAccountKey": func(ctx ctx, c c) []any {
			key, known, err := c.AddAPIKey(ctx, "acme", day, client.ScopeRead)
			return []any{key, known, err}
		},
		"rotateAccountKey": func(ctx ctx, c c) []any {
			key, known, err := c.RotateAPIKey(ctx, "acme", "k", time.Hour)
			return []any{key, known, err}
		},
		"removeAccountKey": func(ctx ctx, c c) []any { return told(c.RemoveAPIKey(ctx, "acme", "k")) },
		"listSessions":     func(ctx ctx, c c) []any { return told(c.Sessions(ctx)) },
		"endSession":       func(ctx ctx, c c) []any { return told(c.EndSession(ctx, "3fa91c02b7d86e54")) },
		"listTiers":        func(ctx ctx, c c) []any { return all(c.Tiers(ctx, client.PageRequest{PageSize: 1})) },
		"getTier":          func(ctx ctx, c c) []any { return told(c.Tier(ctx, "free")) },
		"removeTier":       func(ctx ctx, c c) []any { return told(c.RemoveTier(ctx, "free")) },
		"setTier": func(ctx ctx, c c) []any {
			return told(c.SetTier(ctx, client.Tier{Name: "free", TierLimits: client.TierLimits{AlertAt: []int{80}}}))
		},

		"listPolicies":       func(ctx ctx, c c) []any { return all(c.Policies(ctx, client.PageRequest{PageSize: 1})) },
		"getPolicy":          func(ctx ctx, c c) []any { return told(c.Policy(ctx, "vip")) },
		"applyPolicy":        func(ctx ctx, c c) []any { return told(c.ApplyPolicy(ctx, p, both...)) },
		"deletePolicy":       func(ctx ctx, c c) []any { return told(c.DeletePolicy(ctx, "vip", both...)) },
		"listPolicyVersions": func(ctx ctx, c c) []any { return told(c.PolicyVersions(ctx, "vip")) },
		"rollbackPolicy":     func(ctx ctx, c c) []any { return told(c.RollbackPolicy(ctx, "vip", 1, both...)) },
		"listUsers": func(ctx ctx, c c) []any {
			return all(c.Users(ctx, client.UsersRequest{Blocked: true, Policy: "vip", PageSize: 1}))
		},
		"countCampaign":  func(ctx ctx, c c) []any { return told(c.Campaign(ctx, campaign)) },
		"pauseCampaign":  func(ctx ctx, c c) []any { return told(c.PauseCampaign(ctx, campaign)) },
		"resumeCampaign": func(ctx ctx, c c) []any { return all(c.ResumeCampaign(ctx, campaign)) },
		"cancelCampaign": func(ctx ctx, c c) []any { return all(c.CancelCampaign(ctx, campaign)) },
		"moveCampaign":   func(ctx ctx, c c) []any { return all(c.PreviewCampaignMove(ctx, campaign, time.Hour)) },
		"previewPolicy":  func(ctx ctx, c c) []any { return all(c.PreviewPolicy(ctx, p)) },
		"refitPolicy":    func(ctx ctx, c c) []any { return all(c.RefitPolicy(ctx, "vip", client.RefitShift)) },

		"getUserSettings":    func(ctx ctx, c c) []any { return told(c.UserSettings(ctx, "alice")) },
		"setUserSettings":    func(ctx ctx, c c) []any { return told(c.SetUserSettings(ctx, "alice", s, both...)) },
		"changeUserSettings": func(ctx ctx, c c) []any { return told(c.ChangeUserSettings(ctx, "alice", change, both...)) },
		"clearUserSettings":  func(ctx ctx, c c) []any { return told(c.ClearUserSettings(ctx, "alice", both...)) },
		"getAccountUsage":    func(ctx ctx, c c) []any { return told(c.AccountUsage(ctx, "acme")) },
		"getOwnUsage":        func(ctx ctx, c c) []any { return told(c.OwnUsage(ctx)) },
		"listDevices":        func(ctx ctx, c c) []any { return told(c.Devices(ctx, "alice")) },
		"addDevice": func(ctx ctx, c c) []any {
			return told(c.AddDevice(ctx, "alice", client.DeviceDraft{
				ID: "phone", Channel: "webpush", Token: "t", App: "shop", Locale: "de", Subscription: map[string]any{"endpoint": "https://push.example.net/x"},
			}))
		},
		"removeDevice":    func(ctx ctx, c c) []any { return told(c.RemoveDevice(ctx, "alice", "phone")) },
		"exportUser":      func(ctx ctx, c c) []any { return all(c.ExportUser(ctx, "alice")) },
		"eraseUser":       func(ctx ctx, c c) []any { return all(c.EraseUser(ctx, "alice", time.Second)) },
		"listEventLimits": func(ctx ctx, c c) []any { return all(c.AllEventLimits(ctx, client.PageRequest{PageSize: 1})) },
		"getEventLimits":  func(ctx ctx, c c) []any { return told(c.EventLimits(ctx, "read")) },
		"setEventLimits": func(ctx ctx, c c) []any {
			return told(c.SetEventLimits(ctx, "read", client.NewEventLimits{
				PerMinute: 1, PerHour: 1, PerDay: 1, TimeZone: "UTC", AlertAt: []int{80}, AlertTo: to, Custom: true,
			}))
		},
		"removeEventLimits": func(ctx ctx, c c) []any { return told(c.RemoveEventLimits(ctx, "read")) },
		"listAuditEntries": func(ctx ctx, c c) []any {
			return all(c.AuditLog(ctx, client.AuditRequest{Account: "acme", User: "alice", Action: "apply policy", Object: "o", From: day, Until: day, PageSize: 1}))
		},
		"getPace": func(ctx ctx, c c) []any { return told(c.Pace(ctx, "fcm")) },
		"setPace": func(ctx ctx, c c) []any {
			return told(c.SetPace(ctx, "fcm", client.NewPace{Rate: "1/second", Burst: 1}))
		},
		"clearPace":     func(ctx ctx, c c) []any { return told(c.ClearPace(ctx, "fcm")) },
		"listChannels":  func(ctx ctx, c c) []any { return told(c.Channels(ctx)) },
		"resumeChannel": func(ctx ctx, c c) []any { return told(c.ResumeChannel(ctx, "fcm")) },
		"followEvents": func(ctx ctx, c c) []any {
			return all(c.Events(ctx, client.EventsRequest{Account: "acme", After: "1-0", PageSize: 1}))
		},
		"getCallback": func(ctx ctx, c c) []any { return told(c.Callback(ctx, "acme")) },
		"setCallback": func(ctx ctx, c c) []any {
			return told(c.SetCallback(ctx, "acme", client.NewCallback{URL: "https://example.org", Secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}))
		},
		"removeCallback":       func(ctx ctx, c c) []any { return told(c.RemoveCallback(ctx, "acme")) },
		"rotateCallbackSecret": func(ctx ctx, c c) []any { return told(c.RotateCallbackSecret(ctx, "acme", time.Hour)) },
		"listDeadEvents":       func(ctx ctx, c c) []any { return all(c.DeadEvents(ctx, "acme", client.PageRequest{PageSize: 1})) },
		"retryDeadEvents":      func(ctx ctx, c c) []any { return told(c.RetryDeadEvents(ctx, "acme", "1-0", 1)) },
		"purgeDeadEvents":      func(ctx ctx, c c) []any { return told(c.PurgeDeadEvents(ctx, "acme", "1-0")) },
		"getStats":             func(ctx ctx, c c) []any { return told(c.Stats(ctx)) },
	}
}

func told[T any](answer T, err error) []any { return []any{answer, err} }

// all is what a sequence gives.
func all[T any](sequence iter.Seq2[T, error]) (said []any) {
	for one, err := range sequence {
		said = append(said, one, err)
	}
	return said
}

// listed is what a sequence gives that has no error.
func listed[T any](t *testing.T, sequence iter.Seq2[T, error]) []T {
	t.Helper()
	var list []T
	for one, err := range sequence {
		require.NoError(t, err)
		list = append(list, one)
	}
	return list
}

// words are what an answer says in members that the client goes by.
func words(operation string, status int) map[string]any {
	words := map[string]any{
		"UserProgress.outcome": "progress", "UserEntry.outcome": "entry", "UserExport.outcome": "exported", "UserErasure.outcome": "erased",
		"CampaignProgress.outcome": "progress", "CampaignSummary.outcome": "campaign_moved",
		"RefitProgress.outcome": "progress", "Misfit.outcome": client.MisfitFound, "RefitSummary.outcome": "previewed",
		"Outcome.outcome": map[string]string{
			"cancelMessage": "cancelled", "moveMessage": "moved", "retryDeadLetter": "retried", "purgeDeadLetter": "purged",
			"submitBatch": "invalid", "recordSent": "recorded", "checkBatch": "invalid", "previewPolicy": "error", "exportUser": "error", "eraseUser": "error", "refitPolicy": "error",
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
