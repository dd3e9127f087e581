package dashboard

import "time"

// Routes returns what the dashboard answers, each as "GET /path".
func (d *Dashboard) Routes() []string {
	var routes []string
	for _, rt := range d.table() {
		routes = append(routes, rt.method+" "+rt.path)
	}
	return routes
}

// Followers returns how many browsers follow the overview, and whether anything looks at it for
// them.
func (d *Dashboard) Followers() (count int, running bool) {
	d.live.mu.Lock()
	defer d.live.mu.Unlock()
	return len(d.live.followers), d.live.running
}

// Crowd adds followers that read nothing. They leave when the returned function is called.
func (d *Dashboard) Crowd(size int) (leave func()) {
	d.live.mu.Lock()
	defer d.live.mu.Unlock()
	crowd := make([]chan []byte, size)
	for i := range crowd {
		crowd[i] = make(chan []byte, 1)
		d.live.followers[crowd[i]] = true
	}
	return func() {
		for _, one := range crowd {
			d.live.leave(one)
		}
	}
}

// Assets returns the addresses of the files that pages refer to, by name.
func (d *Dashboard) Assets() map[string]string { return d.assets.paths }

// Clip returns at most so many bytes of a text.
func Clip(text string, most int) string { return clip(text, most) }

// LookAtSessionsEvery sets how often the session of a browser that follows is looked at.
func (d *Dashboard) LookAtSessionsEvery(every time.Duration) { d.stillThere = every }
