// Package pushtarget opens the channel of a push target, the worker's push_url:
//
//	log:                  a line of JSON for each delivery, see package logline
//	http://… https://…    a webhook, see package webhook
//	ntfy://… slack://…    a service, one of notifier.ServiceSchemes, see package service
package pushtarget
