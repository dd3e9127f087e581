package dashboard

import "slices"

// menuGroup is a part of the menu.
type menuGroup struct {
	Name  string
	Links []navLink
}

// navLink is an entry of the menu, or of the way to a page.
type navLink struct {
	Path, Name string
	Here       bool // the present page, or one below it
}

// entry is a page of the menu, with the pages below it.
type entry struct {
	may        bool // the caller may use it
	path, name string
	below      []string
}

// menuOf returns the pages that a caller may use; at is the path of the present one. trail is the way
// to that page, without itself: empty for a page of the menu.
func menuOf(who caller, at string) (menu []menuGroup, trail []navLink) {
	for _, group := range []struct {
		name    string
		entries []entry
	}{
		{"Operate", []entry{
			{true, "/", "Overview", nil},
			{who.Admin(), "/schedule", "Schedule", nil},
			{who.Reads(), "/messages", "Messages", []string{"/message"}},
			{who.Reads(), "/campaigns", "Campaigns", []string{"/campaign"}},
			{who.Admin(), "/dead-letters", "Failures", []string{"/alerts"}},
		}},
		{"People", []entry{{who.Reads(), "/users", "Users", []string{"/user"}}}},
		{"Rules", []entry{
			{who.Admin(), "/policies", "Policies", []string{"/policy"}},
			{who.Submits(), "/plan", "Plan", nil},
		}},
		{"Admin", []entry{
			{who.Admin(), "/accounts", "Accounts", []string{"/account"}},
			{!who.Admin() && who.Reads(), "/account", "Account", nil},
			{who.Admin(), "/tiers", "Tiers", nil},
			{who.Admin(), "/workers", "Workers and channels", nil},
			{who.Reads(), "/audit", "Audit log", nil},
		}},
	} {
		var links []navLink
		for _, e := range group.entries {
			if !e.may {
				continue
			}
			below := slices.Contains(e.below, at)
			if below {
				trail = []navLink{{Path: e.path, Name: e.name}}
			}
			links = append(links, navLink{Path: e.path, Name: e.name, Here: e.path == at || below})
		}
		if links != nil {
			menu = append(menu, menuGroup{group.name, links})
		}
	}
	return menu, trail
}
