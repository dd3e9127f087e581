// Package payload says what a webhook gets of a message. It has only values: packages that
// document the webhook need not know who delivers.
package payload

// Payload is a message in JSON. Optional fields that are empty are left out. Times are RFC 3339
// in UTC, with milliseconds.
type Payload struct {
	ID          string            `json:"id" doc:"The message's id, unique for its user."`
	User        string            `json:"user" doc:"Who receives the message."`
	Category    string            `json:"category,omitempty" doc:"The message's category."`
	Title       string            `json:"title,omitempty" doc:"The message's title."`
	Body        string            `json:"body,omitempty" doc:"The message's text."`
	Data        map[string]string `json:"data,omitempty" doc:"Data for the app."`
	Image       string            `json:"image,omitempty" doc:"The https URL of an image to show with the message."`
	ClickURL    string            `json:"click_url,omitempty" doc:"What a click on the message opens: a web page, or a place in the app."`
	Badge       *int              `json:"badge,omitempty" doc:"The number at the app's icon; absent to leave it as it is."`
	Sound       string            `json:"sound,omitempty" doc:"The name of a sound of the app's."`
	Priority    string            `json:"priority,omitempty" doc:"high if the message may wake the device, normal if it may wait; absent if the caller did not say."`
	CollapseKey string            `json:"collapse_key,omitempty" doc:"The message replaces a former one with the same key on the device."`
	Campaign    string            `json:"campaign,omitempty" doc:"The campaign that the message belongs to."`
	Metadata    map[string]string `json:"metadata,omitempty" doc:"What the caller keeps with the message."`
	SendAt      string            `json:"send_at" doc:"The time that was promised, RFC 3339 in UTC."`
	RequestedAt string            `json:"requested_at,omitempty" doc:"The time that the caller asked for, if it is another."`
	Attempt     int               `json:"attempt" doc:"The number of this attempt, from 1."`
}
