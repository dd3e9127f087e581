// Package serve is the running worker: "sendlimit-worker" and "sendlimit-worker run".
//
// It starts in this order, and ends in the reverse order:
//
//  1. Read and check the settings, before anything else is touched.
//  2. Listen at the address of the API, so that a taken address stops the worker early.
//  3. Open the store, or start the embedded one.
//  4. Check the store, add the policies, pace, tiers and accounts that it lacks, and
//     compare its clock with this machine's.
//  5. Take the store's address. Open the channels, then deliver and answer requests until
//     the context ends; only answer if the store was last delivered under another address.
//
// A worker ends in order: it is unready and still does everything for the drain delay (drained).
// Then the API accepts no more operations, deliveries finish, and the last requests are answered
// (service).
//
// Beside the API the endpoint answers /healthz (the store answers), /readyz (the store
// is fit for deliveries) and /metrics. For the last two, shared caches answers of the
// store for a short time, so that frequent requests cost it little.
package serve
