package deliver

import (
	"context"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/records/devices"
)

const (
	// maxHosts bounds the hosts of a channel that are paced. Others are paused by their notifier only.
	maxHosts = 32
	// longestHost bounds the name of a host in its target, which has at most 64 characters.
	longestHost = 64 - len(PaceTarget) - len("-webpush-")
)

// pacedHosts has the Pacers of the hosts that a channel pushes to and that asked for a pause. A host
// that did not has none: it costs nothing.
type pacedHosts struct {
	mu    sync.Mutex
	hosts map[string]*Pacer
}

// hostOf returns the host of a device; "" for a channel without hosts.
func (l *PacedChannel) hostOf(d *devices.Device) string {
	if to, ok := l.Notifier.(notifier.Hoster); ok && d != nil {
		return to.HostOf(d.Address)
	}
	return ""
}

// host returns the Pacer of a device's host; nil if it was not paused.
func (l *PacedChannel) host(d *devices.Device) *Pacer {
	l.paced.mu.Lock()
	defer l.paced.mu.Unlock()
	if len(l.paced.hosts) == 0 {
		return nil
	}
	return l.paced.hosts[l.hostOf(d)]
}

// pausedHost returns the Pacer of a device's host, for a pause. It returns nil if there are too many.
func (l *PacedChannel) pausedHost(d *devices.Device) *Pacer {
	name := l.hostOf(d)
	if name == "" {
		return nil
	}
	l.paced.mu.Lock()
	defer l.paced.mu.Unlock()
	if p := l.paced.hosts[name]; p != nil || len(l.paced.hosts) == maxHosts {
		return p
	}
	of := l.Pacer
	p, err := NewPacer(of.client, PacerOptions{Prefix: of.prefix, Target: of.target + "-" + targetOf(name)}, of.clock, of.metrics, of.logger)
	if err != nil {
		return nil // the name is valid, as is the prefix of the channel's Pacer
	}
	of.mu.Lock()
	p.learned.recent = of.learned.recent // they are not counted for each host
	of.mu.Unlock()
	if l.paced.hosts == nil {
		l.paced.hosts = make(map[string]*Pacer)
	}
	l.paced.hosts[name] = p
	return p
}

// targetOf returns a host's name as a part of a target's: "fcm-googleapis-com".
func targetOf(host string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '-'
	}, host)
	return name[max(0, len(name)-longestHost):]
}

// lookAtHosts looks at the pauses and the learned rates of hosts, and forgets hosts that have
// neither.
func (l *PacedChannel) lookAtHosts(ctx context.Context) {
	l.paced.mu.Lock()
	hosts := maps.Clone(l.paced.hosts)
	l.paced.mu.Unlock()
	for name, p := range hosts {
		if err := p.look(ctx); err != nil {
			if ctx.Err() == nil {
				p.logger.DebugContext(ctx, "could not look at the pace of a host", "host", name, "error", err)
			}
			continue
		}
		if p.free() && p.idle() {
			l.paced.mu.Lock()
			delete(l.paced.hosts, name)
			l.paced.mu.Unlock()
		}
	}
}

// idle reports whether nothing was paused within a while: a pause may be on its way to the store.
func (p *Pacer) idle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.clock.Local().Sub(p.slowed) > time.Minute
}
