// Package device turns what callers say of a device into what the store keeps, and back.
//
// The API and the commands use it, so that a device has the same fields, the same bounds and
// the same mask everywhere. It does not call the store: see records/devices.
package device
