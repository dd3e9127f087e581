// Package eventlimit is "worker event-limit": it sets, lists, shows and removes the limits of
// events.
package eventlimit
