package userdata

import (
	"github.com/sendlimit/sendlimiter/sendlimit/devices"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// Device is where messages of the user go. Its address is a secret.
type Device struct {
	ID           string       `json:"id"`
	Channel      string       `json:"channel"`
	App          string       `json:"app,omitempty"`
	Account      string       `json:"account,omitempty"`
	Address      string       `json:"address,omitempty"` // "" if the caller does not see it
	Locale       string       `json:"locale,omitempty"`
	RegisteredAt message.Time `json:"registered_at"`
	LastSuccess  message.Time `json:"last_success,omitzero"`
	Suspect      bool         `json:"suspect,omitempty"`
}

func devicesOf(found []devices.Device) []Device {
	var all []Device
	for _, d := range found {
		all = append(all, Device{
			ID: d.ID, Channel: d.Channel, App: d.App, Account: d.Account, Address: d.Address, Locale: d.Locale,
			RegisteredAt: message.Time{Time: d.RegisteredAt}, LastSuccess: message.Time{Time: d.LastSuccess}, Suspect: d.Suspect,
		})
	}
	return all
}
