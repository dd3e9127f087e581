package message

// Outcomes of the lines of an export or an erasure of a user.
const (
	UserProgressing = "progress"
	UserEntryFound  = "entry"
	UserExported    = "exported"
	UserErased      = "erased"
)

// UserProgress tells how far an export or an erasure of a user is.
type UserProgress struct {
	Outcome string `json:"outcome" doc:"progress"`
	Done    int64  `json:"done" doc:"Keys of the store that were looked at."`
	Total   int64  `json:"total" doc:"Keys that are looked at in all, about."`
}

// UserEntry is an entry of an exported user.
type UserEntry struct {
	Outcome string         `json:"outcome" doc:"entry"`
	List    string         `json:"list" doc:"Which list the entry belongs to."`
	DryRun  string         `json:"dry_run,omitempty" doc:"The token of the dry run whose copy this is, which did not live to remove it; absent for what is real."`
	Entry   map[string]any `json:"entry" doc:"The entry, as in that list."`
}

// UserExport is the last line of an exported user.
type UserExport struct {
	Outcome    string `json:"outcome" doc:"exported"`
	User       string `json:"user" doc:"The user's name."`
	ExportedAt Time   `json:"exported_at" doc:"When it was read, by the clock of this server."`
	Entries    int    `json:"entries" doc:"How many entries the lines before have."`
}

// UserErasure is the last line of an erased user.
type UserErasure struct {
	Outcome   string `json:"outcome" doc:"erased"`
	User      string `json:"user" doc:"The user's name."`
	Messages  int    `json:"messages" doc:"Messages that had a record."`
	Cancelled int    `json:"cancelled" doc:"Of these, those that were not sent yet."`
	Tasks     int    `json:"tasks" doc:"Tasks that were removed from the queue."`
	Keys      int    `json:"keys" doc:"Keys that were removed from the store."`
	Entries   int    `json:"entries" doc:"Entries that were removed from lists which users share."`
	Running   int    `json:"running" doc:"Tasks that a worker has in hand, or had when it died: until they end, the queue has the user's name. Erase again in a few minutes if there are any."`
}
