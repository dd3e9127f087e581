// Package event is "worker event": it sets, lists, shows and removes the limits of
// events.
package event
