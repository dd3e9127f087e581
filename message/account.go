package message

// Account is an account that sends messages.
type Account struct {
	Name           string   `json:"name" doc:"1 to 64 of a-z 0-9 _ -"`
	Tier           string   `json:"tier,omitempty" doc:"Its tier; absent if nothing is limited."`
	Contact        string   `json:"contact,omitempty" doc:"Where quota alerts go: an e-mail address or an https: URL."`
	TimeZone       string   `json:"time_zone" doc:"The IANA time zone of the hours and days of its quota."`
	FormerTimeZone string   `json:"former_time_zone,omitempty" doc:"The time zone before the last change, which counts until time_zone_from."`
	TimeZoneFrom   *Time    `json:"time_zone_from,omitempty" doc:"From when the time zone counts: the end of the day that was under way when it was changed."`
	ReportAt       string   `json:"report_at,omitempty" doc:"The local time of its daily report; absent if it gets none."`
	EventsURL      string   `json:"events_url,omitempty" doc:"Where its events are posted; absent if they are not posted."`
	Disabled       bool     `json:"disabled,omitempty" doc:"Whether its keys are refused. What it has submitted is still sent."`
	CreatedAt      Time     `json:"created_at" doc:"When it was created."`
	Keys           []APIKey `json:"keys" doc:"Its API keys without the secrets, the oldest first."`
}

// AccountDetails is an account with its usage and its callback.
type AccountDetails struct {
	Account

	Usage    AccountUsage `json:"usage" doc:"How much of its quota it has used."`
	Callback *Callback    `json:"callback,omitempty" doc:"Where its events are posted, and how far; absent if they are not posted."`
}

// Accounts is a page of the accounts, or all of them.
type Accounts struct {
	Accounts   []Account `json:"accounts" doc:"By name."`
	NextCursor string    `json:"next_cursor,omitempty" doc:"The cursor of the next page; absent if there are no more. The next page may be empty."`
}

// AccountUsage says how much of its quota an account has used.
type AccountUsage struct {
	Account  string         `json:"account" doc:"The account's name."`
	Tier     string         `json:"tier,omitempty" doc:"Its tier; absent if nothing is limited."`
	Now      Time           `json:"now" doc:"When it was counted, by the store's clock."`
	Hour     QuotaUsage     `json:"hour" doc:"The present hour."`
	Day      QuotaUsage     `json:"day" doc:"The present day, in the account's time zone."`
	Days     []QuotaUsage   `json:"days" doc:"The present day and the six after it: messages count in the day of their send times."`
	Devices  DevicesUsage   `json:"devices" doc:"The devices that it has registered."`
	Requests *RequestsUsage `json:"requests,omitempty" doc:"The requests of the present day; absent if the tier has no limit for them."`
}

// DevicesUsage says how many devices an account has registered.
type DevicesUsage struct {
	Used      int64  `json:"used" doc:"Devices of all users."`
	Limit     int64  `json:"limit,omitempty" doc:"Devices that the tier allows; absent if there is no limit."`
	Remaining *int64 `json:"remaining,omitempty" doc:"Devices left; absent if there is no limit."`
}

// RequestsUsage says how many requests an account has made today.
type RequestsUsage struct {
	Submit RequestUsage `json:"submit" doc:"Those that submit."`
	Read   RequestUsage `json:"read" doc:"Those that read."`
	Change RequestUsage `json:"change" doc:"All others."`
}

// RequestUsage says how many requests of one kind an account has made.
type RequestUsage struct {
	Used      int64 `json:"used" doc:"Requests so far."`
	Limit     int64 `json:"limit" doc:"Requests that the tier allows."`
	Remaining int64 `json:"remaining" doc:"Requests left."`
	From      Time  `json:"from" doc:"When the day began."`
	Until     Time  `json:"until" doc:"When it ends, and the next one begins with nothing used."`
}

// QuotaUsage says how many messages of an hour or a day an account has used.
type QuotaUsage struct {
	Used      int64  `json:"used" doc:"Messages charged in it so far, by their send times: sent, or still scheduled."`
	Limit     int64  `json:"limit,omitempty" doc:"Messages that the tier allows in it; absent if there is no limit."`
	Remaining *int64 `json:"remaining,omitempty" doc:"Messages left; absent if there is no limit."`
	From      Time   `json:"from" doc:"When it began."`
	Until     Time   `json:"until" doc:"When it ends, and the next one begins with nothing used."`
}

// AccountDraft is the request for a new account.
type AccountDraft struct {
	Name     string `json:"name" doc:"1 to 64 of a-z 0-9 _ -"`
	Tier     string `json:"tier,omitempty" doc:"The name of an existing tier; by default nothing is limited."`
	Contact  string `json:"contact,omitempty" doc:"Where quota alerts go: an e-mail address or an https: URL."`
	TimeZone string `json:"time_zone,omitempty" doc:"An IANA time zone, by default UTC."`
	ReportAt string `json:"report_at,omitempty" doc:"Local time of a daily report, such as 08:00; by default there is none."`
}

