// Package outage keeps a log short while the store is away. A Watch warns once when the
// store stops answering, and says once when it is back. What parts of a program warn of
// meanwhile, because the store is away, is logged at debug level.
package outage
