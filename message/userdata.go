package message

// Outcomes of the lines of an export or an erasure of a user.
const (
	UserProgressing = "progress"
	UserEntryFound  = "entry"
	UserExported    = "exported"
	UserErased      = "erased"
)

// UserProgress is the progress of an export or an erasure of a user.
type UserProgress struct {
	Outcome string `json:"outcome" doc:"progress"`
	Done    int64  `json:"done" doc:"Keys of the store that were checked."`
	Total   int64  `json:"total" doc:"The total number of keys, about."`
}

// UserEntry is an entry of an exported user.
type UserEntry struct {
	Outcome string         `json:"outcome" doc:"entry"`
	List    string         `json:"list" doc:"The list of the entry."`
	DryRun  string         `json:"dry_run,omitempty" doc:"The token of the dry run that died before it removed this copy; absent for real data."`
	Entry   map[string]any `json:"entry" doc:"The entry, as in that list."`
}

// UserExport is the last line of an exported user.
type UserExport struct {
	Outcome    string `json:"outcome" doc:"exported"`
	User       string `json:"user" doc:"The user's name."`
	ExportedAt Time   `json:"exported_at" doc:"When it was read, by the clock of this server."`
	Entries    int    `json:"entries" doc:"The number of entries in the lines before."`
}

// UserErasure is the last line of an erased user.
type UserErasure struct {
	Outcome   string `json:"outcome" doc:"erased"`
	User      string `json:"user" doc:"The user's name."`
	Messages  int    `json:"messages" doc:"Messages with a record."`
	Cancelled int    `json:"cancelled" doc:"Of these, messages that were not sent yet."`
	Tasks     int    `json:"tasks" doc:"Tasks that were removed from the queue."`
	Keys      int    `json:"keys" doc:"Keys that were removed from the store."`
	Entries   int    `json:"entries" doc:"Entries that were removed from lists of all users."`
	Running   int    `json:"running" doc:"Tasks that a worker is running, or was running when it died. The queue has the user's name until they end. If there are any, erase the user again in a few minutes."`
}
