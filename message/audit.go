package message

// AuditEntry is a change that an operator made.
type AuditEntry struct {
	ID       string `json:"id" doc:"Its id. Ids ascend with time."`
	At       Time   `json:"at" doc:"When the change began, by the store's clock."`
	EndedAt  Time   `json:"ended_at,omitzero" doc:"When it ended; absent while the change is running, and if its end is unknown."`
	Account  string `json:"account,omitempty" doc:"The account that made the change; absent without an API key."`
	Key      string `json:"key,omitempty" doc:"The id of the account's key; absent without one."`
	By       string `json:"by,omitempty" doc:"The name of who sent no key, from a command or the header Sendlimit-By; absent with a key."`
	Operator bool   `json:"operator,omitempty" doc:"An operator made the change, not your account."`
	Address  string `json:"address,omitempty" doc:"The address that the request came from; absent for a command on the store."`
	Action   string `json:"action" doc:"The operation in words, such as apply policy."`
	User     string `json:"user,omitempty" doc:"The user whose data changed; absent if there is none, and after the user was erased."`
	Message  string `json:"message,omitempty" doc:"The message that changed; absent if user is absent."`
	Object   string `json:"object,omitempty" doc:"The name of another object that changed, such as a policy."`
	Detail   string `json:"detail,omitempty" doc:"The change in words, without secrets and contents."`
	Outcome  string `json:"outcome,omitempty" doc:"done, refused or failed; a failed change may have changed something. Absent while the change is running."`
	Code     string `json:"code,omitempty" doc:"Why it was refused or failed, as a code."`
	Answer   string `json:"answer,omitempty" doc:"Why it was refused or failed, as a sentence."`
	More     int    `json:"more,omitempty" doc:"The number of further refusals in the same minute, which have no entries."`
	Erased   bool   `json:"erased,omitempty" doc:"The user's data was removed from the entry, because the user was erased."`
}

// AuditEntries is a page of the audit log.
type AuditEntries struct {
	Entries    []AuditEntry `json:"entries" doc:"The newest first."`
	NextCursor string       `json:"next_cursor,omitempty" doc:"The cursor of the next page; absent if there are no more. A page with filters may be short or empty, and the next may be, too."`
}
