package message

// AuditEntry is a change that an operator made.
type AuditEntry struct {
	ID       string `json:"id" doc:"Its id. Ids ascend with time."`
	At       Time   `json:"at" doc:"When the change began, by the store's clock."`
	EndedAt  Time   `json:"ended_at,omitzero" doc:"When it ended; absent while it is under way, and if its end is not known."`
	Account  string `json:"account,omitempty" doc:"The account that made it; absent without a key."`
	Key      string `json:"key,omitempty" doc:"The id of the account's key; absent without one."`
	By       string `json:"by,omitempty" doc:"Who made it by a command on the store itself; absent of others."`
	Operator bool   `json:"operator,omitempty" doc:"Another one than your account made it: who, is the operators' business."`
	Address  string `json:"address,omitempty" doc:"The address that it came from; absent of a command on the store."`
	Action   string `json:"action" doc:"What was done: the words of an operation, such as apply policy."`
	User     string `json:"user,omitempty" doc:"The user that it is about; absent if it is about none, and after the user was erased."`
	Message  string `json:"message,omitempty" doc:"The message that it is about; absent where user is."`
	Object   string `json:"object,omitempty" doc:"The name of what else it is about, such as that of a policy."`
	Detail   string `json:"detail,omitempty" doc:"The change in words, without secrets and contents."`
	Outcome  string `json:"outcome,omitempty" doc:"done, refused, or failed, which may have changed something; absent while it is under way."`
	Code     string `json:"code,omitempty" doc:"Why it was refused or failed, as a word for programs."`
	Answer   string `json:"answer,omitempty" doc:"Why it was refused or failed, as a sentence."`
	More     int    `json:"more,omitempty" doc:"How many refusals followed in the same minute that have no entry."`
	Erased   bool   `json:"erased,omitempty" doc:"What it said of its user was removed, since the user was erased."`
}

// AuditEntries is a page of the audit log.
type AuditEntries struct {
	Entries    []AuditEntry `json:"entries" doc:"The newest first."`
	NextCursor string       `json:"next_cursor,omitempty" doc:"The cursor of the next page; absent if there are no more. A page with filters may be short or empty, and the next may be, too."`
}
