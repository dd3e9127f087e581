// Package apns is the channel of Apple's devices.
package apns
