// Package payload defines the webhook's JSON of a message. It has only values, so that packages
// which document the webhook need not import the channels.
package payload

// Payload is a message in JSON. Optional fields are absent if they are empty. Times are RFC 3339 in
// UTC, with milliseconds.
type Payload struct {
	ID          string            `json:"id" doc:"The message's id, unique for its user."`
	User        string            `json:"user" doc:"The receiver of the message."`
	Category    string            `json:"category,omitempty" doc:"The message's category."`
	Title       string            `json:"title,omitempty" doc:"The message's title."`
	Body        string            `json:"body,omitempty" doc:"The message's text."`
	Data        map[string]string `json:"data,omitempty" doc:"Data for the app."`
	Image       string            `json:"image,omitempty" doc:"The https URL of an image to show with the message."`
	ClickURL    string            `json:"click_url,omitempty" doc:"The URL that a click opens: a web page, or a place in the app."`
	Badge       *int              `json:"badge,omitempty" doc:"The number at the app's icon; absent to keep it."`
	Sound       string            `json:"sound,omitempty" doc:"The name of a sound of the app's."`
	Priority    string            `json:"priority,omitempty" doc:"high if the message may wake the device, normal if it may wait; absent if the caller did not say."`
	CollapseKey string            `json:"collapse_key,omitempty" doc:"The message replaces an earlier one with the same key on the device."`
	Campaign    string            `json:"campaign,omitempty" doc:"The message's campaign."`
	Metadata    map[string]string `json:"metadata,omitempty" doc:"Texts of the caller by name."`
	SendAt      string            `json:"send_at" doc:"The promised send time, RFC 3339 in UTC."`
	RequestedAt string            `json:"requested_at,omitempty" doc:"The requested send time, if it differs."`
	Attempt     int               `json:"attempt" doc:"The number of this attempt, from 1."`
}
