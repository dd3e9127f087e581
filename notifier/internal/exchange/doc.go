// Package exchange is shared by the channels over HTTP: one request, its meaning if no answer
// comes, and what pushes have in common. Each channel interprets its answers.
//
// A request is sent once. Redirects are not followed, and cookies are not kept. net/http sends a
// request again only if the provider certainly did not process it: nothing of it was written, an
// HTTP/2 stream was refused, or a GOAWAY names a lower stream.
//
//	the name did not resolve, no connection, TLS failed   retry, unreachable
//	the connection broke before the body was written      retry, unreachable
//	the connection broke later                            retry, network: uncertain
//	no answer in time                                     retry, timeout: uncertain
//	an internal address, where those are refused          permanent, misaddressed
//
// Errors contain no address, and nothing that the provider sent.
package exchange
