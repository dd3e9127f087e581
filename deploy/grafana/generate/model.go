package main

import (
	"encoding/json"
	"fmt"
)

// row is a heading with its panels, from left to right.
type row struct {
	title  string
	panels []panel
}

// panel is a graph, or a number if stat is set.
type panel struct {
	title, about string // about is a sentence for an operator
	unit         string // as Grafana names it, such as s, ops or bytes
	stat         bool
	queries      []query
	// warn and fail are from where on values are yellow and red; zero means never.
	warn, fail float64
}

// query is an expression, and what its series are called: {{label}} stands for a label's value.
type query struct{ expr, legend string }

const (
	width      = 24 // of the grid
	graphWidth = 12
	statWidth  = 4
	graphTall  = 8
	statTall   = 4
	schema     = 39 // of dashboards of Grafana 10 and later
)

type object = map[string]any

// render returns the dashboard as Grafana imports it.
func render(rows []row) ([]byte, error) {
	var panels []object
	id, y := 0, 0
	place := func(p object, x, w, h int) {
		id++
		p["id"], p["gridPos"] = id, object{"x": x, "y": y, "w": w, "h": h}
		panels = append(panels, p)
	}
	for _, r := range rows {
		place(object{"type": "row", "title": r.title, "collapsed": false, "panels": []object{}}, 0, width, 1)
		y++
		x, tall := 0, 0
		for _, p := range r.panels {
			w, h := graphWidth, graphTall
			if p.stat {
				w, h = statWidth, statTall
			}
			if x+w > width {
				x, y, tall = 0, y+tall, 0
			}
			place(p.object(), x, w, h)
			x, tall = x+w, max(tall, h)
		}
		y += tall
	}
	text, err := json.MarshalIndent(object{
		"title": "Sendlimit", "uid": "sendlimit", "tags": []string{"sendlimit"}, "schemaVersion": schema, "version": 1,
		"editable": true, "timezone": "browser", "refresh": "30s", "time": object{"from": "now-3h", "to": "now"},
		"description":  "What is scheduled, delivered, late and refused, and how the provider, the API and Redis are.",
		"graphTooltip": 1, "panels": panels, "annotations": object{"list": []object{}}, "links": []object{},
		"templating": object{"list": []object{
			{"type": "datasource", "name": "datasource", "label": "Prometheus", "query": "prometheus", "current": chosen("default"), "hide": 0},
			{
				"type": "query", "name": "job", "label": "Job", "datasource": source(), "refresh": 1, "hide": 0, "sort": 1,
				"query":      object{"query": "label_values(sendlimit_pending_messages, job)", "refId": "job"},
				"definition": "label_values(sendlimit_pending_messages, job)", "current": chosen("sendlimit"), "multi": false, "includeAll": false,
			},
		}},
	}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("rendering the dashboard: %w", err)
	}
	return append(text, '\n'), nil
}

func chosen(value string) object { return object{"text": value, "value": value} }

func source() object { return object{"type": "prometheus", "uid": "${datasource}"} }

func (p panel) object() object {
	targets := make([]object, len(p.queries))
	for i, q := range p.queries {
		targets[i] = object{
			"refId": string(rune('A' + i)), "datasource": source(), "expr": q.expr, "legendFormat": q.legend,
			"editorMode": "code", "range": !p.stat, "instant": p.stat,
		}
	}
	steps := []object{{"color": "green", "value": nil}}
	if p.warn != 0 {
		steps = append(steps, object{"color": "yellow", "value": p.warn})
	}
	if p.fail != 0 {
		steps = append(steps, object{"color": "red", "value": p.fail})
	}
	o := object{
		"title": p.title, "description": p.about, "datasource": source(), "targets": targets,
		"fieldConfig": object{"overrides": []object{}, "defaults": object{
			"unit": p.unit, "min": 0, "thresholds": object{"mode": "absolute", "steps": steps},
		}},
	}
	if p.stat {
		o["type"] = "stat"
		o["options"] = object{
			"reduceOptions": object{"calcs": []string{"lastNotNull"}, "fields": "", "values": false},
			"colorMode":     "value", "graphMode": "none", "justifyMode": "auto", "textMode": "auto", "orientation": "auto",
			"wideLayout": true, "showPercentChange": false, "percentChangeColorMode": "standard",
		}
	} else {
		o["type"] = "timeseries"
		o["options"] = object{
			"legend":  object{"displayMode": "list", "placement": "bottom", "showLegend": true, "calcs": []string{}},
			"tooltip": object{"mode": "multi", "sort": "desc"},
		}
	}
	return o
}
