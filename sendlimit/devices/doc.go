// Package devices keeps where a user's messages go: apps on phones, and browsers.
package devices
