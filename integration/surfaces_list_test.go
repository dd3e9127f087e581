package integration_test

import (
	"reflect"

	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/audit"
	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/records/session"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
	"github.com/sendlimit/sendlimiter/tasks/callbacks"
	"github.com/sendlimit/sendlimiter/tasks/campaign"
	"github.com/sendlimit/sendlimiter/tasks/channels"
	"github.com/sendlimit/sendlimiter/tasks/deadletters"
	"github.com/sendlimit/sendlimiter/tasks/overview"
	"github.com/sendlimit/sendlimiter/tasks/refit"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/userdata"
)

// libraryTypes are the types that do what the product does, by the name that the rows have
// them under. Those that begin with another type's method, such as a Rehearsal, are its.
func libraryTypes() map[string]reflect.Type {
	return map[string]reflect.Type{
		"Submitter": reflect.TypeFor[*submit.Submitter](), "DeadLetters": reflect.TypeFor[*deadletters.DeadLetters](),
		"Refitter": reflect.TypeFor[*refit.Refitter](), "Policies": reflect.TypeFor[*settings.Policies](),
		"Users": reflect.TypeFor[*settings.Users](), "Accounts": reflect.TypeFor[*accounts.Accounts](),
		"UserData": reflect.TypeFor[*userdata.Users](), "Events": reflect.TypeFor[*counters.Events](),
		"Channels": reflect.TypeFor[*channels.Store](), "Campaigns": reflect.TypeFor[*campaign.Campaigns](), "Paces": reflect.TypeFor[*rate.Paces](), "Stats": reflect.TypeFor[*overview.Stats](),
		"Callbacks": reflect.TypeFor[*callbacks.Registry](), "Devices": reflect.TypeFor[*devices.Store](),
		"Sessions": reflect.TypeFor[*session.Sessions](), "Audit": reflect.TypeFor[*audit.Log](),
	}
}

// surface is a thing that the product can do, and what does it on each surface; several
// names have ", " between them. Where nothing does, but has the reason by the surface:
// library, command, api or client.
type surface struct {
	what                          string
	library, command, api, client string
	but                           map[string]string
}

