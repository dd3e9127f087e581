// Package exchange is what channels over HTTP share: one request, and what it means if no
// answer comes, and what pushes share. What an answer means is the channel's.
//
// A request is sent once. Redirects are not followed, and cookies not kept. net/http sends a
// request again only if the provider certainly did not process it: if nothing of it was
// written, if an HTTP/2 stream was refused, or if a GOAWAY names a lower stream.
//
//	the name did not resolve, no connection, TLS failed   retry, unreachable
//	the connection broke before the body was written      retry, unreachable
//	the connection broke later                            retry, network: uncertain
//	no answer in time                                     retry, timeout: uncertain
//	an internal address, where those are refused          permanent, misaddressed
//
// Errors contain no address, and nothing that the provider sent.
package exchange
