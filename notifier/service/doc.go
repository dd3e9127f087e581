// Package service is the channel of a service with a URL, such as ntfy, Gotify, Slack, Telegram,
// Discord or an SMTP server. It uses the library github.com/nicholas-fedor/shoutrrr, whose
// documentation has the URLs:
//
//	gotify://push.example.com/TOKEN
//	ntfy://ntfy.sh/topic
//	slack://hook:TOKEN-TOKEN-TOKEN@webhook
//	telegram://TOKEN@telegram?chats=@channel
//	generic://hooks.example.com/path?template=json
//
// All messages go to the place in the URL: the channel has no devices. The operator sets the URL,
// so internal hosts are allowed.
//
// # The message
//
// A service receives the title, and the body, with the click_url on its own line. Bark and ntfy
// have a field for that URL. Without titles, the title is the first line. Nothing else is sent. A
// service has no idempotency key, so a second copy is shown twice.
//
// # The answer
//
// The library reports no status, only an error in each service's words. So every failure is
// retried, and a refused message fails after its last attempt:
//
//	no error                                  delivered
//	no connection                             retry, unreachable: nothing was sent
//	all connections are busy until ctx ends   retry, unreachable: nothing was sent
//	the connection broke                      retry, network: uncertain
//	no answer in time                         retry, timeout: uncertain
//	any other error                           retry, unavailable
//
// An error names the service. It shows neither the URL, which has tokens, nor the service's answer.
//
// # Bounds
//
// A send has no context. After Config.Timeout the result is timeout, and the send goes on in the
// background until the library ends it. At most 16 sends run at a time, including those. With MQTT
// only one does, since a broker ends a connection when another one has the same client id. So each
// worker needs a clientid in its MQTT URL.
//
// The library bounds most sends by 10 to 30 seconds, and those to Discord by 5 minutes. Those to
// Bark, Google Chat, IFTTT, Join, Pushbullet, Slack with a bot's token, Teams, Telegram, Zulip and
// generic use http.DefaultClient, which has no bound. A program sets one,
//
//	http.DefaultClient.Timeout = service.MaxTimeout
//
// or 16 sends to a server that never answers block the channel. Package service does not change
// this global. The library follows HTTPS_PROXY, and keeps its own connections.
//
// New makes no request. Matrix with a user and a password logs in with the first message.
package service
