// Package service is the channel of a service that a URL names, such as ntfy, Gotify, Slack,
// Telegram, Discord or an SMTP server. The library github.com/nicholas-fedor/shoutrrr speaks to
// them, and its documentation has their URLs:
//
//	gotify://push.example.com/TOKEN
//	ntfy://ntfy.sh/topic
//	slack://hook:TOKEN-TOKEN-TOKEN@webhook
//	telegram://TOKEN@telegram?chats=@channel
//	generic://hooks.example.com/path?template=json
//
// All messages go to the one place that the URL names: the channel has no devices. The
// operator sets the URL, so hosts of the operator's own are allowed.
//
// # What a service gets
//
// The title, and the body, with the click_url on a line of its own. Bark and ntfy have a field
// for that URL. A service without titles gets the title as the first line. Nothing else is
// sent: a service knows no idempotency key, so a second copy is shown twice.
//
// # The answer
//
// The library reports no status, only that something went wrong, and each service in its own
// words. So every failure is tried again, and a message that is refused fails after its last
// attempt:
//
//	no error                                  delivered
//	no connection                             retry, unreachable: nothing was sent
//	all connections are busy until ctx ends   retry, unreachable: nothing was sent
//	the connection broke                      retry, network: uncertain
//	no answer in time                         retry, timeout: uncertain
//	any other error                           retry, unavailable
//
// An error names the service and never its URL, whose parts are tokens; nor what the service
// answers.
//
// # Bounds
//
// A send has no context: one that takes longer than Config.Timeout is answered with timeout,
// and goes on in the background for as long as the library lets it. At most 16 sends run at a
// time, including those; with MQTT one, since a broker ends a connection when another one has
// the same client id. So each worker needs a clientid in its MQTT URL.
//
// The library bounds most sends by 10 to 30 seconds, and those to Discord by 5 minutes. Those
// to Bark, Google Chat, IFTTT, Join, Pushbullet, Slack with a bot's token, Teams, Telegram,
// Zulip and generic use http.DefaultClient, which has no bound: a program sets one,
//
//	http.DefaultClient.Timeout = service.MaxTimeout
//
// or 16 sends to a server that never answers are the last ones. Package service leaves it alone,
// since it is not its own. The library follows HTTPS_PROXY, and keeps connections of its own.
//
// New makes no request. Matrix with a user and a password logs in with the first message.
package service