// surfaces lists everything that the product can do.
func surfaces() []surface {
	return []surface{
		// Messages.
		{"submit a message", "Submitter.Submit", "enqueue push", "submitMessage", "Submit", nil},
		{"try a message", "Submitter.Check", "enqueue push --dry-run", "checkMessage", "DryRun", nil},
		{"submit many messages", "Submitter.SubmitMany", "enqueue bulk", "submitBatch", "SubmitBatch", nil},
		{"try many messages", "Submitter.Rehearse", "enqueue bulk --dry-run", "checkBatch", "DryRunBatch", nil},
		{"try many messages under other rules", "Submitter.RehearseWhatIf", "enqueue bulk --what-if, enqueue bulk --what-if-policy", "checkBatch", "DryRunBatch", nil},
		{"count what another system sent", "Submitter.RecordSent", "enqueue bulk --record-sent", "recordSent", "RecordSent", nil},
		{"look at a message", "Submitter.Status, Submitter.Statuses, Submitter.Traces", "enqueue status", "getMessage", "Message", nil},
		{"move a message", "Submitter.Move, Submitter.MoveTo", "enqueue move", "moveMessage", "Move, MoveOrShift", nil},
		{"change what a message says", "Submitter.Change", "enqueue change", "moveMessage", "Change", nil},
		{"cancel a message", "Submitter.Cancel", "enqueue cancel", "cancelMessage", "CancelMessage", nil},
		{"find messages by their id", "Submitter.Find", "enqueue find", "findMessage", "FindMessage", nil},
		{
			"list messages of all users", "Submitter.Find",
			"enqueue find --campaign, enqueue find --category, enqueue find --status, enqueue find --user-prefix, enqueue find --from, enqueue find --until",
			"findMessages", "FindMessages", nil,
		},
		{"list a user's messages", "Submitter.List, Submitter.Messages", "enqueue list", "listMessages", "ListMessages", nil},
		{"show how full a user's rules are", "Submitter.Usage", "enqueue usage", "getUsage", "Usage", nil},
		{"find free times", "Submitter.NextFree", "enqueue next-free", "getNextFree", "NextFree", nil},

		// Campaigns.
		{"count a campaign", "Campaigns.Count", "enqueue campaign count", "countCampaign", "CountCampaign, CampaignCounts", nil},
		{"list a campaign", "Campaigns.List", "enqueue campaign list", "findMessages", "FindMessages", nil},
		{"pause a campaign", "Campaigns.Pause", "enqueue campaign pause", "pauseCampaign", "PauseCampaign", nil},
		{"resume a campaign", "Campaigns.Resume", "enqueue campaign resume", "resumeCampaign", "ResumeCampaign", nil},
		{"cancel a campaign", "Campaigns.Cancel", "enqueue campaign cancel", "cancelCampaign", "CancelCampaign", nil},
		{"move a campaign", "Campaigns.Move", "enqueue campaign move", "moveCampaign", "MoveCampaign", nil},
		{"try the move of a campaign", "Campaigns.Preview", "enqueue campaign move --preview", "moveCampaign", "MoveCampaign", nil},

		// Dead letters.
		{"list dead letters", "DeadLetters.List", "worker dead-letters list", "listDeadLetters", "ListDeadLetters", nil},
		{"look at a dead letter", "DeadLetters.Get", "worker dead-letters show", "getDeadLetter", "DeadLetter", nil},
		{"send a dead letter again", "DeadLetters.Retry", "worker dead-letters retry", "retryDeadLetter", "RetryDeadLetter", nil},
		{"send many dead letters again", "DeadLetters.List, DeadLetters.Retry", "worker dead-letters retry --all", "retryDeadLetters", "RetryDeadLetters", nil},
		{"remove a dead letter", "DeadLetters.Purge", "worker dead-letters purge", "purgeDeadLetter", "PurgeDeadLetter", nil},
		{"remove old dead letters", "DeadLetters.PurgeBefore", "worker dead-letters purge --older-than", "purgeDeadLetters", "PurgeDeadLetters", nil},
		{"list failed alerts and reports", "DeadLetters.Notices", "worker dead-letters list --alerts", "listDeadAlerts", "ListDeadAlerts", nil},
		{"look at a failed alert or report", "DeadLetters.Notice", "worker dead-letters show --alert", "getDeadAlert", "DeadAlert", nil},
		{"deliver a failed alert or report again", "DeadLetters.RetryNotice", "worker dead-letters retry --alert", "retryDeadAlert", "RetryDeadAlert", nil},
		{"remove a failed alert or report", "DeadLetters.PurgeNotice", "worker dead-letters purge --alert", "purgeDeadAlert", "PurgeDeadAlert", nil},
		{
			"remove old failed alerts and reports", "DeadLetters.PurgeNoticesBefore", "worker dead-letters purge --alerts",
			"purgeDeadAlerts", "PurgeDeadAlerts", nil,
		},

		// Accounts.
		{"list accounts", "Accounts.List, Accounts.Page", "worker account list", "listAccounts", "ListAccounts", nil},
		{"create an account", "Accounts.Create", "worker account create", "createAccount", "CreateAccount", nil},
		{"look at an account", "Accounts.Get", "worker account show", "getAccount", "Account", nil},
		{"change an account", "Accounts.Set", "worker account set, worker account enable, worker account disable", "changeAccount", "ChangeAccount", nil},
		{"show what an account has used", "Submitter.AccountUsage", "worker account show", "getAccountUsage", "AccountUsage", nil},
		{
			"show what the caller's account has used", "Submitter.AccountUsage", "", "getOwnUsage", "OwnUsage",
			map[string]string{"command": "the programs work on the store, without a key: worker account show names the account"},
		},
		{"add a key", "Accounts.AddKey", "worker account add-key", "addAccountKey", "AddAccountKey", nil},
		{"rotate a key", "Accounts.RotateKey", "worker account rotate-key --overlap", "rotateAccountKey", "RotateAccountKey", nil},
		{"remove a key", "Accounts.RemoveKey", "worker account remove-key", "removeAccountKey", "RemoveAccountKey", nil},
		{"list who is logged in to the dashboard", "Sessions.List", "worker account sessions", "listSessions", "ListSessions", nil},
		{"end a session of the dashboard", "Sessions.Revoke, Sessions.Begin, Sessions.Find, Sessions.End", "worker account end-session", "endSession", "EndSession", nil},
		{"list tiers", "Accounts.ListTiers, Accounts.PageTiers", "worker tier list", "listTiers", "ListTiers", nil},
		{"look at a tier", "Accounts.GetTier", "worker tier show", "getTier", "Tier", nil},
		{"set a tier", "Accounts.SetTier", "worker tier set", "setTier", "SetTier", nil},
		{"remove a tier", "Accounts.RemoveTier", "worker tier remove", "removeTier", "RemoveTier", nil},

		// Policies.
		{"list policies", "Policies.All, Policies.Page", "worker policy list", "listPolicies", "ListPolicies", nil},
		{"look at a policy", "Policies.Named, Policies.Load", "worker policy show", "getPolicy", "Policy", nil},
		{"apply a policy", "Policies.Apply, Policies.Replace", "worker policy apply", "applyPolicy", "ApplyPolicy", nil},
		{"delete a policy", "Policies.Delete", "worker policy delete", "deletePolicy", "DeletePolicy", nil},
		{"list a policy's versions", "Policies.Versions", "worker policy versions", "listPolicyVersions", "ListPolicyVersions", nil},
		{"store an earlier version again", "Policies.Rollback", "worker policy rollback", "rollbackPolicy", "RollbackPolicy", nil},
		{"list what would not fit a policy", "Refitter.Preview", "worker policy apply --preview", "previewPolicy", "PreviewPolicy", nil},
		{"make messages fit a policy", "Refitter.Run", "worker policy apply --then", "refitPolicy", "RefitPolicy", nil},

		// Users.
		{"list users with settings", "Users.List", "worker user list", "listUsers", "ListUsers", nil},
		{"look at a user's settings", "Users.Get", "worker user show", "getUserSettings", "UserSettings", nil},
		{"replace a user's settings", "Users.Set", "worker user set", "setUserSettings", "SetUserSettings", nil},
		{"change a user's settings", "Users.Update", "worker user set", "changeUserSettings", "ChangeUserSettings", nil},
		{"remove a user's settings", "Users.Clear", "worker user clear", "clearUserSettings", "ClearUserSettings", nil},
		{"export a user", "UserData.Export", "worker user export", "exportUser", "ExportUser", nil},
		{"erase a user", "UserData.Erase", "worker user erase", "eraseUser", "EraseUser", nil},

		// Devices.
		{"list a user's devices", "Devices.List", "enqueue device list", "listDevices", "ListDevices", nil},
		{"register a device", "Devices.Add", "enqueue device add", "addDevice", "AddDevice", nil},
		{
			"register many devices", "Devices.Add", "enqueue device import", "addDevice", "AddDevice", nil,
		},
		{"remove a device", "Devices.Remove", "enqueue device remove", "removeDevice", "RemoveDevice", nil},

		// Events.
		{"follow events", "Callbacks.Log", "enqueue events", "followEvents", "Events, FollowEvents", nil},
		{"look at a callback", "Callbacks.Status", "worker account show", "getCallback", "Callback", nil},
		{"set a callback", "Callbacks.Set", "worker account set --events", "setCallback", "SetCallback", nil},
		{"remove a callback", "Callbacks.Remove", "worker account set --events", "removeCallback", "RemoveCallback", nil},
		{"rotate the secret of a callback", "Callbacks.Rotate", "worker account rotate-events-secret --overlap", "rotateCallbackSecret", "RotateCallbackSecret", nil},
		{"list dead events", "Callbacks.DeadEvents", "worker account events list", "listDeadEvents", "ListDeadEvents", nil},
		{"post dead events again", "Callbacks.RetryDead", "worker account events retry", "retryDeadEvents", "RetryDeadEvents", nil},
		{"remove dead events", "Callbacks.PurgeDead", "worker account events purge", "purgeDeadEvents", "PurgeDeadEvents", nil},

		// The operation.
		{"list the limits of events", "Events.List, Events.Page", "worker event-limit list", "listEventLimits", "ListEventLimits", nil},
		{"look at the limits of an event", "Events.Get", "worker event-limit show", "getEventLimits", "EventLimits", nil},
		{"set the limits of an event", "Events.Set", "worker event-limit set", "setEventLimits", "SetEventLimits", nil},
		{"remove the limits of an event", "Events.Remove", "worker event-limit remove", "removeEventLimits", "RemoveEventLimits", nil},
		{"look at the pace", "Paces.Load", "worker pace show", "getPace", "Pace", nil},
		{"set the pace", "Paces.Apply", "worker pace set", "setPace", "SetPace", nil},
		{"remove the pace and a pause", "Paces.Apply, Paces.Resume", "worker pace clear", "clearPace", "ClearPace", nil},
		{"list what operators changed", "Audit.Page", "worker audit", "listAuditEntries", "ListAuditEntries", nil},
		{"list the channels", "Channels.Load", "worker channel list", "listChannels", "ListChannels", nil},
		{"resume a channel", "Channels.Resume", "worker channel resume", "resumeChannel", "ResumeChannel", nil},
		{"show the state of the queue and the store", "Stats.Read", "worker stats", "getStats", "Stats", nil},
	}
}