// AccountPatch is the request to change an account. A nil field stays unchanged; an empty one is
// removed.
type AccountPatch struct {
	Tier     *string `json:"tier,omitempty" doc:"The name of an existing tier."`
	Contact  *string `json:"contact,omitempty" doc:"An e-mail address or an https: URL."`
	TimeZone *string `json:"time_zone,omitempty" doc:"An IANA time zone. It counts from the end of the present day in the former one."`
	ReportAt *string `json:"report_at,omitempty" doc:"Local time of a daily report, such as 08:00."`
	Disabled *bool   `json:"disabled,omitempty" doc:"Whether its keys are refused."`
}

// Scope says what an API key may be used for.
type Scope string

// The scopes. A key with submit and read reaches its account's messages. admin reaches everything
// except the content of other accounts' messages, which needs admin and content.
const (
	ScopeSubmit  Scope = "submit"
	ScopeRead    Scope = "read"
	ScopeAdmin   Scope = "admin"
	ScopeContent Scope = "content"
)

// APIKey describes an API key, without the secret.
type APIKey struct {
	ID        string  `json:"id" doc:"The key's id, which is not secret."`
	Scopes    []Scope `json:"scopes" doc:"What the key may be used for: submit, read, admin, content."`
	CreatedAt Time    `json:"created_at" doc:"When it was created."`
	ExpiresAt Time    `json:"expires_at,omitzero" doc:"When the key expires; absent for never."`
}

// NewAPIKey is the answer to a request for an API key. No other answer has the secret.
type NewAPIKey struct {
	APIKey

	Secret string `json:"key" doc:"The secret key, which is shown only once."`
}

// APIKeyDraft is the request for a new API key.
type APIKeyDraft struct {
	Scopes    []string `json:"scopes,omitempty" doc:"What the key may be used for: submit, read, admin, content; by default submit and read. content, which needs admin, shows content and metadata of other accounts' messages, and allows changing them. Only a key with this scope can give it."`
	ExpiresAt string   `json:"expires_at,omitempty" doc:"RFC 3339: when the key expires; by default never."`
}

// APIKeyRotation is the request to replace an API key by a new one.
type APIKeyRotation struct {
	Overlap string `json:"overlap,omitempty" doc:"How long the old key still works, such as 1h or 7d: by default 1d, at most 366d. 0 ends it at once."`
}

// Tier limits what its accounts may send.
type Tier struct {
	Name string `json:"name" doc:"1 to 64 of a-z 0-9 _ -"`
	TierLimits
}

// TierLimits are the limits of a tier; 0 is no limit.
type TierLimits struct {
	RequestsPerMinute int64 `json:"requests_per_minute" required:"false" doc:"Requests in each natural minute, in three separate counters: those that submit, those that read, and all others; 0 is no limit."`
	RequestsPerDay    int64 `json:"requests_per_day" required:"false" doc:"Requests in each natural day in UTC, in the same three counters; 0 is no limit. If the event that a request counts as has a time zone, the day is that zone's."`
	LinesPerMinute    int64 `json:"lines_per_minute" required:"false" doc:"Lines of batches in a minute, over all batches of the account; 0 is no limit. A bucket of as many lines fills evenly, and a batch waits for it."`
	MessagesPerHour   int64 `json:"messages_per_hour" required:"false" doc:"Messages to be sent in each natural hour of the account's time zone; 0 is no limit."`
	MessagesPerDay    int64 `json:"messages_per_day" required:"false" doc:"Messages to be sent in each natural day of the account's time zone; 0 is no limit."`
	Devices           int64 `json:"devices" required:"false" doc:"Devices that an account may have registered at a time, of all users; 0 is no limit. An account that has more keeps them, and registers no others."`
	AlertAt           []int `json:"alert_at,omitzero" doc:"Percents of messages_per_day at which the account's contact is alerted; by default 80 and 100, empty is never."`
}

// TierRemoved is the Outcome of a TierRemoval.
const TierRemoved = "removed"

// TierRemoval is the answer to a request to remove a tier.
type TierRemoval struct {
	Outcome string `json:"outcome" doc:"removed"`
	Tier    string `json:"tier" doc:"The name of the tier."`
}

// Tiers is a page of the tiers, or all of them.
type Tiers struct {
	Tiers      []Tier `json:"tiers" doc:"By name."`
	NextCursor string `json:"next_cursor,omitempty" doc:"The cursor of the next page; absent if there are no more. The next page may be empty."`
}
