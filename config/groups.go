package config

// Annotations of registered flags.
const (
	// GroupAnnotation has the heading of a flag in the help, one of Groups.
	GroupAnnotation = "sendlimit_group"
	// WordsAnnotation has all values of a flag. Flags with other values lack it.
	WordsAnnotation = "sendlimit_words"
)

const (
	// GroupCommands is the heading of the flags that choose the API for a command.
	GroupCommands = "Commands"
	// GroupChannels is the heading of the flags of device channels. Commands use them, too.
	GroupChannels = "Channels to devices"
)

const (
	groupStore    = "Store"
	groupSubmits  = "Submits"
	groupDelivery = "Deliveries"
	groupAPI      = "API"
	groupEmail    = "E-mail and alerts"
	groupEvents   = "Events"
	groupPolicy   = "Policy of a new store"
	groupLog      = "Log"
)

// Groups returns the headings of the flags, in the order of the help.
func Groups() []string {
	return []string{GroupCommands, groupStore, groupDelivery, GroupChannels, groupAPI, groupSubmits, groupPolicy, groupEmail, groupEvents, groupLog}
}