// besideOperations are methods of the library that are parts of an operation, or are for
// programs: each with what it is for.
func besideOperations() map[string]string {
	return map[string]string{
		"Submitter.For":          "the same for an account, which has a key on the other surfaces",
		"Submitter.MoveFrom":     "a move on condition, which a refit uses",
		"Submitter.CheckMove":    "a move that only judges, for the preview of a campaign's move",
		"Submitter.CancelFrom":   "a cancel on condition, which a refit uses",
		"Submitter.CheckAccount": "says early that an account can't submit: the first line of a file",
		"Submitter.StoreFull":    "says early that a full store takes no device",
		"Submitter.Announce":     "hands over an alert that a count has raised",
		"Submitter.Timeline":     "the timeline below, for programs of one's own",
		"Submitter.Counters":     "counts the requests of the API in the pipelines of submits",
		"Submitter.Close":        "ends the program's part",

		"DeadLetters.Count": "is in the stats", "DeadLetters.CountNotices": "is in the stats",
		"DeadLetters.Now": "the store's clock, to say how old a letter is", "DeadLetters.Close": "ends the program's part",
		"Refitter.Close": "ends the program's part",

		"Policies.Changed": "how programs follow a change",
		"Policies.By":      "says who makes a change",
		"Policies.Seed":    "the settings of a worker, in an empty store",
		"Policies.Version": "one of Versions, for a rollback",

		"Accounts.Resolve": "an account with its tier, for a charge", "Accounts.Authenticate": "the account of a key", "Accounts.KeysExist": "a look before that", "Accounts.Identify": "the same, of the hash of a key",
		"Accounts.SeveralActive": "whether accounts share anything", "Submitter.MaxDevices": "asked when a device is registered",
		"Devices.Count": "is in the usage of an account", "Devices.Recount": "makes a count right that a dead program left", "Devices.Sweep": "the same, hourly",
		"Accounts.HasUsableKey": "whether the API can ask for keys", "Accounts.Seed": "the settings of a worker, in an empty store",
		"Accounts.SeedTier": "the settings of a worker, in an empty store",

		"Accounts.SetEvents": "is in Callbacks.Set", "Accounts.RemoveEvents": "is in Callbacks.Remove",
		"Accounts.RotateEventsSecret": "is in Callbacks.Rotate", "Accounts.Callback": "where to post events, and signed by what",
		"Accounts.WithCallback": "the accounts to post events to",
		"Callbacks.Check":       "is in Callbacks.Set", "Callbacks.Listen": "makes programs write events; who follows them calls it",
		"Callbacks.ListenEvery": "says how often",

		"Devices.RemoveOf": "the same for an account, which has a key on the other surfaces", "Devices.RemoveGone": "what a provider says of devices",
		"Devices.NoteSuccess": "what a provider says of devices", "Devices.MarkSuspect": "what a provider says of devices, when too many are gone",
		"Devices.ClearSuspect": "ends what MarkSuspect began",

		"Channels.Stop": "what a provider says of the credentials", "Channels.TakeProbe": "the turn of a worker",
		"Channels.ResumeProbed": "ends a stop when a probe passes", "Channels.Accept": "what a worker has delivered",
		"Channels.NoteWave": "what a provider says of devices",

		"Paces.Seed": "the settings of a worker, in an empty store", "Paces.Pause": "what a target asks for, with Retry-After",
		"Paces.Target": "the name of the target", "Paces.Of": "the pace of another target, such as a channel",

		"Audit.Begin": "logs each change of the API", "Audit.End": "logs how it ended",
		"Audit.OfUser": "is in the export of a user", "Audit.EraseUser": "is in the erasure of a user",
	}
}

// operatorsOnly are commands about the machine that they run on.
func operatorsOnly() map[string]string {
	return map[string]string{
		"worker run":               "is the worker",
		"worker channel check":     "asks providers with the credentials of the machine that it runs on",
		"worker channel send-test": "asks a provider with the credentials of the machine that it runs on",
		"worker channel keys":      "makes a key pair, and touches no store",
		"worker check":             "looks at the settings and the servers of the machine that it runs on",
		"worker health":            "asks the worker of the machine that it runs on, where /readyz answers",
		"worker email-preview":     "shows a mail in the terminal of who changes the texts",
	}
}

// notCalls are methods of the client that call nothing.
func notCalls() map[string]string {
	return map[string]string{"CloseIdleConnections": "is about connections"}
}
